package lock

import (
	"fmt"
	"maps"
	"slices"

	"latchkey.dev/ent"
	entlock "latchkey.dev/ent/lock"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock/slot"
)

// Search takes in what a bridge read in slots that hold no code of ours: by number, whether they hold somebody else's. Such
// a slot is listed and given to nobody, until it is seen empty. What is said of a slot that is somebody's by now is too old
// to count. It returns the slots that became free.
func Search(tx *db.Tx, bridgeID string, epoch int64, address string, found map[int]bool) ([]Learned, error) {
	ctx := tx.Context()
	br, err := current(tx, bridgeID, epoch)
	if err != nil {
		return nil, err
	}
	lk, err := tx.Lock.Query().Where(entlock.BridgeID(br.ID), entlock.PropertyID(br.PropertyID), entlock.Address(address)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	numbers := slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(n int) bool { return n < 1 || n > lk.Capabilities.Slots })
	rows, err := tx.Slot.Query().Where(entslot.LockID(lk.ID), entslot.PropertyID(br.PropertyID), entslot.NumberIn(numbers...)).All(ctx)
	if err != nil {
		return nil, err
	}
	by := make(map[int]*ent.Slot, len(rows))
	for _, row := range rows {
		by[row.Number] = row
	}
	var learned []Learned
	for _, n := range numbers {
		row, err := searched(tx, lk, by[n], n, found[n])
		if err != nil {
			return nil, fmt.Errorf("note what slot %d of lock %s holds: %w", n, lk.ID, err)
		}
		if row != nil {
			learned = append(learned, Learned{Slot: row, Before: slot.Removed, After: slot.Removed})
		}
	}
	return learned, nil
}

// searched notes whether a slot holds somebody else's code. It returns the slot if it became free.
func searched(tx *db.Tx, lk *ent.Lock, row *ent.Slot, number int, occupied bool) (*ent.Slot, error) {
	switch {
	case row == nil && occupied:
		return nil, tx.Slot.Create().SetID(id.New(id.Slot)).SetPropertyID(lk.PropertyID).SetLockID(lk.ID).SetNumber(number).
			SetGeneration(0).SetPresent(false).SetForeign(true).SetEvidence(string(slot.Removed)).SetChangedAt(tx.Now()).Exec(tx.Context())
	case row == nil || !free(row) || row.Foreign == occupied:
		return nil, nil
	}
	n, err := tx.Slot.Update().Where(unchanged(row)...).SetForeign(occupied).Save(tx.Context())
	if err != nil || n == 0 || occupied {
		return nil, err
	}
	return tx.Slot.Get(tx.Context(), row.ID)
}
