package access

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// maxRedraws bounds how often the PINs of a stay are replaced because a lock refuses each as a duplicate.
const maxRedraws = 5

// ensureStayPINs makes a PIN for every door that needs one, and replaces a PIN that a lock refused as a duplicate.
func (run *grantRun) ensureStayPINs(doors []Door, held []installedSlot) (err error) {
	if run.isNew {
		run.pins = newPINSet(run.tx, run.keys, run.grant, run.rules.PINLength)
	} else if run.pins, err = loadPINs(run.tx, run.keys, run.grant, run.rules.PINLength); err != nil {
		return err
	}
	if err := run.replaceRefusedPIN(held); err != nil {
		return err
	}
	if err := run.pins.ensure(doors); err != nil {
		return err
	}
	id := ""
	if run.pins.shared != nil {
		id = run.pins.shared.ID
	}
	if err := run.storeGrant(id); err != nil || !run.pins.drewPIN && !run.drewPIN {
		return err
	}
	return event.Append(run.tx, event.Event{
		PropertyID: run.propertyID, Subject: run.reservationID, Kind: event.PINGenerated,
		Body: map[string]any{"reservationId": run.reservationID, "pinId": id},
	})
}

// replaceRefusedPIN retires a PIN that a lock refused as a duplicate: that lock will never take it.
func (run *grantRun) replaceRefusedPIN(held []installedSlot) error {
	if run.grant.Redraws >= maxRedraws {
		return nil
	}
	for _, h := range held {
		p := run.pins.pinAt(h.DoorID)
		if !h.Present || p == nil || h.PIN != p.ID || h.Evidence != slot.Failed || h.Result != string(slot.Duplicate) {
			continue
		}
		if err := run.pins.retire(p); err != nil {
			return err
		}
		run.changed = true
		g, err := run.tx.Grant.UpdateOne(run.grant).AddRedraws(1).Save(run.ctx())
		if err != nil {
			return fmt.Errorf("count a redraw: %w", err)
		}
		run.grant = g
		return nil
	}
	return nil
}

// execute carries out the steps and returns the codes afterwards. A lock without a free slot is no error: the plan and a notice
// say so.
func (run *grantRun) execute(steps []Step, doors []Door, held []installedSlot) ([]installedSlot, error) {
	for _, s := range steps {
		var err error
		switch s.Action {
		case Put:
			held, err = run.putCode(doorByID(doors, s.DoorID), held)
		case Change:
			err = run.changeCode(s.DoorID, slotByID(held, s.SlotID))
		case Clear:
			err = run.clearCode(slotByID(held, s.SlotID))
		}
		if err != nil && !errors.Is(err, lock.ErrSlotsFull) {
			return nil, err
		}
	}
	return held, run.assignFreedSlots()
}

// assignFreedSlots gives slots to waiting stays that this run freed at once, because their codes had not been sent to the lock.
// No evidence follows for these slots.
func (run *grantRun) assignFreedSlots() error {
	freed := run.freedSlots
	run.freedSlots = nil
	for _, lockID := range slices.Sorted(maps.Keys(freed)) {
		err := Reconciler{Tx: run.tx, Keys: run.keys}.assignFreeSlots(SlotChange{PropertyID: run.propertyID, LockID: lockID}, freed[lockID])
		if err != nil {
			return err
		}
	}
	return nil
}

func doorByID(doors []Door, id string) Door {
	for _, d := range doors {
		if d.ID == id {
			return d
		}
	}
	return Door{}
}

// desiredCode returns what a slot for a door must hold, or false if no PIN is possible there.
func (run *grantRun) desiredCode(doorID string) (lock.DesiredCode, bool, error) {
	p := run.pins.pinAt(doorID)
	if p == nil {
		return lock.DesiredCode{}, false, nil
	}
	plain, err := run.pins.decrypt(p)
	return lock.DesiredCode{
		GrantID: run.grant.ID, DoorID: doorID, StaySpaceID: run.spaceID(), PIN: plain, PINID: p.ID,
		NotBefore: run.right.Window.From, NotAfter: run.right.Window.To,
		LaterWindows: run.right.Later.All(), OneTimeID: run.singleUseID,
	}, true, err
}

func (run *grantRun) putCode(d Door, held []installedSlot) ([]installedSlot, error) {
	p, ok, err := run.desiredCode(d.ID)
	if err != nil || !ok {
		return held, err
	}
	row, err := lock.AssignSlot(run.tx, run.keys, run.lockAtDoor[d.ID], p)
	if err != nil {
		return held, err
	}
	run.changedSlots = true
	return append(held, newInstalledSlot(row, d.Lock.ReadBack)), nil
}

func (run *grantRun) changeCode(doorID string, h *installedSlot) error {
	p, ok, err := run.desiredCode(doorID)
	if err != nil {
		return err
	}
	if !ok {
		return run.clearCode(h)
	}
	lk, err := run.lockOfSlot(h.Held)
	if err != nil {
		return err
	}
	row, err := lock.UpdateSlot(run.tx, run.keys, lk, h.row, p)
	if err != nil {
		return err
	}
	run.changedSlots = true
	h.set(row)
	return nil
}

func (run *grantRun) clearCode(h *installedSlot) error {
	if !h.Present {
		return nil
	}
	lk, err := run.lockOfSlot(h.Held)
	if err != nil {
		return err
	}
	row, err := lock.ClearSlot(run.tx, lk, h.row)
	if err != nil {
		return err
	}
	run.changedSlots = true
	h.set(row)
	if h.Evidence == slot.Removed {
		if run.freedSlots == nil {
			run.freedSlots = map[string]int{}
		}
		run.freedSlots[h.LockID]++
	}
	return nil
}
