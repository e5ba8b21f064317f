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

// mostRedraws bounds how often a stay draws anew for locks that call each PIN a duplicate.
const maxRedraws = 5

// prepare has a PIN ready for every door: a lock that refused one as a duplicate gets another. A stay without a door that
// can be opened gets none.
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

// redraw retires a PIN that a lock refused as a duplicate: it is final for that PIN there, and trying again is no use.
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

// take carries the steps out and gives the codes as they are then. A lock without a free slot is no error: the plan says
// so and staff are told.
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

// offer gives places that were free at once, because their codes had never left for the lock, to who waits for them: of such
// a place nothing is heard.
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

// code is what a slot for a door shall hold; false: no PIN is possible there.
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
