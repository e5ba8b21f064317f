package access

import (
	"time"

	"latchkey.dev/internal/access/pin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock/slot"
)

// Kind of a door.
type Kind string

// The kinds of doors.
const (
	Room Kind = "room"
	Bed  Kind = "bed"
	Gate Kind = "gate"
)

// None is the evidence of a code that is not to be: the word that stands beside the ladder of slot.Evidence.
const None slot.Evidence = "none"

// Door is one door a stay may open, with the lock on it.
type Door struct {
	ID, Name string
	Kind     Kind
	Inactive bool // its space is switched off
	Lock     *Lock
}

// Lock is what the decision needs to know of a lock.
type Lock struct {
	ID       string
	Bridge   fault.Reason // why no bridge can drive it until a person acts; empty otherwise
	Online   bool
	Jammed   bool // its bolt does not move
	ReadBack bool // what it holds can be read
	SmartKey bool // it opens to SmartKeys
	PIN      pin.Rules
	// Guessable says that nothing slows the guessing of PINs at it.
	Guessable bool
}

// away says why the lock cannot be reached now; empty: it can.
func (l *Lock) unreachable() fault.Reason {
	switch {
	case l.Bridge != "":
		return l.Bridge
	case !l.Online:
		return fault.LockOffline
	}
	return ""
}

// wanted says whether a stay with a right to enter gets a code on this door. One whose bridge is away, or revoked, is
// wanted all the same: what a slot shall hold waits for the bridge that comes.
func (d Door) takesCode() bool { return d.Lock != nil && !d.Inactive }

// Held is a code of the stay on a lock: wanted there, or on its way out.
type Held struct {
	SlotID      string
	LockID      string
	DoorID      string
	Present     bool // shall be there
	Window      Window
	Later       slot.Windows
	PIN         string // the id of its PIN
	Evidence    slot.Evidence
	Result      string       // of the lock's last answer
	ReadBack    bool         // of its lock
	LockMoved   bool         // its lock is on this door no more: it may be on another
	LockDoorID  string       // the door that its lock is on now; DoorID where it is on none
	Unreachable fault.Reason // why its lock cannot be reached; empty: it can
	Changed     time.Time    // when something else was asked of the slot
	// Something else was asked of the slot since the grant has it.
	Rewritten      bool
	MayBeInstalled bool // a bridge was given a code for the slot, and nothing proves what the lock holds
	Former         bool // the lock may still hold the code from before the last change
	// Another stay has been given access to this private door.
	TakenOver bool
}

// at is the door that the code opens, or opened.
func (h Held) currentDoorID() string {
	if h.LockDoorID == "" || h.Evidence == slot.Removed {
		return h.DoorID
	}
	return h.LockDoorID
}

// mayOpen says whether the lock may hold a code that is not wanted there.
func (h Held) mayStillOpen() bool { return !h.Present && h.Evidence != slot.Removed }

// installed says whether evidence from the lock says that it holds the code.
func isInstalled(e slot.Evidence) bool {
	return e == slot.Accepted || e == slot.Verified || e == slot.Used
}

// known says whether a code is there as surely as its lock can tell.
func (h Held) isProven() bool {
	switch h.Evidence {
	case slot.Verified, slot.Used:
		return true
	case slot.Accepted:
		return !h.ReadBack
	}
	return false
}

// spent says that the slot turned out to hold something that is not ours: it is left alone for good.
func (h Held) holdsForeignCode() bool {
	return h.Evidence == slot.Failed && h.Result == string(slot.Occupied)
}

// Verb is what to do with a slot.
type Action string

// What can be done with a slot.
const (
	Put    Action = "put"    // a code into a fresh slot of the door's lock
	Change Action = "change" // window or PIN of a code that is there, or is on its way out
	Clear  Action = "clear"  // the code goes
)

// Step is one thing to do.
type Step struct {
	Action Action
	DoorID string
	SlotID string // of Change and Clear
}

// Task is what Reconcile decides from.
type Task struct {
	Right  Right
	Placed bool // the stay has a space of ours
	Doors  []Door
	Held   []Held
	// PINAt names the PIN a door shall have; empty: it can have none, and what it has goes.
	PINAt func(doorID string) string
}

// Reconcile says what to do so that the locks of a stay come to hold what its right asks for. It looks at levels, not at
// changes, so it may run at any time and as often as one likes.
//
// A room move makes before it breaks: the place that is left, its gates with it, stays open until every door of the new
// place is known to open, or until the left door is given to another stay. A move to a space that leads to no place of
// ours has no such end: it waits for a mapping. A move to a place without a lock waits for nothing.
func Reconcile(t Task) []Step {
	var steps []Step
	kept := map[string]bool{}
	arrived := t.Placed
	for _, d := range t.Doors {
		if !t.Right.Open || !d.takesCode() {
			continue
		}
		h, ok := t.heldAt(d)
		if !ok {
			steps = append(steps, Step{Action: Put, DoorID: d.ID})
			arrived = arrived && d.Kind == Gate
			continue
		}
		kept[h.SlotID] = true
		if t.isOutdated(h) {
			steps = append(steps, Step{Change, d.ID, h.SlotID})
			arrived = arrived && d.Kind == Gate
			continue
		}
		arrived = arrived && (d.Kind == Gate || h.isProven())
	}
	for _, h := range t.Held {
		stays := t.Right.Open && !arrived && !h.TakenOver && !h.LockMoved && !h.holdsForeignCode()
		switch {
		case !h.Present || kept[h.SlotID]:
		case !stays:
			steps = append(steps, Step{Clear, h.DoorID, h.SlotID})
		case t.isOutdated(h):
			steps = append(steps, Step{Change, h.DoorID, h.SlotID})
		}
	}
	return steps
}

// at is the code that a door has on its present lock. One on its way out is taken back rather than put a second time: a
// lock refuses the same PIN twice.
func (t Task) heldAt(d Door) (Held, bool) {
	var back *Held
	for i, h := range t.Held {
		switch {
		case h.LockID != d.Lock.ID || h.DoorID != d.ID || h.holdsForeignCode():
		case h.Present:
			return h, true
		case h.Evidence != slot.Removed:
			back = &t.Held[i]
		}
	}
	if back == nil {
		return Held{}, false
	}
	return *back, true
}

// outdated says whether a code has another window or PIN than it shall have.
func (t Task) isOutdated(h Held) bool {
	return !h.Present || !h.Window.Same(t.Right.Window) || h.Later != t.Right.Later || h.PIN != t.PINAt(h.DoorID)
}
