package lock

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/watch"
)

// DesiredCode is a code for a door, with its windows and the grant (the access of a stay, or a code of staff) that it
// belongs to.
type DesiredCode struct {
	GrantID      string
	DoorID       string
	StaySpaceID  string // StaySpaceID is the space of the stay; empty if it has none, and for a code of staff
	PIN          string
	PINID        string        // PINID identifies the PIN; package access compares PINs by it
	NotBefore    time.Time     // NotBefore is the start of the first window; zero: no start
	NotAfter     time.Time     // NotAfter is the end of the first window; zero: no end, and no LaterWindows
	LaterWindows []slot.Window // LaterWindows follow the first, each with a start and an end
	OneTimeID    string        // OneTimeID is the id of a one-time code; empty for other codes
}

var ErrSlotsFull = fault.New(fault.Precondition, SlotsFull, "the lock has no free slot; remove a code or wait until a removed one is known to be gone")

// errSlotMoved is returned if another transaction changed or reassigned the slot after it was loaded.
var errSlotMoved = fault.New(fault.Aborted, fault.UnavailableReason, "the slot was changed meanwhile; read it again")

// AssignSlot gives the grant of a code a slot of the lock, stores the code there as desired and notifies the bridge. It takes a slot that
// was never used, else the slot that has been empty longest, and never a slot that may still hold a credential. It returns ErrSlotsFull if
// there is none, and errSlotMoved if the slot was changed meanwhile. A second call for the same grant takes a second slot.
func AssignSlot(tx *db.Tx, keys *keyring.Ring, lk *ent.Lock, p DesiredCode) (*ent.Slot, error) {
	if p.GrantID == "" || p.PIN == "" {
		return nil, fmt.Errorf("assign a slot of lock %s: the grant or the PIN is missing", lk.ID)
	}
	generation, err := nextGeneration(tx, lk, 0)
	if err != nil {
		return nil, err
	}
	usage, err := slotUsage(tx, lk)
	if err != nil {
		return nil, err
	}
	number, rowID := chooseSlot(usage, lk.Capabilities.Slots)
	if number == 0 {
		return nil, ErrSlotsFull
	}
	row := &ent.Slot{LockID: lk.ID, PropertyID: lk.PropertyID, Number: number, Evidence: string(slot.Removed)}
	if rowID != "" {
		if row, err = tx.Slot.Get(tx.Context(), rowID); err != nil {
			return nil, err
		}
	}
	return storeDesired(tx, keys, lk, row, generation, p)
}

// CountFreeSlots counts the slots of a lock that a new code can use.
func CountFreeSlots(tx *db.Tx, lk *ent.Lock) (int, error) {
	free, err := countFreeSlots(tx, lk.PropertyID, []*ent.Lock{lk})
	return free[lk.ID], err
}

// UpdateSlot changes the PIN or the windows of the code in a grant's slot, and notifies the bridge. The slot stays the same and gets a new
// generation. A slot that is being cleared gets its code again. It returns errSlotMoved if the grant no longer has the slot, or if the slot
// has changed since it was loaded.
func UpdateSlot(tx *db.Tx, keys *keyring.Ring, lk *ent.Lock, s *ent.Slot, p DesiredCode) (*ent.Slot, error) {
	if s.LockID != lk.ID || s.GrantID != p.GrantID || hasNoGrant(s) {
		return nil, errSlotMoved
	}
	generation, err := nextGeneration(tx, lk, 0)
	if err != nil {
		return nil, err
	}
	return storeDesired(tx, keys, lk, s, generation, p)
}

// ClearSlot marks a slot to be cleared, notifies the bridge and returns the slot's new row. The grant keeps the slot until the slot is
// known to be empty; that is at once if its code was never sent to a bridge. ClearSlot does nothing if no code is desired there. It returns
// errSlotMoved if the slot changed since it was loaded.
func ClearSlot(tx *db.Tx, lk *ent.Lock, s *ent.Slot) (*ent.Slot, error) {
	if s.LockID != lk.ID {
		return nil, errSlotMoved
	}
	if !s.Present {
		return s, nil
	}
	generation, err := nextGeneration(tx, lk, 0)
	if err != nil {
		return nil, err
	}
	next, ok := slot.Assign(serverSlotOf(s, lk), s.GrantID, slot.Desired{Intent: slot.Absent})
	if !ok {
		return nil, errSlotMoved
	}
	evidence := slot.Removing
	if next.SentTo == "" && !next.SentToOther {
		evidence = slot.Removed
	}
	changed, err := tx.Slot.Update().Where(ifUnchanged(s)...).
		SetGeneration(generation).SetPresent(false).SetFormer(next.OlderMayRemain).ClearPin().SetEvidence(string(evidence)).
		SetResult("").SetRule("").SetChangedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return nil, err
	}
	if changed == 0 {
		return nil, errSlotMoved
	}
	bridge.NotifyLock(tx, lk.BridgeID, lk.ID)
	watch.Notify(tx, lk.PropertyID, watch.Locks, lk.ID)
	return tx.Slot.Get(tx.Context(), s.ID)
}

