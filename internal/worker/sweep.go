package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
)

// Sweep is periodic work. It also finds work whose notification was lost.
type Sweep struct {
	Name  string
	Every time.Duration // Every is the wait between two runs, plus or minus a tenth so that processes do not run in step
	// Run writes through d only, which stores nothing after the lease is lost.
	Run func(ctx context.Context, d *db.DB) error
}

// runSweeps runs sweeps concurrently, each at once and again after its interval, until ctx ends and all runs have returned. It only logs
// the error of a failed sweep.
func runSweeps(ctx context.Context, d *db.DB, log *slog.Logger, sweeps []Sweep) {
	var all sync.WaitGroup
	for _, s := range sweeps {
		all.Go(func() {
			for {
				if err := s.Run(ctx, d); err != nil && ctx.Err() == nil {
					log.Error("sweep failed", "sweep", s.Name, "error", err)
				}
				if !clock.Sleep(ctx, clock.Spread(s.Every, s.Every/10)) {
					return
				}
			}
		})
	}
	all.Wait()
}

// Run dispatches events and runs sweeps whenever the process holds the lease. It returns when ctx has ended and all its goroutines have
// stopped, or with an error of the lease. If x is nil, it runs only the sweeps.
func Run(ctx context.Context, lease Lease, log *slog.Logger, x *Dispatcher, sweeps ...Sweep) error {
	return lease.Hold(ctx, func(ctx context.Context, held *db.DB) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { runSweeps(ctx, held, log, sweeps) })
		var err error
		if x != nil {
			err = x.Run(ctx, held)
		} else {
			<-ctx.Done()
		}
		cancel()
		all.Wait()
		return err
	})
}
