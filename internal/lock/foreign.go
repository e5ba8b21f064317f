package lock

import (
	"fmt"
	"maps"
	"slices"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/watch"
)

// StoreForeignSlots stores which slots hold a credential that Latchkey did not set, as read by the bridge: found has true or false for the
// number of each slot that was read. Such a slot is not used until it is read empty. A slot that has got a grant meanwhile is skipped, and
// so is an unknown lock. It returns the slots that became free, with Before and After Removed, or bridge.ErrSuperseded if epoch is not the
// current session.
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
			return nil, fmt.Errorf("store whether slot %d of lock %s is foreign: %w", n, lk.ID, err)
		}
		if row != nil {
			learned = append(learned, EvidenceChange{Slot: codeSlotOf(row, grantOf(row)), Before: slot.Removed, After: slot.Removed})
		}
	}
	return learned, nil
}

// storeForeignSlot stores whether a slot holds a credential that Latchkey did not set, unless a grant has the slot. row is nil if the slot
// was never used. It returns the slot if it became free, else nil.
func storeForeignSlot(tx *db.Tx, lk *ent.Lock, row *ent.Slot, number int, occupied bool) (*ent.Slot, error) {
	switch {
	case row == nil && occupied:
		watch.Notify(tx, lk.PropertyID, watch.Locks, lk.ID)
		return nil, tx.Slot.Create().SetID(id.New(id.Slot)).SetPropertyID(lk.PropertyID).SetLockID(lk.ID).SetNumber(number).
			SetGeneration(0).SetPresent(false).SetForeign(true).SetEvidence(string(slot.Removed)).SetChangedAt(tx.Now()).Exec(tx.Context())
	case row == nil || !hasNoGrant(row) || row.Foreign == occupied:
		return nil, nil
	}
	n, err := tx.Slot.Update().Where(ifUnchanged(row)...).SetForeign(occupied).Save(tx.Context())
	if err != nil || n == 0 {
		return nil, err
	}
	watch.Notify(tx, lk.PropertyID, watch.Locks, lk.ID)
	if occupied {
		return nil, nil
	}
	return tx.Slot.Get(tx.Context(), row.ID)
}
