package access

import (
	"cmp"
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
	StatusUpdating Status = "updating" // a room move, new dates or another PIN are being carried out
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
	Handed   bool // see [Held]
}

// shut says that the door will not open without somebody doing something.
func (d PlannedDoor) shut() bool {
	switch d.PIN {
	case None, slot.Failed:
		return true
	}
	return !d.Handed && (d.Reason == fault.NoBridge || d.Reason == fault.BridgeRevoked)
}

// Facts are what a plan is described from.
type Facts struct {
	Right    Right
	Unplaced fault.Reason // why the stay has no space of ours, or that the space is switched off
	Doors    []Door
	Held     []Held // after the steps were taken
	Older    []Held // of earlier grants of the stay, where it has a right to enter
	OwnPIN   map[string]bool
	NoPIN    map[string]bool    // doors whose lock takes no PIN we may draw
	Moved    bool               // dates or place changed and not every lock has followed
	Had      bool               // there is, or was, access
	Shared   bool               // another stay holds the same private space
	Names    map[string]Door    // doors that are left, by id
	Tokens   map[string][]Token // of SmartKeys, by lock
}

// Describe writes the plan.
func Describe(f Facts) Plan {
	p := Plan{}
	if f.Right.Open {
		w := f.Right.Window
		p.Window = &w
	}
	for _, d := range f.Doors {
		p.Doors = append(p.Doors, f.door(d))
	}
	left := f.left()
	p.Doors = append(p.Doors, left...)
	p.addReason(f.Unplaced)
	p.addReason(f.Right.Reason)
	if f.Shared {
		p.addReason(fault.SpaceShared)
	}
	for _, d := range p.Doors {
		p.addReason(d.Reason)
		if f.former(d) {
			p.addReason(fault.FormerCode)
		}
	}
	p.Status = f.status(p, left)
	return p
}

func (f Facts) door(d Door) PlannedDoor {
	out := PlannedDoor{ID: d.ID, Name: d.Name, Kind: d.Kind, PIN: None, SmartKey: None}
	switch {
	case d.Lock == nil:
		out.Reason = fault.NoLock
	case d.Inactive:
		out.Reason = fault.SpaceInactive
	}
	h, has := f.best(d)
	switch {
	case !f.Right.Open:
		f.closed(&out, d, h, has)
	case out.Reason != "":
		if len(f.tokensAt(d)) > 0 {
			out.SmartKey = KeyLeft(f.tokensAt(d))
		}
		if has {
			out.PIN = h.Evidence
		}
	default:
		f.open(&out, d, h, has && h.Present)
	}
	return out
}

// former says whether a door may open to the code of before the last change, and nobody is there to take it off.
func (f Facts) former(d PlannedDoor) bool {
	away := d.Reason == fault.LockOffline || d.Reason == fault.NoBridge || d.Reason == fault.BridgeRevoked
	return away && (slices.ContainsFunc(f.Held, func(h Held) bool { return h.DoorID == d.ID && h.Present && h.Former }) ||
		slices.ContainsFunc(f.Older, func(h Held) bool { return h.DoorID == d.ID && h.Evidence != slot.Removed }))
}

// closed describes a door of a stay that has no right to enter now.
func (f Facts) closed(out *PlannedDoor, d Door, h Held, has bool) {
	planned := !has && out.Reason == "" && f.Right.Reason == fault.NotCheckedIn
	out.SmartKey = f.keyClosed(d, has, planned)
	switch {
	case has:
		out.PIN = h.Evidence
	case planned:
		out.PIN = slot.Planned
	}
	if out.Reason == "" {
		out.Reason = f.Right.Reason
	}
}

// open describes a door that the stay has a right to, and that can be locked.
func (f Facts) open(out *PlannedDoor, d Door, h Held, has bool) {
	out.SmartKey = f.keyOpen(d)
	switch {
	case !has && f.NoPIN[d.ID]:
		out.PIN, out.Reason = slot.Failed, fault.PINNotPossible
	case !has:
		out.PIN, out.Reason = slot.Failed, fault.SlotsFull
	default:
		out.PIN, out.Reason, out.Handed = h.Evidence, f.doorReason(d, h), h.Handed
	}
}

