package worker

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"latchkey.dev/ent/idempotency"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
)

// Sweep is periodic work. It also completes work whose wake-up was lost.
type Sweep struct {
	Name  string
	Every time.Duration // interval, plus or minus a tenth so that processes do not run in step
	Run   func(ctx context.Context) error
}

// runSweeps runs sweeps concurrently until ctx ends. It logs a failed sweep and runs it again after its interval.
func runSweeps(ctx context.Context, log *slog.Logger, sweeps []Sweep) {
	var all sync.WaitGroup
	for _, s := range sweeps {
		all.Go(func() {
			for {
				if err := s.Run(ctx); err != nil && ctx.Err() == nil {
					log.Error("sweep failed", "sweep", s.Name, "error", err)
				}
				if !clock.Sleep(ctx, withJitter(s.Every)) {
					return
				}
			}
		})
	}
	all.Wait()
}

// withJitter returns d plus or minus a tenth.
func withJitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}

// sweepBatch bounds the rows that one transaction of a sweep changes.
const sweepBatch = 500

// ExpireIdempotencyKeys deletes expired answers, a bounded number per transaction.
func ExpireIdempotencyKeys(ctx context.Context, d *db.DB) error {
	for {
		n := 0
		err := d.Write(ctx, func(tx *db.Tx) error {
			ids, err := tx.Idempotency.Query().Where(idempotency.ExpiresAtLTE(tx.Now())).Limit(sweepBatch).IDs(tx.Context())
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
		if n < sweepBatch {
			return nil
		}
	}
}
