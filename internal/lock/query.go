package lock

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

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

// chunks splits ids into parts that fit into one statement.
func chunks(ids []string) iter.Seq[[]string] { return slices.Chunk(ids, chunkSize) }

// spaceIs matches a space by id, if it belongs to the property.
func spaceIs(propertyID, id string) []predicate.Space {
	return []predicate.Space{entspace.ID(id), entspace.PropertyID(propertyID)}
}

// gateIs matches a gate by id, if it belongs to the property.
func gateIs(propertyID, id string) []predicate.Gate {
	return []predicate.Gate{entgate.ID(id), entgate.PropertyID(propertyID)}
}

// SlotRow is a row of the table of slots.
type SlotRow = ent.Slot

// Slots returns the slots of a lock that ever had a code, also a foreign one, ordered by number. The result is empty for an unknown lock.
func Slots(view *db.Tx, propertyID, lockID string) ([]*SlotRow, error) {
	by, err := slotsOfLocks(view, propertyID, []string{lockID})
	return by[lockID], err
}

// slotsOfLocks loads every slot row of some locks, by lock and ordered by number. It omits locks without slot rows.
func slotsOfLocks(tx *db.Tx, propertyID string, lockIDs []string) (map[string][]*ent.Slot, error) {
	by := make(map[string][]*ent.Slot, len(lockIDs))
	for chunk := range chunks(lockIDs) {
		rows, err := tx.Slot.Query().Where(entslot.PropertyID(propertyID), entslot.LockIDIn(chunk...)).
			Order(entslot.ByNumber()).All(tx.Context())
		if err != nil {
			return nil, err
		}
		for _, s := range rows {
			by[s.LockID] = append(by[s.LockID], s)
		}
	}
	return by, nil
}

// countFreeSlots returns, by lock, how many slots a new code can use: those with neither a grant nor a foreign credential.
func countFreeSlots(tx *db.Tx, propertyID string, locks []*ent.Lock) (map[string]int, error) {
	free, total := make(map[string]int, len(locks)), make(map[string]int, len(locks))
	for _, lk := range locks {
		free[lk.ID], total[lk.ID] = lk.Capabilities.Slots, lk.Capabilities.Slots
	}
	for chunk := range chunks(idsOf(locks)) {
		var taken []struct {
			LockID string `json:"lock_id"`
			Number int    `json:"number"`
		}
		err := tx.Slot.Query().Where(entslot.PropertyID(propertyID), entslot.LockIDIn(chunk...), entslot.Or(HasGrant(), entslot.Foreign(true))).
			Select(entslot.FieldLockID, entslot.FieldNumber).Scan(tx.Context(), &taken)
		if err != nil {
			return nil, fmt.Errorf("count the free slots of locks: %w", err)
		}
		for _, s := range taken {
			if s.Number <= total[s.LockID] {
				free[s.LockID]--
			}
		}
	}
	return free, nil
}

// maxListed bounds the locks that one error lists.
const maxListed = 100

// RefuseWithCodes returns a fault that lists the locks of a property that may still hold a code, at most maxListed of them, or nil if there
// are none. It prevents the deletion of the property. abandoned are the ids of locks that the operator gives up; they are not listed.
func RefuseWithCodes(tx *db.Tx, propertyID string, abandoned []string) error {
	ids, err := tx.Slot.Query().Where(entslot.PropertyID(propertyID), HasGrant()).Unique(true).Select(entslot.FieldLockID).Strings(tx.Context())
	if err != nil {
		return fmt.Errorf("find the locks with codes: %w", err)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(abandoned, id) })
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	var listed []string
	for _, id := range ids[:min(len(ids), maxListed)] {
		lk, err := Get(tx, propertyID, id)
		if err != nil {
			return err
		}
		listed = append(listed, fmt.Sprintf("%s (%.64q)", id, lk.Name))
	}
	if more := len(ids) - len(listed); more > 0 {
		listed = append(listed, fmt.Sprintf("and %d more", more))
	}
	refused := fault.New(fault.Precondition, fault.CodesOnLocks,
		"codes may still be on locks: %s; end the stays and revoke the codes of the property, and try again when the locks have removed them; for locks that are gone for good, send abandonedLockIds (--abandon-locks): they may open to old codes for ever",
		strings.Join(listed, ", "))
	return refused.Put("lockIds", strings.Join(ids[:min(len(ids), maxListed)], " ")).Put("locks", strconv.Itoa(len(ids)))
}
