package code

import (
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/sqljson"

	"latchkey.dev/ent"
	entcode "latchkey.dev/ent/code"
	entevent "latchkey.dev/ent/event"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
)

type Use struct {
	Code   *ent.Code
	LockID string
	At     time.Time
	Opened bool
	Reason string // Reason is why the lock refused the code; it may be empty
}

// Uses returns the latest uses of staff, one-time and backup codes at a door, newest first.
func Uses(view *db.Tx, propertyID, doorID string, limit int) ([]Use, error) {
	locks, err := locksWithCodes(view, propertyID, doorID)
	if err != nil {
		return nil, fmt.Errorf("find the locks of door %s: %w", doorID, err)
	}
	atDoor := func(s *sql.Selector) { s.Where(sqljson.ValueEQ(entevent.FieldBody, doorID, sqljson.Path("doorId"))) }
	var events []*ent.Event
	for _, lockID := range locks { // one query for each lock, because the index orders the events of one lock
		rows, err := view.Event.Query().Where(entevent.PropertyID(propertyID), entevent.Subject(lockID),
			entevent.KindIn(string(event.DoorOpened), string(event.DoorDenied)), entevent.GrantIDHasPrefix(id.Code+"_"), atDoor).
			Order(entevent.BySubjectSequence(sql.OrderDesc())).Limit(limit).All(view.Context())
		if err != nil {
			return nil, fmt.Errorf("load the openings of door %s: %w", doorID, err)
		}
		events = append(events, rows...)
	}
	slices.SortStableFunc(events, func(a, b *ent.Event) int { return b.OccurredAt.Compare(a.OccurredAt) })
	return usesOf(view, propertyID, events[:min(limit, len(events))])
}

func usesOf(view *db.Tx, propertyID string, events []*ent.Event) ([]Use, error) {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = *e.GrantID
	}
	codes, err := view.Code.Query().Where(entcode.PropertyID(propertyID), entcode.IDIn(ids...)).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("load the codes that opened a door: %w", err)
	}
	var uses []Use
	for i, e := range events {
		c := slices.IndexFunc(codes, func(c *ent.Code) bool { return c.ID == ids[i] })
		if c < 0 {
			continue
		}
		reason, _ := e.Body["reason"].(string)
		uses = append(uses, Use{Code: codes[c], LockID: e.Subject, At: e.OccurredAt, Opened: e.Kind == string(event.DoorOpened), Reason: reason})
	}
	return uses, nil
}

// locksWithCodes returns the lock on a door, and locks that were moved from it and still have a slot for it.
func locksWithCodes(view *db.Tx, propertyID, doorID string) ([]string, error) {
	ids, err := view.Slot.Query().Where(entslot.PropertyID(propertyID), entslot.DoorID(doorID), entslot.GrantIDHasPrefix(id.Code+"_")).
		Unique(true).Select(entslot.FieldLockID).Strings(view.Context())
	if err != nil {
		return nil, err
	}
	at, err := lock.LocksByDoor(view, propertyID, []string{doorID})
	if lk := at[doorID]; lk != nil && !slices.Contains(ids, lk.ID) {
		ids = append(ids, lk.ID)
	}
	return ids, err
}
