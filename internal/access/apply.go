package access

import (
	"errors"
	"maps"
	"slices"

	"latchkey.dev/ent"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// Apply carries out the steps of [Reconcile] on the stored slots, from which bridges write the locks: it sets and changes codes if
// run.Right is open, else it clears them. Right, doors, codes and PINs must be set before. It gives slots that become free at once to
// waiting reservations. A lock without a free slot is no error: the plan and a notice report it.
func (run *Run) Apply() error {
	if run.Right.Open {
		if err := run.markTakenOver(); err != nil {
			return err
		}
	}
	steps := Reconcile(Task{Right: run.Right, Placed: !run.Unplaced, Doors: run.doors, Codes: slotCodes(run.codes), PINAt: run.pins.pinIDAt})
	for _, s := range steps {
		if err := run.execute(s); err != nil && !errors.Is(err, lock.ErrSlotsFull) {
			return err
		}
	}
	return run.assignFreedSlots()
}

// execute carries out one step: it puts, changes or clears a code. The error is lock.ErrSlotsFull if a code to put finds no free slot.
func (run *Run) execute(s Step) error {
	switch s.Action {
	case Put:
		return run.putCode(s.DoorID)
	case Change:
		return run.changeCode(s.DoorID, slotByID(run.codes, s.SlotID))
	}
	return run.clearCode(slotByID(run.codes, s.SlotID))
}

// assignFreedSlots gives waiting reservations the slots that this run has freed at once, because their codes were never sent to the lock.
// No report of a bridge about these slots will follow that could do it later.
func (run *Run) assignFreedSlots() error {
	freed := run.freed
	run.freed = nil
	for _, lockID := range slices.Sorted(maps.Keys(freed)) {
		if err := run.assignFreeSlots(run.PropertyID, lockID, freed[lockID]); err != nil {
			return err
		}
	}
	return nil
}

// desiredCode returns the code to store for a door's slot, with its PIN and its windows, or false if no PIN is possible there.
func (run *Run) desiredCode(doorID string) (lock.DesiredCode, bool, error) {
	p := run.pins.pinAt(doorID)
	if p == nil {
		return lock.DesiredCode{}, false, nil
	}
	plain, err := run.pins.decrypt(p)
	return lock.DesiredCode{
		GrantID: run.ID, DoorID: doorID, StaySpaceID: run.SpaceID, PIN: plain, PINID: p.ID,
		NotBefore: run.Right.Window.From, NotAfter: run.Right.Window.To,
		LaterWindows: run.Right.Later.All(), OneTimeID: run.OneTimeID,
	}, true, err
}

// putCode sets a code in a free slot of the lock on a door. It does nothing if no PIN is possible there. The error is lock.ErrSlotsFull if
// no slot is free.
func (run *Run) putCode(doorID string) error {
	p, ok, err := run.desiredCode(doorID)
	if err != nil || !ok {
		return err
	}
	at := run.locks[doorByID(run.doors, doorID).Lock.ID]
	row, err := lock.AssignSlot(run.Tx, run.Keys, at.lock, p)
	if err != nil {
		return err
	}
	run.codes = append(run.codes, newHeldSlot(row, at, run.Tx.Now()))
	return nil
}

// changeCode gives the code h of a door its present PIN and windows, also if h is being removed: then it is desired again. It clears h
// instead if no PIN is possible there.
func (run *Run) changeCode(doorID string, h *heldSlot) error {
	p, ok, err := run.desiredCode(doorID)
	if err != nil {
		return err
	}
	if !ok {
		return run.clearCode(h)
	}
	lk, err := run.lockOf(h)
	if err != nil {
		return err
	}
	row, err := lock.UpdateSlot(run.Tx, run.Keys, lk, h.row, p)
	if err != nil {
		return err
	}
	h.set(row)
	return nil
}

// clearCode marks a code to be removed from its lock, if the code is desired. A slot that is free at once is counted in run.freed, for
// [Run.assignFreedSlots].
func (run *Run) clearCode(h *heldSlot) error {
	if !h.Present {
		return nil
	}
	lk, err := run.lockOf(h)
	if err != nil {
		return err
	}
	row, err := lock.ClearSlot(run.Tx, lk, h.row)
	if err != nil {
		return err
	}
	h.set(row)
	if h.Evidence == slot.Removed {
		if run.freed == nil {
			run.freed = map[string]int{}
		}
		run.freed[h.LockID]++
	}
	return nil
}

// lockOf returns the lock of a code. It reads the lock from the database if the run has not loaded it.
func (run *Run) lockOf(h *heldSlot) (*ent.Lock, error) {
	if f := run.locks[h.LockID]; f.lock != nil {
		return f.lock, nil
	}
	return lock.Get(run.Tx, run.PropertyID, h.LockID)
}

// RefreshEvidence updates the evidence of the holder's desired codes that have later windows, as those with weekly hours: the begin or end
// of a window changes it without a report of a bridge. Codes with one window stay unchanged.
func (run *Run) RefreshEvidence() error {
	for i := range run.codes {
		h := &run.codes[i]
		if !h.Present {
			continue
		}
		lk, err := run.lockOf(h)
		if err != nil {
			return err
		}
		row, err := lock.RefreshEvidence(run.Tx, lk, h.row)
		if err != nil {
			return err
		}
		h.set(row)
	}
	return nil
}

// IsRemoved reports whether it is proven that no lock holds a code of the holder. It is false while a code is desired, and true if the
// holder never had one. It considers only the codes that [Run.LoadCodes] loaded.
func (run *Run) IsRemoved() bool {
	return !slices.ContainsFunc(run.codes, func(h heldSlot) bool { return h.Present || h.Evidence != slot.Removed })
}

// LacksUsableSlot reports whether the lock on a door of the holder has no usable code of the holder: none is desired there, or the lock
// refused it.
func (run *Run) LacksUsableSlot() bool {
	return slices.ContainsFunc(run.doors, func(d Door) bool {
		return d.takesCode() && !slices.ContainsFunc(run.codes, func(h heldSlot) bool {
			return h.Present && h.LockID == d.Lock.ID && !slot.Result(h.Result).Final()
		})
	})
}
