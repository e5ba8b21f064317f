package lock

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"latchkey.dev/ent"
	entgate "latchkey.dev/ent/gate"
	"latchkey.dev/ent/predicate"
	entslot "latchkey.dev/ent/slot"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// chunkSize limits the ids in one statement to what both databases accept.
const chunkSize = 500

func chunks(ids []string) iter.Seq[[]string] { return slices.Chunk(ids, chunkSize) }

func spaceIs(propertyID, id string) []predicate.Space {
	return []predicate.Space{entspace.ID(id), entspace.PropertyID(propertyID)}
}

func gateIs(propertyID, id string) []predicate.Gate {
	return []predicate.Gate{entgate.ID(id), entgate.PropertyID(propertyID)}
}

type SlotRow = ent.Slot

// Slots returns the slots of a lock that ever had a code, by number.
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

// RefuseWithCodes returns an error if a slot of the property may still hold a code.
func RefuseWithCodes(tx *db.Tx, propertyID string) error {
	inUse := []predicate.Slot{entslot.PropertyID(propertyID), MayHoldCode()}
	first, err := tx.Slot.Query().Where(inUse...).First(tx.Context())
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find a slot with a code: %w", err)
	}
	total, err := tx.Slot.Query().Where(inUse...).Count(tx.Context())
	if err != nil {
		return fmt.Errorf("count slots with codes: %w", err)
	}
	lk, err := Get(tx.Context(), tx.Client, propertyID, first.LockID)
	if err != nil {
		return err
	}
	return fault.New(fault.Precondition, fault.CodesOnLocks,
		"%d codes may still be on locks, for example on %q; end the stays and revoke the codes of the property, and try again when the locks have removed them", total, lk.Name)
}
