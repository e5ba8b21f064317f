package reservation

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/ent/reservationchange"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
)

// settled is how long after a change of a reservation its place in lists is left behind by the next, instead of moved. What
// was changed lately is close at hand, and stands once however often it is changed; what was not would be a page to search
// and to write that no other change needs.
const settled = time.Hour

const (
	intoChanges = `INSERT INTO reservation_changes (property_id, integration_id, reservation_id, changed_at)
		VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
	moveChange = `UPDATE reservation_changes SET changed_at = $1 WHERE property_id = $2 AND reservation_id = $3 AND changed_at = $4`
)

// noteChange puts a reservation that was stored at the end of lists by time of change; before is when it was stored until
// then, zero for never.
func noteChange(tx *db.Tx, row *ent.Reservation, before time.Time) error {
	var moved bool
	var err error
	if row.UpdatedAt.Sub(before) < settled {
		moved, err = storedOne(tx, moveChange, row.UpdatedAt, row.PropertyID, row.ID, before)
	}
	if err == nil && !moved {
		_, err = storedOne(tx, intoChanges, row.PropertyID, row.IntegrationID, row.ID, row.UpdatedAt)
	}
	if err != nil {
		return fmt.Errorf("note a change of a reservation: %w", err)
	}
	return nil
}

// place is one in the order of changes: by time, those of one moment by reservation.
type place struct {
	at time.Time
	id string
}

// changesAfter lists the next changes that no later one stands for; those of reservations in one state, if it is given.
func changesAfter(tx *db.Tx, s Scope, state access.State, p place, limit int) ([]*ent.ReservationChange, error) {
	q := tx.ReservationChange.Query().Where(reservationchange.PropertyID(s.PropertyID), beyond(p), latest(state))
	if s.IntegrationID != "" {
		q.Where(reservationchange.IntegrationID(s.IntegrationID))
	}
	return q.Order(reservationchange.ByChangedAt(), reservationchange.ByReservationID()).Limit(limit).
		Select(reservationchange.FieldChangedAt, reservationchange.FieldReservationID).All(tx.Context())
}

func beyond(p place) predicate.ReservationChange {
	return func(s *sql.Selector) {
		s.Where(sql.P(func(b *sql.Builder) {
			b.Wrap(func(b *sql.Builder) {
				b.IdentComma(s.C(reservationchange.FieldChangedAt), s.C(reservationchange.FieldReservationID))
			})
			b.WriteString(" > ").Wrap(func(b *sql.Builder) { b.Args(p.at, p.id) })
		}))
	}
}

// latest asks for the time of the reservation change by change, which both databases do in the order of the index. A join
// PostgreSQL would begin where it takes the two times for less likely to be equal than they are.
func latest(state access.State) predicate.ReservationChange {
	return func(s *sql.Selector) {
		r := sql.Table(entreservation.Table)
		updatedAt := sql.Select(r.C(entreservation.FieldUpdatedAt)).From(r).
			Where(sql.ColumnsEQ(r.C(entreservation.FieldID), s.C(reservationchange.FieldReservationID)))
		if state != "" {
			updatedAt.Where(sql.EQ(r.C(entreservation.FieldState), string(state)))
		}
		s.Where(sql.P(func(b *sql.Builder) {
			b.Ident(s.C(reservationchange.FieldChangedAt)).WriteString(" = ").Wrap(func(b *sql.Builder) { b.Join(updatedAt) })
		}))
	}
}

// inOrder loads the reservations that were changed, in that order. One that changed since they were listed is left out: it
// stands further on.
func inOrder(tx *db.Tx, s Scope, changes []*ent.ReservationChange) ([]*ent.Reservation, error) {
	rows, err := tx.Reservation.Query().Where(s.within(), entreservation.IDIn(changed(changes)...)).All(tx.Context())
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

// ForgetChanges removes those of some changes that a later one stands for. That is asked again: one that stood elsewhere when
// it was found may have been moved since.
func ForgetChanges(tx *db.Tx, ids []int64) error {
	old := reservationchange.And(reservationchange.IDIn(ids...), reservationchange.Not(latest("")))
	if _, err := tx.ReservationChange.Delete().Where(old).Exec(tx.Context()); err != nil {
		return fmt.Errorf("forget old changes of reservations: %w", err)
	}
	return nil
}
