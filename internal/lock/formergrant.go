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

// slotGrant is a grant that has or had a slot, with the range of the slot's generations, both ends included, in which it had the slot.
type slotGrant struct {
	GrantID, DoorID string
	Since, Until    int64
}

// grantOf returns the grant that has a slot now, or that had a free slot last, with the range of the generations in which it has had the
// slot.
func grantOf(row *ent.Slot) slotGrant {
	return slotGrant{row.GrantID, row.DoorID, row.Since, row.Generation}
}

// recordFormerGrant records the former grant of a slot when the slot is given to another grant, because a bridge may report openings of the
// former grant later. was is the row before, row the row after. The record is an event that expires with other events. Only its body names
// the former grant, so that it does not count as a change of that grant's access.
func recordFormerGrant(tx *db.Tx, was, row *ent.Slot) error {
	if was.GrantID == row.GrantID {
		return nil
	}
	return recordEarlierCodes(tx, was)
}

// recordEarlierCodes records the grant of a slot with its generations up to that of the row, because the slot's Since is about to change.
// It does nothing if the slot never had a grant.
func recordEarlierCodes(tx *db.Tx, row *ent.Slot) error {
	if row.GrantID == "" {
		return nil
	}
	return event.Append(tx, event.Event{
		PropertyID: row.PropertyID, Subject: event.InternalSubject(row.ID), Kind: event.SlotReassigned,
		Body: map[string]any{"lockId": row.LockID, "doorId": row.DoorID, "grantId": row.GrantID, "since": row.Since, "until": row.Generation},
	})
}

// formerGrantPage is how many former grants are loaded at once. Late reports mostly concern the latest.
const formerGrantPage = 20

// findFormerGrant finds the former grant that had the slot at a generation. It returns false if no grant had it then,
// or if the record was deleted with other old events.
func findFormerGrant(tx *db.Tx, row *ent.Slot, generation int64) (slotGrant, bool, error) {
	for before := int64(math.MaxInt64); ; {
		events, err := tx.Event.Query().Where(entevent.PropertyID(row.PropertyID), entevent.Subject(event.InternalSubject(row.ID)),
			entevent.Kind(string(event.SlotReassigned)), entevent.SubjectSequenceLT(before)).
			Order(entevent.BySubjectSequence(sql.OrderDesc())).Limit(formerGrantPage).All(tx.Context())
		if err != nil {
			return slotGrant{}, false, fmt.Errorf("load the former grants of slot %s: %w", row.ID, err)
		}
		for _, e := range events {
			if g := decodeFormerGrant(e); g.Since <= generation {
				return g, g.had(generation), nil
			}
			before = e.SubjectSequence
		}
		if len(events) < formerGrantPage {
			return slotGrant{}, false, nil
		}
	}
}

// decodeFormerGrant reads the event that recordEarlierCodes stored.
func decodeFormerGrant(e *ent.Event) slotGrant {
	grant, _ := e.Body["grantId"].(string)
	door, _ := e.Body["doorId"].(string)
	since, _ := e.Body["since"].(float64)
	until, _ := e.Body["until"].(float64)
	return slotGrant{grant, door, int64(since), int64(until)}
}

// had reports whether the grant had the slot at a generation of the slot.
func (g slotGrant) had(generation int64) bool {
	return g.GrantID != "" && g.Since <= generation && generation <= g.Until
}

// typedCode is a code that was typed at a lock, with the grant that had the slot at the reported generation.
type typedCode struct {
	slotGrant
	slot     *ent.Slot // slot is the row of the code's slot, never nil
	isFormer bool      // isFormer means that the slot has another grant now, so that the row does not describe the code
}

// findTypedCode returns the code that was typed, or nil if none was typed or it is not known.
func findTypedCode(tx *db.Tx, lk *ent.Lock, h LockEvent) (*typedCode, error) {
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
	if g := grantOf(row); g.had(h.Generation) {
		return &typedCode{slotGrant: g, slot: row}, nil
	}
	g, found, err := findFormerGrant(tx, row, h.Generation)
	if err != nil || !found {
		return nil, err
	}
	return &typedCode{slotGrant: g, slot: row, isFormer: true}, nil
}
