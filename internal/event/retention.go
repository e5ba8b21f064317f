package event

import (
	"fmt"
	"math"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
)

// UndeliveredGrace is how much longer events are kept for a subscriber that has not received them. Then they are
// deleted, so that a failing subscriber does not fill the database.
const UndeliveredGrace = 30 * 24 * time.Hour

// Forget deletes old events. It reads limit events whose ids follow after. Of those stored before a time, it deletes an event that has a
// position if all subscribers except webhooks have received it, or if it is older by UndeliveredGrace. It keeps the last event of each
// subject, which determines the next sequence number. It returns the id to pass as after next, or 0 at the end.
func Forget(tx *db.Tx, before time.Time, after int64, limit int) (int64, error) {
	page, err := tx.Event.Query().Where(event.IDGT(after)).Order(event.ByID()).Limit(limit).
		Select(event.FieldID, event.FieldCreatedAt, event.FieldPosition).All(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("load old events: %w", err)
	}
	received := int64(math.MaxInt64)
	if _, err := tx.ReadOne(selectLeastCursor, []any{received}, &received); err != nil {
		return 0, fmt.Errorf("load the cursors of subscribers: %w", err)
	}
	var old []int64
	next := int64(0)
	for i, e := range page {
		if !e.CreatedAt.Before(before) {
			break // all following events are newer
		}
		if e.Position != nil && (*e.Position <= received || e.CreatedAt.Before(before.Add(-UndeliveredGrace))) {
			old = append(old, e.ID)
		}
		if i == limit-1 {
			next = e.ID
		}
	}
	if len(old) == 0 {
		return next, nil
	}
	_, err = tx.Event.Delete().Where(event.IDIn(old...), notLast).Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("delete old events: %w", err)
	}
	return next, nil
}

// notLast matches the events that are not the last of their subject.
func notLast(s *sql.Selector) {
	later := sql.Table(event.Table).As("later")
	s.Where(sql.Exists(sql.Select(later.C(event.FieldID)).From(later).Where(sql.And(
		sql.ColumnsEQ(later.C(event.FieldSubject), s.C(event.FieldSubject)),
		sql.ColumnsGT(later.C(event.FieldSubjectSequence), s.C(event.FieldSubjectSequence)),
	))))
}

// Delete deletes all events of the given subjects, and the events of other subjects about the given grants. It keeps
// the last event of each other subject without its content, because its number determines the next sequence number.
func Delete(tx *db.Tx, propertyID string, subjects, grantIDs []string) error {
	_, err := tx.Event.Delete().Where(event.PropertyID(propertyID), event.SubjectIn(subjects...)).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("delete the events of subjects: %w", err)
	}
	ofGrants := event.And(event.PropertyID(propertyID), event.GrantIDIn(grantIDs...))
	if _, err := tx.Event.Delete().Where(ofGrants, notLast).Exec(tx.Context()); err != nil {
		return fmt.Errorf("delete the events of grants: %w", err)
	}
	last, err := tx.Event.Query().Where(ofGrants).IDs(tx.Context())
	for _, id := range last {
		if err == nil {
			_, err = tx.ExecContext(tx.Context(), clearEvent, id, propertyID)
		}
	}
	if err != nil {
		return fmt.Errorf("clear the events of grants: %w", err)
	}
	return nil
}
