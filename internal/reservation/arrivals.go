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
	// Horizon is how far ahead of their beginning arrivals are looked at.
	Horizon = 24 * time.Hour
	// Grace is how much later than that a guest may come.
	Grace = 12 * time.Hour
	// early is how much before the horizon a change has its arrival looked at: the look ahead may have come to this
	// beginning by another machine's clock, and before this change was stored.
	horizonMargin = time.Hour
)

// Arriving are the states of a guest who is yet to come, or came early.
var Arriving = []string{string(access.Confirmed), string(access.Started)}

// An arrival that was never looked at stands as ready: the first look tells what is otherwise.
const (
	insertArrivals = `INSERT INTO arrivals (id, property_id, from_at, minutes, verdict, judged_at, again_at) `
	enqueueArrival = insertArrivals + `VALUES ($1, $2, $3, 0, 'ready', $4, $5) ON CONFLICT (id) DO UPDATE SET again_at = excluded.again_at`
	// One that a change of the PMS brings at the same time is there already.
	enqueueArrivals = insertArrivals + `SELECT id, property_id, from_at, 0, 'ready', $1, $2 FROM reservations
		WHERE from_at > $3 AND from_at <= $4 AND state IN ($5, $6) AND NOT EXISTS (SELECT 1 FROM arrivals WHERE arrivals.id = reservations.id)
		ORDER BY from_at LIMIT $7 ON CONFLICT (id) DO NOTHING`
	requeueArrival = `UPDATE arrivals SET again_at = $1 WHERE id = $2 AND property_id = $3`
)

// Expect has the arrivals looked at whose time has come within the horizon since it had come up to after, at most limit of
// them, and says how many there were and where the horizon is now.
func EnqueueDueArrivals(tx *db.Tx, after time.Time, limit int) (n int, until time.Time, err error) {
	now := tx.Now()
	if after.Before(now) {
		after = now
	}
	until = now.Add(Horizon)
	done, err := tx.ExecContext(tx.Context(), enqueueArrivals, now, now, after, until, Arriving[0], Arriving[1], limit)
	if err != nil {
		return 0, until, fmt.Errorf("expect arrivals: %w", err)
	}
	rows, err := done.RowsAffected()
	if err != nil {
		return 0, until, fmt.Errorf("expect arrivals: %w", err)
	}
	return int(rows), until, nil
}

// lookAnew has the arrival of a stay that was changed looked at, if it is near; before is what the stay was, nil for nothing.
func rescheduleArrivalCheck(tx *db.Tx, row, before *ent.Reservation) error {
	now := tx.Now()
	near := func(from time.Time) bool { return !from.After(now.Add(Horizon + horizonMargin)) }
	var err error
	switch {
	case near(row.FromAt) && row.FromAt.After(now) && slices.Contains(Arriving, row.State):
		_, err = tx.ExecContext(tx.Brief(), enqueueArrival, row.ID, row.PropertyID, row.FromAt, now, now)
	case before != nil && near(before.FromAt) && before.FromAt.After(now.Add(-Grace)):
		_, err = tx.ExecContext(tx.Brief(), requeueArrival, now, row.ID, row.PropertyID)
	}
	if err != nil {
		return fmt.Errorf("have an arrival looked at: %w", err)
	}
	return nil
}
