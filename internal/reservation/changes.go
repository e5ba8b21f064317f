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

// intoChanges puts a place at the end. A batch that changes a reservation twice in one moment gives it one.
const insertChange = `INSERT INTO reservation_changes (property_id, integration_id, reservation_id, changed_at)
	VALUES ($1, $2, $3, $4) ON CONFLICT (property_id, changed_at, reservation_id, integration_id) DO NOTHING`

// noteChange puts a reservation that was stored at the end of lists by time of change. Where it stood before stays behind until
// it is swept: to move it would be another page to search and to write.
func appendChange(tx *db.Tx, row *ent.Reservation) error {
	if _, err := tx.ExecContext(tx.Brief(), insertChange, row.PropertyID, row.IntegrationID, row.ID, row.UpdatedAt); err != nil {
		return fmt.Errorf("note a change of a reservation: %w", err)
	}
	return nil
}

// place is one in the order of changes: by time, those of one moment by reservation.
type cursor struct {
	at time.Time
	id string
}

// changesAfter lists the next changes that no later one stands for; those of reservations in one state, if it is given.
func changesAfter(tx *db.Tx, s Scope, state access.State, p cursor, limit int) ([]*ent.ReservationChange, error) {
	q := tx.ReservationChange.Query().Where(reservationchange.PropertyID(s.PropertyID), afterCursor(p), isLatest(state))
	if s.IntegrationID != "" {
		q.Where(reservationchange.IntegrationID(s.IntegrationID))
	}
	return q.Order(reservationchange.ByChangedAt(), reservationchange.ByReservationID()).Limit(limit).
		Select(reservationchange.FieldChangedAt, reservationchange.FieldReservationID).All(tx.Context())
}

func afterCursor(p cursor) predicate.ReservationChange {
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
// PostgreSQL would begin where it takes the two times for less likely to be equal than they are; within COALESCE it does not
// guess how likely that is, which had it look at all that is left to find a page.
func isLatest(state access.State) predicate.ReservationChange {
	return compareWithLatest(func(b *sql.Builder, changedAt string, updatedAt *sql.Selector) {
		b.WriteString("COALESCE").Wrap(func(b *sql.Builder) {
			b.Ident(changedAt).WriteString(" = ").Wrap(func(b *sql.Builder) { b.Join(updatedAt) }).WriteString(", FALSE")
		})
	}, state)
}

// superseded is what has a later change, or no reservation.
func isSuperseded() predicate.ReservationChange {
	return compareWithLatest(func(b *sql.Builder, changedAt string, updatedAt *sql.Selector) {
		b.Ident(changedAt).WriteString(" IS DISTINCT FROM ").Wrap(func(b *sql.Builder) { b.Join(updatedAt) })
	}, "")
}

// comparing compares the time of a change with the time at which its reservation was changed last, none if it is not in a
// state; "" is any.
func compareWithLatest(compare func(b *sql.Builder, changedAt string, updatedAt *sql.Selector), state access.State) predicate.ReservationChange {
	return func(s *sql.Selector) {
		r := sql.Table(entreservation.Table)
		updatedAt := sql.Select(r.C(entreservation.FieldUpdatedAt)).From(r).
			Where(sql.ColumnsEQ(r.C(entreservation.FieldID), s.C(reservationchange.FieldReservationID)))
		if state != "" {
			updatedAt.Where(sql.EQ(r.C(entreservation.FieldState), string(state)))
		}
		s.Where(sql.P(func(b *sql.Builder) { compare(b, s.C(reservationchange.FieldChangedAt), updatedAt) }))
	}
}

// inOrder loads the reservations that were changed, in that order. One that changed since they were listed is left out: it
// stands further on.
func loadInOrder(tx *db.Tx, s Scope, changes []*ent.ReservationChange) ([]*ent.Reservation, error) {
	rows, err := tx.Reservation.Query().Where(s.inScope(), entreservation.IDIn(reservationIDs(changes)...)).All(tx.Context())
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
func reservationIDs(changes []*ent.ReservationChange) []string {
	ids := make([]string, len(changes))
	for i, c := range changes {
		ids[i] = c.ReservationID
	}
	return ids
}

// LastChange is the id of the newest change, 0 for none.
func LastChange(view *db.Tx) (int64, error) {
	id, err := view.ReservationChange.Query().Order(reservationchange.ByID(sql.OrderDesc())).FirstID(view.Context())
	if err != nil && !ent.IsNotFound(err) {
		return 0, fmt.Errorf("look for the newest change of a reservation: %w", err)
	}
	return id, nil
}

// Superseded finds, among the next changes with ids above after and up to last, those that a later one stands for. It looks at
// no more than limit of them, and says up to which it did.
func Superseded(view *db.Tx, after, last int64, limit int) (old []int64, until int64, err error) {
	beyond := view.ReservationChange.Query().Where(reservationchange.IDGT(after), reservationchange.IDLTE(last)).Order(reservationchange.ByID())
	until, err = beyond.Clone().Offset(limit - 1).FirstID(view.Context())
	if ent.IsNotFound(err) {
		until, err = last, nil
	}
	if err == nil {
		old, err = beyond.Where(reservationchange.IDLTE(until), isSuperseded()).IDs(view.Context())
	}
	if err != nil {
		return nil, 0, fmt.Errorf("look for old changes of reservations: %w", err)
	}
	return old, until, nil
}

// ForgetChanges removes changes that were found superseded, which they stay. To look at their reservations once more would
// have each change of one that comes at the same time conflict with this on PostgreSQL.
func DeleteChanges(tx *db.Tx, ids []int64) error {
	if _, err := tx.ReservationChange.Delete().Where(reservationchange.IDIn(ids...)).Exec(tx.Context()); err != nil {
		return fmt.Errorf("forget old changes of reservations: %w", err)
	}
	return nil
}
