package worker

import (
	"context"
	"log/slog"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// Plans computes the access of reservations that a large change of their property deferred.
type Plans struct {
	Reservations reservation.Service
	Log          *slog.Logger
	Every        time.Duration // Every is the interval between sweeps; 0 means 3 s
}

// Sweep plans due reservations. Only one process of an installation may run it: see [Lease].
func (p Plans) Sweep() Sweep {
	every := p.Every
	if every <= 0 {
		every = 3 * time.Second
	}
	return Sweep{Name: "plans", Every: every, Run: p.planDue}
}

// planDue plans the access of due reservations until none is due. It repeats a failed batch one reservation at a time, so that one failing
// reservation does not block the others: it is logged and due again after planRetry, and planDue returns no error for it. An error means
// that ctx ended, or that the due reservations could not be read or postponed.
func (p Plans) planDue(ctx context.Context, d *db.DB) error {
	for {
		var due reservation.Due
		err := d.Write(ctx, func(tx *db.Tx) (err error) {
			due, err = p.Reservations.PlanDue(tx)
			return err
		})
		switch {
		case err != nil && len(due.IDs) == 0:
			return err
		case err == nil && len(due.IDs) == 0:
			return nil
		case err != nil && ctx.Err() == nil:
			err = p.planSingly(ctx, d, due)
		}
		if err != nil {
			return err
		}
	}
}

// planSingly plans each reservation of a failed batch in its own transaction. It logs and postpones those that fail again, which is no
// error. An error means that ctx ended, or that a reservation could not be postponed.
func (p Plans) planSingly(ctx context.Context, d *db.DB, due reservation.Due) error {
	for _, id := range due.IDs {
		failed := d.Write(ctx, func(tx *db.Tx) error { return p.Reservations.PlanOne(tx, due.PropertyID, id) })
		if failed == nil {
			continue
		}
		if ctx.Err() != nil {
			return failed
		}
		p.Log.Error("the access of a stay could not be planned; it is tried again", "reservation", id, "error", failed)
		if err := d.Write(ctx, func(tx *db.Tx) error { return reservation.PostponePlan(tx, due.PropertyID, id) }); err != nil {
			return err
		}
	}
	return nil
}