// storeDesired inserts or updates the row of a slot with a desired code and its generation, and notifies the bridge. It seals the PIN for
// this slot and generation, and records the slot's former grant. If the bridge is online, the code is marked as sent at once, so that only
// the lock can prove its removal; its evidence is Queued in any case. It returns errSlotMoved if the slot changed meanwhile.
func storeDesired(tx *db.Tx, keys *keyring.Ring, lk *ent.Lock, s *ent.Slot, generation int64, p DesiredCode) (*ent.Slot, error) {
	ctx := tx.Context()
	next, ok := slot.Assign(serverSlotOf(s, lk), p.GrantID, slot.Desired{
		Intent: slot.Present, NotBefore: p.NotBefore, NotAfter: p.NotAfter, LaterWindows: slot.PackWindows(p.LaterWindows...), OneTimeID: p.OneTimeID,
	})
	if !ok {
		return nil, errSlotMoved
	}
	enrolment, err := activeEnrolment(tx, lk)
	if err != nil {
		return nil, err
	}
	if enrolment != "" {
		next, _ = slot.MarkSent(next, enrolment)
	}
	sealed, err := keys.Seal(ctx, lk.PropertyID, pinPurpose(lk.ID, s.Number, generation), []byte(p.PIN))
	if err != nil {
		return nil, fmt.Errorf("seal the code of lock %s slot %d: %w", lk.ID, s.Number, err)
	}
	row := *s
	row.Generation, row.Present, row.GrantID, row.PinID, row.DoorID, row.StaySpaceID = generation, true, p.GrantID, p.PINID, p.DoorID, p.StaySpaceID
	if s.GrantID != p.GrantID {
		row.Since = generation
	}
	row.Pin, row.NotBefore, row.NotAfter, row.Later, row.Once = sealed, optionalTime(p.NotBefore), optionalTime(p.NotAfter), storedWindows(p.LaterWindows), p.OneTimeID
	row.Claimant, row.Inherited, row.Former = next.SentTo, next.SentToOther, next.OlderMayRemain
	row.Evidence, row.Result, row.Rule, row.UsedAt, row.ChangedAt = string(slot.Queued), "", "", nil, tx.Now()
	if s.ID == "" {
		err = insertSlotRow(tx, &row)
	} else if err = updateSlotRow(tx, s, &row); err == nil {
		err = recordFormerGrant(tx, s, &row)
	}
	if err != nil {
		return nil, err
	}
	bridge.NotifyLock(tx, lk.BridgeID, lk.ID)
	watch.Notify(tx, lk.PropertyID, watch.Locks, lk.ID)
	return &row, nil
}

// insertSlotRow inserts the row of a slot that never had a code, and sets row.ID.
func insertSlotRow(tx *db.Tx, row *ent.Slot) error {
	row.ID = id.New(id.Slot)
	err := tx.Slot.Create().SetID(row.ID).SetPropertyID(row.PropertyID).SetLockID(row.LockID).SetNumber(row.Number).
		SetGeneration(row.Generation).SetPresent(row.Present).SetGrantID(row.GrantID).SetSince(row.Since).SetPinID(row.PinID).SetDoorID(row.DoorID).SetStaySpaceID(row.StaySpaceID).
		SetPin(row.Pin).SetNillableNotBefore(row.NotBefore).SetNillableNotAfter(row.NotAfter).SetLater(row.Later).SetOnce(row.Once).
		SetClaimant(row.Claimant).SetInherited(row.Inherited).SetFormer(row.Former).SetEvidence(row.Evidence).SetChangedAt(row.ChangedAt).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store the code of lock %s slot %d: %w", row.LockID, row.Number, err)
	}
	return nil
}

// SlotsOfGrant loads every slot of a grant. A cleared slot belongs to its last grant until another grant gets it.
func SlotsOfGrant(tx *db.Tx, propertyID, grantID string) ([]*ent.Slot, error) {
	return SlotsOfGrants(tx, propertyID, grantID)
}

// SlotsOfGrants is [SlotsOfGrant] for several grants, ordered by slot id within each group of chunkSize grants.
func SlotsOfGrants(tx *db.Tx, propertyID string, grantIDs ...string) ([]*ent.Slot, error) {
	var all []*ent.Slot
	for chunk := range chunks(grantIDs) {
		rows, err := tx.Slot.Query().Where(entslot.PropertyID(propertyID), entslot.GrantIDIn(chunk...)).Order(entslot.ByID()).All(tx.Context())
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// activeEnrolment returns the enrolment id of the lock's bridge (see [bridge.EnrolmentID]) if the bridge is online,
// else "". A code for an online bridge is marked as sent in the commit that stores the code.
func activeEnrolment(tx *db.Tx, lk *ent.Lock) (string, error) {
	type question struct{ bridgeID, propertyID string }
	return db.Cached(tx, bridgesTable, question{lk.BridgeID, lk.PropertyID}, func() (string, error) {
		br, err := tx.Bridge.Query().Where(entbridge.ID(lk.BridgeID), entbridge.PropertyID(lk.PropertyID)).Only(tx.Context())
		if ent.IsNotFound(err) {
			return "", nil
		}
		if err != nil || !br.Online || br.RevokedAt != nil {
			return "", err
		}
		return bridge.EnrolmentID(br), nil
	})
}

var bridgesTable = []string{"bridges"}

// pinPurpose returns the associated data of a sealed PIN. It binds the PIN to its lock, slot and generation, so that
// it cannot be decrypted as the PIN of another slot.
func pinPurpose(lockID string, number int, generation int64) string {
	return fmt.Sprintf("slot pin %s %d %d", lockID, number, generation)
}
