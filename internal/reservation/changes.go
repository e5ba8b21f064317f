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
	"latchkey.dev/internal/watch"
)

// appendChange appends a stored reservation to the list of changes, and notifies the streams that show reservations. Its earlier rows stay
// until a sweep deletes them, because deleting them here would read and write another database page.
func appendChange(tx *db.Tx, row *ent.Reservation) error {
	if _, err := tx.ExecContext(tx.Context(), insertChange, row.PropertyID, row.IntegrationID, row.ID, row.UpdatedAt); err != nil {
		return fmt.Errorf("append a change of a reservation: %w", err)
	}
	watch.Notify(tx, row.PropertyID, watch.Reservations, row.ID)
	return nil
}

// cursor is a position in the list of changes, which is ordered by time, then reservation id.
type cursor struct {
	at time.Time
	id string
}

// change is one entry of the list of changes.
type change struct {
	ChangedAt     time.Time `json:"changed_at"`
	ReservationID string    `json:"reservation_id"`
}

// changesAfter lists up to limit changes after a cursor. It omits changes that a later change of the same reservation supersedes. A state,
// if not empty, selects only reservations in that state.
func changesAfter(tx *db.Tx, s Scope, state access.State, p cursor, limit int) (changes []change, err error) {
	q := tx.ReservationChange.Query().Where(reservationchange.PropertyID(s.PropertyID), afterCursor(p), isLatest(state))
	if s.IntegrationID != "" {
		q.Where(reservationchange.IntegrationID(s.IntegrationID))
	}
	err = q.Order(reservationchange.ByChangedAt(), reservationchange.ByReservationID()).Limit(limit).
		Select(reservationchange.FieldChangedAt, reservationchange.FieldReservationID).Scan(tx.Context(), &changes)
	return changes, err
}

// afterCursor selects the changes that follow a cursor in the list of changes.
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

// isLatest selects the latest change of each reservation in a state; an empty state matches any. It uses a subquery,
// which both databases evaluate in index order. For a join, PostgreSQL would underestimate the matches and read all
// remaining rows to find a page; COALESCE prevents that estimate.
func isLatest(state access.State) predicate.ReservationChange {
	return compareWithLatest(func(b *sql.Builder, changedAt string, updatedAt *sql.Selector) {
		b.WriteString("COALESCE").Wrap(func(b *sql.Builder) {
			b.Ident(changedAt).WriteString(" = ").Wrap(func(b *sql.Builder) { b.Join(updatedAt) }).WriteString(", FALSE")
		})
	}, state)
}

// isSuperseded selects changes that have a later change of the same reservation, or whose reservation was deleted.
func isSuperseded() predicate.ReservationChange {
	return compareWithLatest(func(b *sql.Builder, changedAt string, updatedAt *sql.Selector) {
		b.Ident(changedAt).WriteString(" IS DISTINCT FROM ").Wrap(func(b *sql.Builder) { b.Join(updatedAt) })
	}, "")
}

// compareWithLatest returns a condition on the time of a change and the time of the last change of its reservation,
// which is NULL if the reservation is not in the state. compare writes the comparison of the column changedAt with the
// subquery updatedAt. An empty state matches any.
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

// loadInOrder loads the changed reservations in the order of the changes. It omits a reservation that has changed
// again since, because the list has it again further on.
func loadInOrder(tx *db.Tx, s Scope, changes []change) ([]*ent.Reservation, error) {
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

func reservationIDs(changes []change) []string {
	ids := make([]string, len(changes))
	for i, c := range changes {
		ids[i] = c.ReservationID
	}
	return ids
}

// LastChange returns the id of the newest row in the list of changes, or 0 if the list is empty. Workers that follow
// the list use it as their end.
func LastChange(view *db.Tx) (int64, error) {
	id, err := view.ReservationChange.Query().Order(reservationchange.ByID(sql.OrderDesc())).FirstID(view.Context())
	if err != nil && !ent.IsNotFound(err) {
		return 0, fmt.Errorf("find the newest change of a reservation: %w", err)
	}
	return id, nil
}

// Superseded checks up to limit changes with ids above after and up to last. It returns the ids of those that a later change of the same
// reservation supersedes or whose reservation was deleted, and the last checked id, which is last if no more are left.
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
		return nil, 0, fmt.Errorf("find superseded changes of reservations: %w", err)
	}
	return old, until, nil
}

// DeleteChanges deletes the changes with these ids, which [Superseded] returned. It does not check again that later changes supersede them:
// on PostgreSQL that check would conflict with every concurrent change of their reservations.
func DeleteChanges(tx *db.Tx, ids []int64) error {
	if _, err := tx.ReservationChange.Delete().Where(reservationchange.IDIn(ids...)).Exec(tx.Context()); err != nil {
		return fmt.Errorf("delete superseded changes of reservations: %w", err)
	}
	return nil
}
