package worker

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"latchkey.dev/ent/idempotency"
	"latchkey.dev/internal/db"
)

// Sweep is something done again and again, that makes good whatever a lost wake-up left undone.
type Sweep struct {
	Name  string
	Every time.Duration // give or take a tenth, so that processes do not march in step
	Run   func(ctx context.Context) error
}

// sweep runs sweeps side by side until ctx ends. One that fails is logged and comes again.
func sweep(ctx context.Context, log *slog.Logger, sweeps []Sweep) {
	var all sync.WaitGroup
	for _, s := range sweeps {
		all.Go(func() {
			for {
				if err := s.Run(ctx); err != nil && ctx.Err() == nil {
					log.Error("sweep failed", "sweep", s.Name, "error", err)
				}
				if !pause(ctx, jitter(s.Every)) {
					return
				}
			}
		})
	}
	all.Wait()
}

// jitter is d give or take a tenth.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}

// batch bounds the rows that one transaction of a sweep changes.
const batch = 500

// ExpireIdempotencyKeys forgets the answers whose time is over, a bounded number at a time.
func ExpireIdempotencyKeys(ctx context.Context, d *db.DB) error {
	for {
		n := 0
		err := d.Write(ctx, func(tx *db.Tx) error {
			ids, err := tx.Idempotency.Query().Where(idempotency.ExpiresAtLTE(tx.Now())).Limit(batch).IDs(tx.Context())
			if err != nil || len(ids) == 0 {
				n = 0
				return err
			}
			n, err = tx.Idempotency.Delete().Where(idempotency.IDIn(ids...)).Exec(tx.Context())
			return err
		})
		if err != nil {
			return fmt.Errorf("expire idempotency keys: %w", err)
		}
		if n < batch {
			return nil
		}
	}
}
