package worker

import (
	"context"
	"fmt"
	"math"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// Changes forgets the places in lists at which a reservation stood before it changed again.
type Changes struct {
	DB *db.DB
}

// sweepsOfAll is how many sweeps there are for one of everything.
const sweepsOfAll = 64

// Sweep looks each minute at the changes of that minute, every second time at those of two, every fourth at those of four, and
// so on, and at all of them about once an hour. What changes all the time is so removed soon, and what is left to stand is
// looked at a few times in all. It is for one process of an installation: see [Lease].
func (c Changes) Sweep() Sweep {
	var ends [sweepsOfAll]int64 // the newest change at each of the latest sweeps
	sweeps := 0
	return Sweep{Name: "changes of reservations", Every: time.Minute, Run: func(ctx context.Context) error {
		newest, err := reservation.LastChange(c.DB.View(ctx))
		if err != nil {
			return err
		}
		after := int64(math.MinInt64)
		if back := sweepsBack(sweeps); back < sweepsOfAll {
			after = ends[(sweeps-back)%sweepsOfAll]
		}
		if err := c.forget(ctx, after, newest); err != nil {
			return err
		}
		ends[sweeps%sweepsOfAll] = newest
		sweeps++
		return nil
	}}
}

// sweepsBack is how many sweeps ago the changes began that a sweep looks at; sweepsOfAll means all changes.
func sweepsBack(sweep int) int {
	if sweep%sweepsOfAll == 0 {
		return sweepsOfAll
	}
	return sweep & -sweep
}

// forget searches beside the writer, and removes a bounded number in each transaction.
func (c Changes) forget(ctx context.Context, after, last int64) error {
	for after < last {
		old, until, err := reservation.Superseded(c.DB.View(ctx), after, last, batch)
		if err == nil && len(old) > 0 {
			err = c.DB.Write(ctx, func(tx *db.Tx) error { return reservation.ForgetChanges(tx, old) })
		}
		if err != nil {
			return fmt.Errorf("sweep changes of reservations: %w", err)
		}
		after = until
	}
	return nil
}
