package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// CheckIns resumes check-ins without their guests: it asks PMSs again, repeats checkIn calls that a crash interrupted, and
// evaluates check-ins whose reservations changed.
type CheckIns struct {
	Service *checkin.Service
	Log     *slog.Logger
	Every   time.Duration // Every is the interval between sweeps; 0 means 3 s
}

// Limits of one sweep; the next sweep continues. A property's PMS that hangs delays only the check-ins of its property.
const (
	checkInBatch     = 500
	checkInsAtOnce   = 4 // of one property
	checkInSweepTime = 20 * time.Second
)

// Sweep resumes check-ins that are due. Only one process of an installation may run it: see [Lease].
func (c CheckIns) Sweep() Sweep {
	every := c.Every
	if every <= 0 {
		every = 3 * time.Second
	}
	return Sweep{Name: "check-ins", Every: every, Run: func(ctx context.Context, d *db.DB) error {
		due, err := checkin.Due(d.View(ctx), checkInBatch)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, checkInSweepTime)
		defer cancel()
		service := *c.Service
		service.DB = d
		limits := map[string]chan struct{}{}
		for _, k := range due {
			if limits[k.PropertyID] == nil {
				limits[k.PropertyID] = make(chan struct{}, checkInsAtOnce)
			}
		}
		var all sync.WaitGroup
		for _, k := range due {
			all.Go(func() { c.resume(ctx, &service, limits[k.PropertyID], k) })
		}
		all.Wait()
		return nil
	}}
}

func (c CheckIns) resume(ctx context.Context, service *checkin.Service, limit chan struct{}, k checkin.Key) {
	select {
	case limit <- struct{}{}:
		defer func() { <-limit }()
	case <-ctx.Done():
		return
	}
	err := service.Resume(ctx, k)
	if err != nil && ctx.Err() == nil && !fault.Has(err, fault.ReservationNotFound) {
		c.Log.Warn("resuming a check-in failed; the next sweep retries", "property", k.PropertyID, "reservation", k.ReservationID, "error", err)
	}
}
