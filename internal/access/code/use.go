package code

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entcode "latchkey.dev/ent/code"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
)

// Use is one attempt to open a door with a staff, one-time or backup code.
type Use struct {
	Code   *ent.Code
	LockID string
	At     time.Time
	Opened bool
	Reason string // Reason is why the lock refused the code; it may be empty
}

// Uses returns the latest uses, at most limit, of staff, one-time and backup codes at a door, newest first. Of the latest limit uses it
// omits those of deleted codes.
func Uses(view *db.Tx, propertyID, doorID string, limit int) ([]Use, error) {
	events, err := lock.EventsAtDoor(view, propertyID, doorID, limit,
		entevent.KindIn(string(event.DoorOpened), string(event.DoorDenied)), entevent.GrantIDHasPrefix(id.Code+"_"))
	if err != nil {
		return nil, err
	}
	return usesOf(view, propertyID, events)
}

// usesOf converts events at doors into uses of codes. Each event must have a grant id. It omits events about grants of reservations and
// about deleted codes.
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
