package server

import (
	"context"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/worker"
)

// tokenRetention is how long a revoked or expired token is still listed.
const tokenRetention = 30 * 24 * time.Hour

// deletionBatch bounds the rows that one transaction deletes.
const deletionBatch = 500

// deletion returns a sweep that deletes rows that are older than the retention.
func (s *Server) deletion(name string, retention time.Duration, remove func(tx *db.Tx, before time.Time, most int) (int, error)) worker.Sweep {
	return worker.Sweep{Name: name, Every: 6 * time.Hour, Run: func(ctx context.Context) error {
		return s.inBatches(ctx, deletionBatch, func(tx *db.Tx) (int, error) { return remove(tx, tx.Now().Add(-retention), deletionBatch) })
	}}
}

// deleteOldEvents deletes events that are older than --keep-events.
func (s *Server) deleteOldEvents(ctx context.Context) error {
	before := s.clock.Now().Add(-s.cfg.KeepEvents)
	for after := int64(0); ; {
		next := int64(0)
		err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
			next, err = event.Forget(tx, before, after, deletionBatch)
			return err
		})
		if after = next; err != nil || after == 0 {
			return err
		}
	}
}
