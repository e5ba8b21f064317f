package lock

import (
	"fmt"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
)

// tenure is a run of generations in which one grant had a slot.
type tenure struct {
	GrantID, DoorID string
	Since, Until    int64
}

// recordTenure stores which grant had a slot until now, when the slot is given to another: a bridge may report openings of
// the earlier grant later. The record is kept as long as other events. Only its body names the earlier grant: the access of
// that grant does not change.
func recordTenure(tx *db.Tx, was, row *ent.Slot) error {
	if was.GrantID == "" || was.GrantID == row.GrantID {
		return nil
	}
	return event.Append(tx, event.Event{
		PropertyID: row.PropertyID, Subject: event.Inside(row.ID), Kind: event.SlotReassigned,
		Body: map[string]any{"lockId": row.LockID, "doorId": was.DoorID, "grantId": was.GrantID, "since": was.Since, "until": row.Since - 1},
	})
}

// tenures are the earlier tenures of a slot that are still kept.
func tenures(tx *db.Tx, row *ent.Slot) ([]tenure, error) {
	events, err := tx.Event.Query().Where(entevent.PropertyID(row.PropertyID), entevent.Subject(event.Inside(row.ID)),
		entevent.Kind(string(event.SlotReassigned))).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the earlier grants of slot %s: %w", row.ID, err)
	}
	var out []tenure
	for _, e := range events {
		grant, _ := e.Body["grantId"].(string)
		door, _ := e.Body["doorId"].(string)
		since, _ := e.Body["since"].(float64)
		until, _ := e.Body["until"].(float64)
		out = append(out, tenure{grant, door, int64(since), int64(until)})
	}
	return out, nil
}

// tenureAt is the tenure that a generation belongs to. No tenure: the generation was never drawn, or is no longer kept.
func tenureAt(generation int64, now tenure, earlier []tenure) (tenure, bool) {
	for _, t := range append([]tenure{now}, earlier...) {
		if t.GrantID != "" && t.Since <= generation && generation <= t.Until {
			return t, true
		}
	}
	return tenure{}, false
}

// slotAt is the slot whose code was typed, as its grant had it at that generation. The slot of an earlier grant has no id: it
// holds the code of another by now. Nil: not known.
func slotAt(tx *db.Tx, lk *ent.Lock, h Happened) (*ent.Slot, error) {
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
	now := tenure{row.GrantID, row.DoorID, row.Since, row.Generation}
	if t, ok := tenureAt(h.Generation, now, nil); ok && t == now {
		return row, nil
	}
	earlier, err := tenures(tx, row)
	if err != nil {
		return nil, err
	}
	t, ok := tenureAt(h.Generation, now, earlier)
	if !ok {
		return nil, nil
	}
	return &ent.Slot{PropertyID: row.PropertyID, LockID: row.LockID, Number: row.Number, GrantID: t.GrantID, DoorID: t.DoorID,
		Since: t.Since, Generation: t.Until}, nil
}
