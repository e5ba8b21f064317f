package server

import (
	"context"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/worker"
)

// keptTokens is how long a token that was revoked or ended can still be looked at.
const keptTokens = 30 * 24 * time.Hour

// forget is a sweep that removes what is older than so much, a bounded number of rows in each transaction.
func (s *Server) forget(name string, kept time.Duration, remove func(tx *db.Tx, before time.Time, most int) (int, error)) worker.Sweep {
	const most = 500
	return worker.Sweep{Name: name, Every: 6 * time.Hour, Run: func(ctx context.Context) error {
		for {
			n := 0
			err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
				n, err = remove(tx, tx.Now().Add(-kept), most)
				return err
			})
			if err != nil || n < most {
				return err
			}
		}
	}}
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
