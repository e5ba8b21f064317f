package reservation

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
)

const (
	// Horizon is how long before its start an arrival is first checked.
	Horizon = 24 * time.Hour
	// Grace is how long after its start an arrival is still checked, for a guest who arrives late.
	Grace = 12 * time.Hour
	// horizonMargin extends Horizon for a changed reservation, because the sweep may run on a server with another
	// clock and may already have passed the arrival.
	horizonMargin = time.Hour
)

// Arriving are the states of a reservation whose guest is still to arrive, or arrived early.
var Arriving = []string{string(access.Confirmed), string(access.Started)}

// EnqueueDueArrivals enqueues the readiness checks of up to limit arrivals of all properties that begin after the time after and within
// Horizon from now, and are not enqueued yet. It returns their number and the new horizon, which is now plus Horizon. The caller repeats
// the call until n is 0, and passes the horizon as after the next time. A zero after includes late guests, up to Grace.
func EnqueueDueArrivals(tx *db.Tx, after time.Time, limit int) (n int, until time.Time, err error) {
	now := tx.Now()
	if late := now.Add(-Grace); after.Before(late) {
		after = late
	}
	until = now.Add(Horizon)
	done, err := tx.ExecContext(tx.Context(), enqueueArrivals, now, now, after, until, Arriving[0], Arriving[1], limit)
	if err != nil {
		return 0, until, fmt.Errorf("enqueue arrivals: %w", err)
	}
	rows, err := done.RowsAffected()
	if err != nil {
		return 0, until, fmt.Errorf("enqueue arrivals: %w", err)
	}
	return int(rows), until, nil
}

// rescheduleArrivalCheck makes the readiness check of an arrival due, because the reservation changed: if the arrival is near, or was
// before the change and is enqueued. before is the reservation's row before the change, or nil for a new reservation.
func rescheduleArrivalCheck(tx *db.Tx, row, before *ent.Reservation) error {
	now := tx.Now()
	near := func(from time.Time) bool {
		return !from.After(now.Add(Horizon+horizonMargin)) && from.After(now.Add(-Grace))
	}
	var err error
	switch {
	case near(row.FromAt) && slices.Contains(Arriving, row.State):
		_, err = tx.ExecContext(tx.Context(), enqueueArrival, row.ID, row.PropertyID, row.FromAt, now, now)
	case before != nil && near(before.FromAt):
		_, err = tx.ExecContext(tx.Context(), requeueArrival, now, row.ID, row.PropertyID)
	}
	if err != nil {
		return fmt.Errorf("schedule the check of an arrival: %w", err)
	}
	return nil
}
