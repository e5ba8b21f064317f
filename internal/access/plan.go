package access

import (
	"slices"
	"time"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock/slot"
)

// Status sums a plan up.
type Status string

// What a plan can be.
const (
	StatusNone     Status = "none"     // no access, or no door of the stay has a lock
	StatusIssued   Status = "issued"   // every door opens, or its first code is on its way
	StatusPartial  Status = "partial"  // some doors do not open
	StatusUpdating Status = "updating" // some lock is not known to have followed a change, or a former code may open a door
	StatusRemoving Status = "removing" // no door opens by right, and a code or SmartKey may still open one
	StatusRemoved  Status = "removed"  // all codes and SmartKeys are known to be gone
	StatusFailed   Status = "failed"   // the stay has a right to enter, and no door opens
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
	ID, Name       string
	Kind           Kind
	PIN            slot.Evidence
	SmartKey       slot.Evidence
	Reason         fault.Reason
	Left           bool // the stay has no right to it, and a code or SmartKey of the stay is, or was, there
	MayBeInstalled bool // see [Held]
	former         bool // a code from before the last change may open it
	stuck          bool // and the lock cannot be reached, is jammed, or refused the present code
	changing       bool // its lock is not known to have followed a change
}

// shut says that the door does not open to the stay unless a person acts.
func (d PlannedDoor) isShut() bool {
	switch d.PIN {
	case None, slot.Failed:
		return true
	}
	switch d.Reason {
	case fault.SpaceInactive, fault.LockJammed:
		return true
	case fault.NoBridge, fault.BridgeRevoked:
		return !d.former && !isInstalled(d.PIN)
	}
	return false
}

// Facts are what a plan is described from.
type Facts struct {
	Right    Right
	Doubt    fault.Reason // why the place of the stay may be another one
	Unplaced fault.Reason // why the stay has no space of ours, or that the space is switched off
	Doors    []Door
	Held     []Held // after the steps were taken
	Older    []Held // of earlier grants of the stay
	Opened   time.Time
	OwnPIN   map[string]bool
	NoPIN    map[string]bool    // doors whose lock takes no PIN we may draw
	Had      bool               // there is, or was, access
	Shared   bool               // another stay holds the same private space at the same time
	Names    map[string]Door    // doors that are left, by id
	Tokens   map[string][]Token // of SmartKeys, by lock
	KeyDoors map[string]string  // the door that a lock of Tokens is on
}

// Describe writes the plan. A door that a code or SmartKey of the stay may still open is always in it.
func Describe(f Facts) Plan {
	p := Plan{}
	if f.Right.Open {
		w := f.Right.Window
		p.Window = &w
	}
	for _, d := range f.Doors {
		p.Doors = append(p.Doors, f.describeDoor(d))
	}
	p.Doors = append(p.Doors, f.formerDoors()...)
	p.addReason(f.Unplaced)
	p.addReason(f.Doubt)
	p.addReason(f.Right.Reason)
	if f.Shared {
		p.addReason(fault.SpaceShared)
	}
	for _, d := range p.Doors {
		p.addReason(d.Reason)
		if d.former && d.stuck {
			p.addReason(fault.FormerCode)
		}
	}
	p.Status = f.status(p)
	return p
}

func (f Facts) allHeld() []Held { return slices.Concat(f.Held, f.Older) }

// door describes a door of the stay's place.
func (f Facts) describeDoor(d Door) PlannedDoor {
	out := PlannedDoor{ID: d.ID, Name: d.Name, Kind: d.Kind, PIN: None, SmartKey: None}
	switch {
	case d.Lock == nil:
		out.Reason = fault.NoLock
	case d.Inactive:
		out.Reason = fault.SpaceInactive
	}
	own, has := f.currentCode(d)
	if f.Right.Open && out.Reason == "" {
		f.describeOpen(&out, d, own, has)
	} else {
		f.describeClosed(&out, d)
	}
	for _, h := range f.allHeld() {
		if h.currentDoorID() == d.ID && h.Evidence != slot.Removed && h.SlotID != own.SlotID {
			out.former = true
			out.stuck = out.stuck || h.Unreachable != "" || out.PIN == slot.Failed
		}
	}
	out.stuck = out.stuck || out.former && out.Reason == fault.LockJammed // it may open once the bolt is free
	return out
}

// closed describes a door that the stay has no right to enter now, or that takes no code.
func (f Facts) describeClosed(out *PlannedDoor, d Door) {
	h, has := f.likeliestCode(d.ID)
	planned := !has && out.Reason == "" && f.Right.Reason == fault.NotCheckedIn
	switch {
	case has:
		out.PIN = h.Evidence
	case planned:
		out.PIN = slot.Planned
	}
	switch {
	case !f.Right.Open:
		out.SmartKey = f.keyClosed(d, has, planned)
	case len(f.tokensAt(d)) > 0:
		out.SmartKey = RemainingKeyEvidence(f.tokensAt(d))
	}
	switch {
	case has && h.mayStillOpen() && !f.Right.Open && h.Unreachable != "":
		out.Reason = h.Unreachable
	case out.Reason == "":
		out.Reason = f.Right.Reason
	}
}

