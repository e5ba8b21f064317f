package worker

import (
	"context"
	"log/slog"
	"sync"
)

// Run does what one process of an installation does for all, whenever the lease is held: it
// hands events over and sweeps. It returns when ctx has ended and all of it with it.
func Run(ctx context.Context, lease Lease, log *slog.Logger, d *Dispatcher, sweeps ...Sweep) error {
	return lease.Hold(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { sweep(ctx, log, sweeps) })
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