// best is the code that tells most about a door: a wanted one on its present lock, else whatever is not gone yet.
func (f Facts) best(d Door) (Held, bool) {
	rank := func(h Held) int {
		n := 0
		if h.Present {
			n += 4
		}
		if d.Lock != nil && h.LockID == d.Lock.ID {
			n += 2
		}
		if h.Evidence != slot.Removed {
			n++
		}
		return n
	}
	best, found := Held{}, false
	for _, h := range f.Held {
		if h.DoorID == d.ID && (!found || rank(h) > rank(best)) {
			best, found = h, true
		}
	}
	return best, found
}

// doorReason says why a code that is wanted on a door does not open it yet, or not as one would think.
func (f Facts) doorReason(d Door, h Held) fault.Reason {
	settled := h.Evidence == slot.Accepted || h.Evidence == slot.Verified || h.Evidence == slot.Used
	switch {
	case h.LockID != d.Lock.ID: // the door has got another lock, and that one has no room yet
		return fault.SlotsFull
	case h.Evidence == slot.Failed:
		return refusal(h.Result)
	case !settled && d.Lock.Bridge != "":
		return d.Lock.Bridge
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

func refusal(result string) fault.Reason {
	switch slot.Result(result) {
	case slot.Duplicate:
		return fault.DuplicateOnLock
	case slot.SlotsFull:
		return fault.SlotsFull
	case slot.ClockUntrusted:
		return fault.ClockUntrusted
	}
	return fault.LockRefused
}

// left lists doors that are held, or were, and are not the stay's any more, by id.
func (f Facts) left() []PlannedDoor {
	var out []PlannedDoor
	for _, h := range f.Held {
		known := func(d Door) bool { return d.ID == h.DoorID }
		listed := func(d PlannedDoor) bool { return d.ID == h.DoorID }
		if slices.ContainsFunc(f.Doors, known) || slices.ContainsFunc(out, listed) {
			continue
		}
		best, _ := f.best(Door{ID: h.DoorID})
		if best.Evidence == slot.Removed && f.Right.Open {
			continue
		}
		d := PlannedDoor{ID: h.DoorID, Name: f.Names[h.DoorID].Name, Kind: f.Names[h.DoorID].Kind, PIN: best.Evidence, SmartKey: KeyLeft(f.Tokens[best.LockID])}
		if best.Present && f.Right.Open {
			d.Reason = fault.MovingOut
			if len(f.Doors) == 0 { // no place: what it has, it keeps
				d.SmartKey = f.keyOpen(f.Names[h.DoorID])
			}
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b PlannedDoor) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (p *Plan) addReason(r fault.Reason) {
	if r != "" && !slices.Contains(p.Reasons, r) {
		p.Reasons = append(p.Reasons, r)
	}
}

func (f Facts) status(p Plan, left []PlannedDoor) Status {
	if !f.Right.Open {
		return f.ended()
	}
	opens, shut, moving := 0, 0, len(left) > 0 || slices.Contains(p.Reasons, fault.FormerCode)
	for _, d := range p.Doors[:len(f.Doors)] {
		switch {
		case !d.shut():
			opens++
			moving = moving || f.Moved && d.PIN != slot.Accepted && d.PIN != slot.Verified && d.PIN != slot.Used
		case d.Reason != fault.NoLock:
			shut++
		}
	}
	locked := slices.ContainsFunc(f.Doors, func(d Door) bool { return d.Lock != nil })
	switch {
	case moving:
		return StatusUpdating
	case opens > 0 && shut > 0:
		return StatusPartial
	case opens > 0:
		return StatusIssued
	case locked:
		return StatusFailed
	}
	return StatusNone
}

// ended is the status of a stay without a right to enter.
func (f Facts) ended() Status {
	if !f.Had {
		return StatusNone
	}
	for _, h := range f.Held {
		if h.Evidence != slot.Removed {
			return StatusRemoving
		}
	}
	return StatusRemoved
}
