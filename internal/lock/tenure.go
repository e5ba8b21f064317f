package lock

import (
	"fmt"
	"math"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
)

// tenure is the range of generations, both ends included, in which one grant had a slot.
type tenure struct {
	GrantID, DoorID string
	Since, Until    int64
}

// recordTenure stores the former grant of a slot when the slot is given to another grant, because a bridge may report
// openings of the former grant later. The record expires with other events. Only its body names the former grant, so
// that the record does not count as a change of that grant's access.
func recordTenure(tx *db.Tx, was, row *ent.Slot) error {
	if was.GrantID == "" || was.GrantID == row.GrantID {
		return nil
	}
	return event.Append(tx, event.Event{
		PropertyID: row.PropertyID, Subject: event.InternalSubject(row.ID), Kind: event.SlotReassigned,
		Body: map[string]any{"lockId": row.LockID, "doorId": was.DoorID, "grantId": was.GrantID, "since": was.Since, "until": row.Since - 1},
	})
}

// formerTenurePage is how many tenures are loaded at once. Late reports mostly concern the latest tenure.
const formerTenurePage = 20

// formerTenure finds the tenure of a slot that includes a generation. It returns false if the slot never had the
// generation, or if the record was deleted with other old events.
func formerTenure(tx *db.Tx, row *ent.Slot, generation int64) (tenure, bool, error) {
	for before := int64(math.MaxInt64); ; {
		events, err := tx.Event.Query().Where(entevent.PropertyID(row.PropertyID), entevent.Subject(event.InternalSubject(row.ID)),
			entevent.Kind(string(event.SlotReassigned)), entevent.SubjectSequenceLT(before)).
			Order(entevent.BySubjectSequence(sql.OrderDesc())).Limit(formerTenurePage).All(tx.Context())
		if err != nil {
			return tenure{}, false, fmt.Errorf("load the former grants of slot %s: %w", row.ID, err)
		}
		for _, e := range events {
			if t := tenureOf(e); t.Since <= generation {
				return t, t.includes(generation), nil
			}
			before = e.SubjectSequence
		}
		if len(events) < formerTenurePage {
			return tenure{}, false, nil
		}
	}
}

func tenureOf(e *ent.Event) tenure {
	grant, _ := e.Body["grantId"].(string)
	door, _ := e.Body["doorId"].(string)
	since, _ := e.Body["since"].(float64)
	until, _ := e.Body["until"].(float64)
	return tenure{grant, door, int64(since), int64(until)}
}

func (t tenure) includes(generation int64) bool {
	return t.GrantID != "" && t.Since <= generation && generation <= t.Until
}

// typedSlot returns the slot whose code was typed, with the grant that had the slot at the reported generation. The
// id is empty for a former grant, because the row now holds another grant's code. typedSlot returns nil if the slot
// is not known.
func typedSlot(tx *db.Tx, lk *ent.Lock, h LockEvent) (*ent.Slot, error) {
	if h.Slot == 0 || h.Generation == 0 {
		return nil, nil
	}
	row, err := tx.Slot.Query().Where(entslot.LockID(lk.ID), entslot.PropertyID(lk.PropertyID), entslot.Number(h.Slot)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load slot %d of lock %s: %w", h.Slot, lk.ID, err)
	}
	if (tenure{row.GrantID, row.DoorID, row.Since, row.Generation}).includes(h.Generation) {
		return row, nil
	}
	t, found, err := formerTenure(tx, row, h.Generation)
	if err != nil || !found {
		return nil, err
	}
	return &ent.Slot{PropertyID: row.PropertyID, LockID: row.LockID, Number: row.Number, GrantID: t.GrantID, DoorID: t.DoorID,
		Since: t.Since, Generation: t.Until}, nil
}
