package lock

import (
	"context"
	"iter"
	"slices"

	"latchkey.dev/ent"
	entgate "latchkey.dev/ent/gate"
	"latchkey.dev/ent/predicate"
	entslot "latchkey.dev/ent/slot"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
)

// chunkSize keeps a list of ids within what one statement takes on both databases.
const chunkSize = 500

func chunks(ids []string) iter.Seq[[]string] { return slices.Chunk(ids, chunkSize) }

func spaceIs(propertyID, id string) []predicate.Space {
	return []predicate.Space{entspace.ID(id), entspace.PropertyID(propertyID)}
}

func gateIs(propertyID, id string) []predicate.Gate {
	return []predicate.Gate{entgate.ID(id), entgate.PropertyID(propertyID)}
}

// SlotRow is a slot of a lock as stored.
type SlotRow = ent.Slot

// Slots returns the slots of a lock that were ever used, by number.
func Slots(view *db.Tx, propertyID, lockID string) ([]*SlotRow, error) {
	by, err := slotsOfLocks(view.Context(), view.Client, propertyID, []string{lockID})
	return by[lockID], err
}

// slotsOfLocks loads every slot row of some locks, by lock and ordered by number.
func slotsOfLocks(ctx context.Context, c *ent.Client, propertyID string, lockIDs []string) (map[string][]*ent.Slot, error) {
	by := make(map[string][]*ent.Slot, len(lockIDs))
	for chunk := range chunks(lockIDs) {
		rows, err := c.Slot.Query().Where(entslot.PropertyID(propertyID), entslot.LockIDIn(chunk...)).
			Order(entslot.ByNumber()).All(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range rows {
			by[s.LockID] = append(by[s.LockID], s)
		}
	}
	return by, nil
}
