package lock

import (
	"fmt"
	"maps"
	"slices"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock/slot"
)

// Search takes in what a bridge read in slots that hold no code of ours: by number, whether they hold somebody else's. Such
// a slot is listed and given to nobody, until it is seen empty. What is said of a slot that is somebody's by now is too old
// to count. It returns the slots that became free.
func StoreForeignSlots(tx *db.Tx, bridgeID string, epoch int64, address string, found map[int]bool) ([]EvidenceChange, error) {
	numbers := slices.Sorted(maps.Keys(found))
	lk, by, err := lockForSession(tx, bridgeID, epoch, address, numbers)
	if err != nil || lk == nil {
		return nil, err
	}
	var learned []EvidenceChange
	for _, n := range numbers {
		if n < 1 || n > lk.Capabilities.Slots {
			continue
		}
		row, err := storeForeignSlot(tx, lk, by[n], n, found[n])
		if err != nil {
			return nil, fmt.Errorf("note what slot %d of lock %s holds: %w", n, lk.ID, err)
		}
		if row != nil {
			learned = append(learned, EvidenceChange{Slot: row, Before: slot.Removed, After: slot.Removed})
		}
	}
	return learned, nil
}

// searched notes whether a slot holds somebody else's code. It returns the slot if it became free.
func storeForeignSlot(tx *db.Tx, lk *ent.Lock, row *ent.Slot, number int, occupied bool) (*ent.Slot, error) {
	switch {
	case row == nil && occupied:
		return nil, tx.Slot.Create().SetID(id.New(id.Slot)).SetPropertyID(lk.PropertyID).SetLockID(lk.ID).SetNumber(number).
			SetGeneration(0).SetPresent(false).SetForeign(true).SetEvidence(string(slot.Removed)).SetChangedAt(tx.Now()).Exec(tx.Context())
	case row == nil || !isFree(row) || row.Foreign == occupied:
		return nil, nil
	}
	n, err := tx.Slot.Update().Where(ifUnchanged(row)...).SetForeign(occupied).Save(tx.Context())
	if err != nil || n == 0 || occupied {
		return nil, err
	}
	return tx.Slot.Get(tx.Context(), row.ID)
}
