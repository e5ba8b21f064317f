package access

import (
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// heldSlot is a code on a lock, with the row of its slot (a numbered place for a code).
type heldSlot struct {
	SlotCode
	row *ent.Slot
}

// newHeldSlot returns the code in a slot. at is the slot's lock.
func newHeldSlot(s *ent.Slot, at lockOnDoor, now time.Time) heldSlot {
	o := heldSlot{}
	o.set(s)
	o.setLock(at, now)
	o.BeyondLock = at.lock != nil && s.Number > at.lock.Capabilities.Slots
	return o
}

// set replaces the row of the slot, and the fields of the code that are derived from it.
func (o *heldSlot) set(s *ent.Slot) {
	o.row = s
	o.SlotID, o.LockID, o.DoorID, o.Present, o.PIN = s.ID, s.LockID, s.DoorID, s.Present, s.PinID
	o.Evidence, o.Result, o.Window = slot.Evidence(s.Evidence), s.Result, Window{db.OrZero(s.NotBefore), db.OrZero(s.NotAfter)}
	o.Later = slot.PackWindows(lock.LaterWindows(s)...)
	o.Generation, o.Changed, o.Rewritten = s.Generation, s.ChangedAt, s.Generation > s.Since
	o.MayBeInstalled = (s.Claimant != "" || s.Inherited) && !isInstalled(o.Evidence)
	o.Former = s.Present && s.Former && !isInstalled(o.Evidence)
	if isInstalled(o.Evidence) {
		o.Confirmed = db.OrZero(s.SeenAt)
	}
}

// setLock sets which door the slot's lock is on now, and whether the lock can be reached. f is that lock, or empty if it is unknown: the
// code then counts as on a moved lock without a bridge.
func (h *SlotCode) setLock(f lockOnDoor, now time.Time) {
	h.LockDoorID, h.LockMoved = h.DoorID, true
	if f.lock == nil {
		h.Unreachable = lock.NoBridge
		return
	}
	if f.lock.DoorID != nil {
		h.LockDoorID, h.LockMoved = *f.lock.DoorID, *f.lock.DoorID != h.DoorID
	}
	l := f.toLock(now)
	h.ReadBack, h.Unreachable = l.ReadBack, l.unreachable()
}

// slotCodes returns the codes without their rows.
func slotCodes(codes []heldSlot) []SlotCode {
	out := make([]SlotCode, len(codes))
	for i, h := range codes {
		out[i] = h.SlotCode
	}
	return out
}

// slotByID returns the code in the slot with an id, which must be among codes.
func slotByID(codes []heldSlot, slotID string) *heldSlot {
	i := slices.IndexFunc(codes, func(h heldSlot) bool { return h.SlotID == slotID })
	return &codes[i]
}
