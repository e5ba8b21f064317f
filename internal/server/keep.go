package server

import (
	"context"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/staff/credential"
)

// keptTokens is how long a token that was revoked or ended can still be looked at.
const keptTokens = 30 * 24 * time.Hour

// forgetTokens removes tokens that ended long ago, a bounded number in each transaction.
func (s *Server) forgetTokens(ctx context.Context) error {
	const most = 500
	for {
		n := 0
		err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
			n, err = credential.Sweep(tx, tx.Now().Add(-keptTokens), most)
			return err
		})
		if err != nil || n < most {
			return err
		}
	}
}

// forgetEvents removes what happened long ago, a bounded number of rows in each transaction.
func (s *Server) forgetEvents(ctx context.Context) error {
	const most = 500
	before := s.clock.Now().Add(-s.cfg.KeepEvents)
	for after := int64(0); ; {
		next := int64(0)
		err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
			next, err = event.Forget(tx, before, after, most)
			return err
		})
		if after = next; err != nil || after == 0 {
			return err
		}
	}
}