// open describes a door that the stay has a right to, and that can be locked.
func (f Facts) describeOpen(out *PlannedDoor, d Door, h Held, has bool) {
	out.SmartKey = f.keyOpen(d)
	switch {
	case !has && f.NoPIN[d.ID]:
		out.PIN, out.Reason = slot.Failed, fault.PINNotPossible
	case !has:
		out.PIN, out.Reason = slot.Failed, fault.SlotsFull
	default:
		out.PIN, out.Reason = h.Evidence, f.doorReason(d, h)
		out.MayBeInstalled = h.MayBeInstalled && (h.Former || h.Evidence != slot.Sent) // sent: the bridge has not written it
		out.former = h.Former
		out.stuck = h.Former && (d.Lock.unreachable() != "" || h.Evidence == slot.Failed)
		out.changing = f.isChanging(h)
	}
	out.changing = out.changing || f.hasStaleKey(d)
}

// changing says whether a lock is not known yet to hold what a change of the access asks for. A code that waits on its
// bridge for its window to begin is where it shall be.
func (f Facts) isChanging(h Held) bool {
	if isInstalled(h.Evidence) || h.Evidence == slot.Failed {
		return false
	}
	if f.Right.HeldBack && h.Evidence == slot.Sent {
		return h.Former
	}
	return h.Former || h.Rewritten || h.Changed.After(f.Opened)
}

// own is the code that is wanted on a door, on its present lock.
func (f Facts) currentCode(d Door) (Held, bool) {
	for _, h := range f.Held {
		if f.Right.Open && h.Present && d.takesCode() && h.DoorID == d.ID && h.LockID == d.Lock.ID {
			return h, true
		}
	}
	return Held{}, false
}

// worst is the code that is most likely to open a door: one that is wanted there, else one that is not known to be gone.
func (f Facts) likeliestCode(doorID string) (worst Held, found bool) {
	rank := func(h Held) int {
		switch {
		case h.Present:
			return 2
		case h.mayStillOpen() && h.Unreachable != "":
			return 1
		case h.mayStillOpen():
			return 0
		}
		return -1
	}
	for _, h := range f.allHeld() {
		if h.currentDoorID() == doorID && (!found || rank(h) > rank(worst)) {
			worst, found = h, true
		}
	}
	return worst, found
}

// doorReason says why a code that is wanted on a door does not open it yet, or not as one would think.
func (f Facts) doorReason(d Door, h Held) fault.Reason {
	switch {
	case h.Evidence == slot.Failed:
		return refusalReason(h.Result)
	case !isInstalled(h.Evidence) && d.Lock.unreachable() != "":
		return d.Lock.unreachable()
	case d.Lock.Jammed:
		return fault.LockJammed
	case h.Result == string(slot.ClockUntrusted):
		return fault.ClockUntrusted
	case f.Right.HeldBack:
		return fault.WindowInFuture
	case f.OwnPIN[d.ID]:
		return fault.OwnPIN
	}
	return ""
}

func refusalReason(result string) fault.Reason {
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

// left lists the doors, by id, that are not the stay's and that a code or SmartKey of it may open. Of a stay that is over
// it also lists those that are known to be closed.
func (f Facts) formerDoors() []PlannedDoor {
	var ids []string
	for _, h := range f.allHeld() {
		if !f.Right.Open || h.Evidence != slot.Removed {
			ids = append(ids, h.currentDoorID())
		}
	}
	for lockID, tokens := range f.Tokens {
		if id := f.KeyDoors[lockID]; id != "" && RemainingKeyEvidence(tokens) == slot.Removing {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	var out []PlannedDoor
	for _, id := range slices.Compact(ids) {
		if !slices.ContainsFunc(f.Doors, func(d Door) bool { return d.ID == id }) {
			out = append(out, f.describeFormer(id))
		}
	}
	return out
}

func (f Facts) describeFormer(id string) PlannedDoor {
	d := PlannedDoor{ID: id, Name: f.Names[id].Name, Kind: f.Names[id].Kind, Left: true, PIN: None, SmartKey: f.remainingKeysAt(id)}
	h, has := f.likeliestCode(id)
	if !has {
		return d
	}
	d.PIN, d.former = h.Evidence, h.Former || h.mayStillOpen()
	d.stuck = d.former && h.Unreachable != ""
	switch {
	case h.Present && f.Right.Open:
		d.Reason = fault.MovingOut
		if len(f.Doors) == 0 { // no place: what it has, it keeps
			d.SmartKey = f.keyOpen(f.Names[id])
		}
	case d.stuck:
		d.Reason = h.Unreachable
	}
	return d
}

func (p *Plan) addReason(r fault.Reason) {
	if r != "" && !slices.Contains(p.Reasons, r) {
		p.Reasons = append(p.Reasons, r)
	}
}

// status sums up the doors. Doors that do not open because they have no lock count neither way.
func (f Facts) status(p Plan) Status {
	opens, shut, moving := 0, 0, false
	for _, d := range p.Doors {
		leaving := d.PIN == slot.Removing || d.SmartKey == slot.Removing
		moving = moving || d.former || d.changing || leaving || d.Reason == fault.MovingOut
		switch {
		case d.Left && d.Reason != fault.MovingOut, d.Reason == fault.NoLock:
		case d.isShut():
			shut++
		default:
			opens++
		}
	}
	switch {
	case !f.Right.Open && !f.Had:
		return StatusNone
	case !f.Right.Open && (moving || slices.ContainsFunc(f.allHeld(), func(h Held) bool { return h.Evidence != slot.Removed })):
		return StatusRemoving
	case !f.Right.Open:
		return StatusRemoved
	case opens > 0 && moving:
		return StatusUpdating
	case opens > 0 && shut > 0:
		return StatusPartial
	case opens > 0:
		return StatusIssued
	case shut > 0:
		return StatusFailed
	case moving:
		return StatusRemoving
	}
	return StatusNone
}
