package event

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
)

// Forget deletes delivered events from before a time, among the limit events with the next ids after a cursor. It keeps the
// last event of each subject, which determines the next sequence number. It returns the cursor to continue after, 0 at the
// end.
func Forget(tx *db.Tx, before time.Time, after int64, limit int) (int64, error) {
	page, err := tx.Event.Query().Where(event.IDGT(after)).Order(event.ByID()).Limit(limit).
		Select(event.FieldID, event.FieldCreatedAt, event.FieldDispatchedAt).All(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("load old events: %w", err)
	}
	var old []int64
	next := int64(0)
	for i, e := range page {
		if !e.CreatedAt.Before(before) {
			break // later events are newer
		}
		if e.DispatchedAt != nil && e.DispatchedAt.Before(before) {
			old = append(old, e.ID)
		}
		if i == limit-1 {
			next = e.ID
		}
	}
	if len(old) == 0 {
		return next, nil
	}
	_, err = tx.Event.Delete().Where(event.IDIn(old...), func(s *sql.Selector) {
		later := sql.Table(event.Table).As("later")
		s.Where(sql.Exists(sql.Select(later.C(event.FieldID)).From(later).Where(sql.And(
			sql.ColumnsEQ(later.C(event.FieldSubject), s.C(event.FieldSubject)),
			sql.ColumnsGT(later.C(event.FieldSubjectSequence), s.C(event.FieldSubjectSequence)),
		))))
	}).Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("delete old events: %w", err)
	}
	return next, nil
}
