package access

import (
	"slices"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock/slot"
)

// Status sums a plan up.
type Status string

// What a plan can be.
const (
	StatusNone     Status = "none"     // no access, and none to take away
	StatusIssued   Status = "issued"   // every door is, or is coming, open to the stay
	StatusPartial  Status = "partial"  // some doors will not open
	StatusUpdating Status = "updating" // a room move or new dates are being carried out
	StatusRemoving Status = "removing" // codes are being taken away
	StatusRemoved  Status = "removed"  // all codes are known to be gone
	StatusFailed   Status = "failed"   // no door will open, although the stay has a right to
)

// Plan says, door by door, what will open, and why not.
type Plan struct {
	Status  Status
	Window  *Window
	Doors   []PlannedDoor
	Reasons []fault.Reason
}

// PlannedDoor is one door of a plan.
type PlannedDoor struct {
	ID, Name string
	Kind     Kind
	PIN      slot.Evidence
	SmartKey slot.Evidence
	Reason   fault.Reason
	own      bool // the stay's own room or bed, not a gate
}

// Facts are what a plan is described from.
type Facts struct {
	Right     Right
	Unplaced  fault.Reason // why the stay has no space of ours
	Doors     []Door
	Held      []Held // after the steps were taken
	GatesOnly bool   // the property grants gates without a room lock
	OwnPIN    map[string]bool
	NoPIN     map[string]bool // doors whose lock takes no PIN we may draw
	Moved     bool            // dates or place changed and not every lock has followed
	Ended     bool            // there was access, and it was taken away
	Shared    bool            // another stay holds the same private space
	Names     map[string]Door // doors that are left, by id
}

// Describe writes the plan.
func Describe(f Facts) Plan {
	p := Plan{Status: StatusNone}
	if f.Right.Open {
		w := f.Right.Window
		p.Window = &w
	}
	byDoor := map[string]Held{}
	for _, h := range f.Held {
		if old, ok := byDoor[h.DoorID]; !ok || !old.Present && h.Present {
			byDoor[h.DoorID] = h
		}
	}
	for _, d := range f.Doors {
		p.Doors = append(p.Doors, describeDoor(f, d, byDoor))
	}
	left := p.addLeft(f, byDoor)
	p.addReason(f.Unplaced)
	if f.Right.Reason != "" {
		p.addReason(f.Right.Reason)
	}
	if f.Shared {
		p.addReason(fault.SpaceShared)
	}
	for _, d := range p.Doors {
		p.addReason(d.Reason)
	}
	p.Status = p.sum(f, left)
	return p
}

func describeDoor(f Facts, d Door, held map[string]Held) PlannedDoor {
	out := PlannedDoor{ID: d.ID, Name: d.Name, Kind: d.Kind, PIN: None, SmartKey: None, own: d.Kind != Gate}
	h, has := held[d.ID]
	has = has && (d.Lock == nil || h.LockID == d.Lock.ID || !h.Present)
	switch {
	case d.Lock == nil:
		out.Reason = fault.NoLock
	case d.Inactive:
		out.Reason = fault.SpaceInactive
	case d.Lock.Bridge != "":
		out.Reason = d.Lock.Bridge
	}
	if !f.Right.Open {
		if has {
			out.PIN, out.SmartKey = h.Evidence, slot.Removed
		} else if out.Reason == "" && f.Right.Reason == fault.NotCheckedIn {
			out.PIN, out.SmartKey = slot.Planned, slot.Planned
		}
		if out.Reason == "" {
			out.Reason = f.Right.Reason
		}
		return out
	}
	if out.Reason != "" {
		if has {
			out.PIN = h.Evidence
		}
		return out
	}
	out.SmartKey = slot.Planned
	switch {
	case !has && f.NoPIN[d.ID]:
		out.PIN, out.Reason = slot.Failed, fault.PINNotPossible
	case !has:
		out.PIN, out.Reason = slot.Failed, fault.SlotsFull
	default:
		out.PIN = h.Evidence
		out.Reason = doorReason(f, d, h)
	}
	return out
}

// doorReason says why a code that is wanted on a door does not open it yet, or not as one would think.
func doorReason(f Facts, d Door, h Held) fault.Reason {
	settled := h.Evidence == slot.Accepted || h.Evidence == slot.Verified || h.Evidence == slot.Used
	switch {
	case h.Evidence == slot.Failed && h.Result == string(slot.Duplicate):
		return fault.DuplicateOnLock
	case h.Evidence == slot.Failed:
		return fault.LockRefused
	case !settled && !d.Lock.Online:
		return fault.LockOffline
	case h.Result == string(slot.ClockUntrusted):
		return fault.ClockUntrusted
	case f.Right.HeldBack:
		return fault.WindowInFuture
	case f.OwnPIN[d.ID]:
		return fault.OwnPIN
	}
	return ""
}

// addLeft lists doors that are held and no longer wanted.
func (p *Plan) addLeft(f Facts, held map[string]Held) (left bool) {
	ids := make([]string, 0, len(held))
	for id := range held {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		h := held[id]
		if slices.ContainsFunc(f.Doors, func(d Door) bool { return d.ID == id }) {
			continue
		}
		if h.Evidence == slot.Removed && f.Right.Open {
			continue
		}
		d := f.Names[id]
		out := PlannedDoor{ID: id, Name: d.Name, Kind: d.Kind, PIN: h.Evidence, SmartKey: slot.Removed}
		if h.Present {
			out.Reason = fault.MovingOut
		}
		left = left || h.Evidence != slot.Removed
		p.Doors = append(p.Doors, out)
	}
	return left
}

func (p *Plan) addReason(r fault.Reason) {
	if r != "" && !slices.Contains(p.Reasons, r) {
		p.Reasons = append(p.Reasons, r)
	}
}

func (p *Plan) sum(f Facts, left bool) Status {
	if !f.Right.Open {
		if !f.Ended {
			return StatusNone
		}
		for _, h := range f.Held {
			if h.Evidence != slot.Removed {
				return StatusRemoving
			}
		}
		return StatusRemoved
	}
	good, bad, moving := 0, 0, false
	for _, d := range p.Doors {
		switch d.PIN {
		case None, slot.Failed:
			bad++
		case slot.Removing, slot.Removed:
		default:
			good++
			moving = moving || d.PIN != slot.Accepted && d.PIN != slot.Verified && d.PIN != slot.Used
		}
	}
	locked := slices.ContainsFunc(f.Doors, func(d Door) bool { return d.Lock != nil })
	switch {
	case left, f.Moved && moving:
		return StatusUpdating
	case good == 0 && !locked:
		return StatusNone
	case good == 0:
		return StatusFailed
	case bad > 0 && p.lacksLocked(f):
		return StatusPartial
	}
	return StatusIssued
}

// lacksLocked says whether a door with a lock stays shut; one that has no lock of ours takes nothing from a plan.
func (p *Plan) lacksLocked(f Facts) bool {
	for _, d := range p.Doors {
		if (d.PIN == None || d.PIN == slot.Failed) && d.Reason != fault.NoLock {
			return true
		}
	}
	return false
}
