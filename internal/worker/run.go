package worker

import (
	"context"
	"log/slog"
	"sync"
)

// Run dispatches events and runs sweeps whenever the process holds the lease. It returns when ctx has ended and all its
// goroutines have stopped.
func Run(ctx context.Context, lease Lease, log *slog.Logger, d *Dispatcher, sweeps ...Sweep) error {
	return lease.Hold(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { runSweeps(ctx, log, sweeps) })
		var err error
		if d != nil {
			err = d.Run(ctx)
		} else {
			<-ctx.Done()
		}
		cancel()
		all.Wait()
		return err
	})
}
