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
func (w *grantRun) ensureStayPINs(doors []Door, held []installedSlot) (err error) {
	if w.isNew {
		w.pins = newPINSet(w.tx, w.keys, w.grant, w.rules.PINLength)
	} else if w.pins, err = loadPINs(w.tx, w.keys, w.grant, w.rules.PINLength); err != nil {
		return err
	}
	if err := w.replaceRefusedPIN(held); err != nil {
		return err
	}
	if err := w.pins.ensure(doors); err != nil {
		return err
	}
	id := ""
	if w.pins.shared != nil {
		id = w.pins.shared.ID
	}
	if err := w.storeGrant(id); err != nil || !w.pins.drewPIN && !w.drewPIN {
		return err
	}
	return event.Append(w.tx, event.Event{
		PropertyID: w.propertyID, Subject: w.reservationID, Kind: event.PINGenerated,
		Body: map[string]any{"reservationId": w.reservationID, "pinId": id},
	})
}

// replaceRefusedPIN retires a PIN that a lock refused as a duplicate: that lock will never take it.
func (w *grantRun) replaceRefusedPIN(held []installedSlot) error {
	if w.grant.Redraws >= maxRedraws {
		return nil
	}
	for _, h := range held {
		p := w.pins.pinAt(h.DoorID)
		if !h.Present || p == nil || h.PIN != p.ID || h.Evidence != slot.Failed || h.Result != string(slot.Duplicate) {
			continue
		}
		if err := w.pins.retire(p); err != nil {
			return err
		}
		w.changed = true
		g, err := w.tx.Grant.UpdateOne(w.grant).AddRedraws(1).Save(w.ctx())
		if err != nil {
			return fmt.Errorf("count a redraw: %w", err)
		}
		w.grant = g
		return nil
	}
	return nil
}

// execute carries out the steps and returns the codes afterwards. A lock without a free slot is no error: the plan and a notice
// say so.
func (w *grantRun) execute(steps []Step, doors []Door, held []installedSlot) ([]installedSlot, error) {
	for _, s := range steps {
		var err error
		switch s.Action {
		case Put:
			held, err = w.putCode(doorByID(doors, s.DoorID), held)
		case Change:
			err = w.changeCode(s.DoorID, slotByID(held, s.SlotID))
		case Clear:
			err = w.clearCode(slotByID(held, s.SlotID))
		}
		if err != nil && !errors.Is(err, lock.ErrSlotsFull) {
			return nil, err
		}
	}
	return held, w.assignFreedSlots()
}

// assignFreedSlots gives slots to waiting stays that this run freed at once, because their codes had not been sent to the lock.
// No evidence follows for these slots.
func (w *grantRun) assignFreedSlots() error {
	freed := w.freedSlots
	w.freedSlots = nil
	for _, lockID := range slices.Sorted(maps.Keys(freed)) {
		err := Reconciler{Tx: w.tx, Keys: w.keys}.assignFreeSlots(SlotChange{PropertyID: w.propertyID, LockID: lockID}, freed[lockID])
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
func (w *grantRun) desiredCode(doorID string) (lock.DesiredCode, bool, error) {
	p := w.pins.pinAt(doorID)
	if p == nil {
		return lock.DesiredCode{}, false, nil
	}
	plain, err := w.pins.decrypt(p)
	return lock.DesiredCode{
		GrantID: w.grant.ID, DoorID: doorID, StaySpaceID: w.spaceID(), PIN: plain, PINID: p.ID,
		NotBefore: w.right.Window.From, NotAfter: w.right.Window.To,
		LaterWindows: w.right.Later.All(), OneTimeID: w.singleUseID,
	}, true, err
}

func (w *grantRun) putCode(d Door, held []installedSlot) ([]installedSlot, error) {
	p, ok, err := w.desiredCode(d.ID)
	if err != nil || !ok {
		return held, err
	}
	row, err := lock.AssignSlot(w.tx, w.keys, w.lockAtDoor[d.ID], p)
	if err != nil {
		return held, err
	}
	w.changedSlots = true
	return append(held, newInstalledSlot(row, d.Lock.ReadBack)), nil
}

func (w *grantRun) changeCode(doorID string, h *installedSlot) error {
	p, ok, err := w.desiredCode(doorID)
	if err != nil {
		return err
	}
	if !ok {
		return w.clearCode(h)
	}
	lk, err := w.lockOfSlot(h.Held)
	if err != nil {
		return err
	}
	row, err := lock.UpdateSlot(w.tx, w.keys, lk, h.row, p)
	if err != nil {
		return err
	}
	w.changedSlots = true
	h.set(row)
	return nil
}

func (w *grantRun) clearCode(h *installedSlot) error {
	if !h.Present {
		return nil
	}
	lk, err := w.lockOfSlot(h.Held)
	if err != nil {
		return err
	}
	row, err := lock.ClearSlot(w.tx, lk, h.row)
	if err != nil {
		return err
	}
	w.changedSlots = true
	h.set(row)
	if h.Evidence == slot.Removed {
		if w.freedSlots == nil {
			w.freedSlots = map[string]int{}
		}
		w.freedSlots[h.LockID]++
	}
	return nil
}
