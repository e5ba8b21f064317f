package server

import (
	"context"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
)

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
