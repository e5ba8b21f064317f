package reservation

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/ent/reservationchange"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
)

// Two changes of one moment, as a batch may bring, are one place in lists.
const changeStatement = `INSERT INTO reservation_changes (property_id, integration_id, reservation_id, changed_at)
	VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`

// noteChange puts a reservation that was stored where lists by time of change find it. Where they found it before is left
// behind: see [Superseded].
func noteChange(tx *db.Tx, row *ent.Reservation) error {
	if _, err := tx.ExecContext(tx.Brief(), changeStatement, row.PropertyID, row.IntegrationID, row.ID, row.UpdatedAt); err != nil {
		return fmt.Errorf("note a change of a reservation: %w", err)
	}
	return nil
}

// place is one in the order of changes: by time, those of one moment by reservation.
type place struct {
	at time.Time
	id string
}

// changesAfter lists the next changes, also those that a later one stands for.
func changesAfter(tx *db.Tx, s Scope, p place, limit int) ([]*ent.ReservationChange, error) {
	q := tx.ReservationChange.Query().Where(reservationchange.PropertyID(s.PropertyID), func(s *sql.Selector) {
		s.Where(sql.P(func(b *sql.Builder) {
			b.Wrap(func(b *sql.Builder) {
				b.IdentComma(s.C(reservationchange.FieldChangedAt), s.C(reservationchange.FieldReservationID))
			})
			b.WriteString(" > ").Wrap(func(b *sql.Builder) { b.Args(p.at, p.id) })
		}))
	})
	if s.IntegrationID != "" {
		q.Where(reservationchange.IntegrationID(s.IntegrationID))
	}
	return q.Order(reservationchange.ByChangedAt(), reservationchange.ByReservationID()).Limit(limit).
		Select(reservationchange.FieldChangedAt, reservationchange.FieldReservationID).All(tx.Context())
}

// standing are the reservations for which changes stand, in that order; of one state, if it is given.
func standing(tx *db.Tx, s Scope, state access.State, changes []*ent.ReservationChange) ([]*ent.Reservation, error) {
	q := tx.Reservation.Query().Where(s.within(), entreservation.IDIn(changed(changes)...))
	if state != "" {
		q.Where(entreservation.State(string(state)))
	}
	rows, err := q.All(tx.Context())
	if err != nil {
		return nil, err
	}
	by := make(map[string]*ent.Reservation, len(rows))
	for _, row := range rows {
		by[row.ID] = row
	}
	rows = rows[:0]
	for _, c := range changes {
		if row := by[c.ReservationID]; row != nil && row.UpdatedAt.Equal(c.ChangedAt) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// changed are the ids of the reservations that were changed.
func changed(changes []*ent.ReservationChange) []string {
	ids := make([]string, len(changes))
	for i, c := range changes {
		ids[i] = c.ReservationID
	}
	return ids
}

// Superseded finds the changes that a later one stands for, among the limit next ids above after, and says after which to go
// on; 0 at the end.
func Superseded(view *db.Tx, after int64, limit int) (ids []int64, next int64, err error) {
	changes, err := view.ReservationChange.Query().Where(reservationchange.IDGT(after)).Order(reservationchange.ByID()).Limit(limit).All(view.Context())
	if err != nil {
		return nil, 0, fmt.Errorf("look for old changes of reservations: %w", err)
	}
	rows, err := view.Reservation.Query().Where(entreservation.IDIn(changed(changes)...)).
		Select(entreservation.FieldID, entreservation.FieldUpdatedAt).All(view.Context())
	if err != nil {
		return nil, 0, fmt.Errorf("look for old changes of reservations: %w", err)
	}
	last := make(map[string]time.Time, len(rows))
	for _, row := range rows {
		last[row.ID] = row.UpdatedAt
	}
	for i, c := range changes {
		if !last[c.ReservationID].Equal(c.ChangedAt) {
			ids = append(ids, c.ID)
		}
		if i == limit-1 {
			next = c.ID
		}
	}
	return ids, next, nil
}

// ForgetChanges removes changes that a later one stands for. That stays so: no time of change comes twice.
func ForgetChanges(tx *db.Tx, ids []int64) error {
	if _, err := tx.ReservationChange.Delete().Where(reservationchange.IDIn(ids...)).Exec(tx.Context()); err != nil {
		return fmt.Errorf("forget old changes of reservations: %w", err)
	}
	return nil
}
