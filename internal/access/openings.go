package access

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
)

// Opening is a door that opened, or refused to, for a stay.
type Opening struct {
	EventID  int64
	At       time.Time
	Opened   bool
	LockName string // LockName is empty if the lock is deleted
	PhoneID  string // PhoneID is the phone whose SmartKey was used; empty: a code was typed
}

// ListOpenings returns up to limit attempts to open a door with the codes or phones of a stay. Each opened the door or was refused. The
// last recorded is first: a bridge that was offline records old ones late. It returns only events with ids below before: math.MaxInt64 for
// the first page, then the EventID of the last entry.
func ListOpenings(view *db.Tx, propertyID, reservationID string, before int64, limit int) ([]Opening, error) {
	list, err := db.ReadList(view, func(o *struct {
		Opening
		kind event.Kind
		body []byte
	}) []any {
		return []any{&o.EventID, &o.At, &o.kind, &o.body, &o.LockName}
	}, listOpenings, propertyID, reservationID, string(event.DoorOpened), string(event.DoorDenied), before, limit)
	if err != nil {
		return nil, fmt.Errorf("list the openings of a stay: %w", err)
	}
	out := make([]Opening, len(list))
	for i, o := range list {
		out[i] = o.Opening
		out[i].Opened = o.kind == event.DoorOpened
		var body struct {
			Actor string `json:"actor"`
		}
		if err := json.Unmarshal(o.body, &body); err != nil {
			return nil, fmt.Errorf("decode an opening: %w", err)
		}
		if phoneID, ok := strings.CutPrefix(body.Actor, lock.PhoneActorPrefix); ok {
			out[i].PhoneID = phoneID
		}
	}
	return out, nil
}
