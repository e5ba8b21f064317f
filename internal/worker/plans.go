package worker

import (
	"context"
	"log/slog"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// Plans plans the access of the stays that a change of their property left for later.
type Plans struct {
	DB     *db.DB
	Keeper reservation.Keeper
	Log    *slog.Logger
	Every  time.Duration // between looks for stays that are due; 0 means 3 s
}

// Sweep is for one process of an installation: see [Lease].
func (p Plans) Sweep() Sweep {
	every := p.Every
	if every <= 0 {
		every = 3 * time.Second
	}
	return Sweep{Name: "plans", Every: every, Run: p.planDue}
}

// planDue plans until no stay is due. A batch that fails is planned a stay at a time, so that one stay holds up no other.
func (p Plans) planDue(ctx context.Context) error {
	for {
		var due reservation.Due
		err := p.DB.Write(ctx, func(tx *db.Tx) (err error) {
			due, err = p.Keeper.PlanDue(tx)
			return err
		})
		switch {
		case err != nil && len(due.IDs) == 0:
			return err
		case err == nil && len(due.IDs) == 0:
			return nil
		case err != nil && ctx.Err() == nil:
			err = p.planSingly(ctx, due)
		}
		if err != nil {
			return err
		}
	}
}

func (p Plans) planSingly(ctx context.Context, due reservation.Due) error {
	for _, id := range due.IDs {
		failed := p.DB.Write(ctx, func(tx *db.Tx) error { return p.Keeper.PlanOne(tx, due.PropertyID, id) })
		if failed == nil {
			continue
		}
		if ctx.Err() != nil {
			return failed
		}
		p.Log.Error("the access of a stay could not be planned; it is tried again", "reservation", id, "error", failed)
		if err := p.DB.Write(ctx, func(tx *db.Tx) error { return reservation.PutOffPlan(tx, due.PropertyID, id) }); err != nil {
			return err
		}
	}
	return nil
}
