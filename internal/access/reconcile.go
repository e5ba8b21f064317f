package access

import (
	"time"

	"latchkey.dev/internal/access/pin"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// Kind is the kind of a door.
type Kind string

// The kinds of doors.
const (
	Room Kind = "room"
	Bed  Kind = "bed"
	Gate Kind = "gate"
)

// None is the evidence where no code is planned. It extends the values of slot.Evidence.
const None slot.Evidence = "none"

// Door is a door that a stay may open, with its lock.
type Door struct {
	ID, Name string
	Kind     Kind
	Inactive bool // its space is inactive
	Lock     *Lock
}

// Lock is the part of a lock that the decision depends on.
type Lock struct {
	ID       string
	Bridge   string // why no bridge can drive the lock until a person acts; empty: one can
	Online   bool
	Jammed   bool // its bolt does not move
	ReadBack bool // the bridge can read which codes it holds
	SmartKey bool // it opens to SmartKeys
	PIN      pin.Rules
	// Guessable reports that neither the lock nor its bridge slows the guessing of PINs.
	Guessable bool
}

// unreachable returns why the lock cannot be reached now, or empty.
func (l *Lock) unreachable() string {
	switch {
	case l.Bridge != "":
		return l.Bridge
	case !l.Online:
		return lock.LockOffline
	}
	return ""
}

// takesCode reports whether a stay with a right to enter gets a code on this door. An offline or revoked bridge does not matter:
// the desired code waits for the next bridge.
func (d Door) takesCode() bool { return d.Lock != nil && !d.Inactive }

// Held is a code of the stay on a lock: desired, or being removed.
type Held struct {
	SlotID      string
	LockID      string
	DoorID      string
	Present     bool  // the code is desired
	Generation  int64 // grows with each change of the desired state
	Window      Window
	Later       slot.Windows
	PIN         string // the id of its PIN
	Evidence    slot.Evidence
	Result      string    // the lock's last answer
	ReadBack    bool      // of its lock
	LockMoved   bool      // the lock is no longer on this door, and may be on another
	LockDoorID  string    // the door that the lock is on now; DoorID if it is on none
	Unreachable string    // why the lock cannot be reached; empty: it can
	Changed     time.Time // when the desired state of the slot last changed
	// The desired state changed since the grant got the slot.
	Rewritten      bool
	MayBeInstalled bool // a bridge received a code for the slot, and there is no proof of what the lock holds
	Former         bool // the lock may still hold the code from before the last change
	// Another stay now has access to this private door.
	TakenOver bool
}

// currentDoorID returns the door that the code opens, or opened.
func (h Held) currentDoorID() string {
	if h.LockDoorID == "" || h.Evidence == slot.Removed {
		return h.DoorID
	}
	return h.LockDoorID
}

// mayStillOpen reports whether the lock may hold a code that is not desired.
func (h Held) mayStillOpen() bool { return !h.Present && h.Evidence != slot.Removed }

// isInstalled reports whether evidence from the lock shows that it holds the code.
func isInstalled(e slot.Evidence) bool {
	return e == slot.Accepted || e == slot.Verified || e == slot.Used
}

// isProven reports whether the code is installed, by the best proof that its lock can give.
func (h Held) isProven() bool {
	switch h.Evidence {
	case slot.Verified, slot.Used:
		return true
	case slot.Accepted:
		return !h.ReadBack
	}
	return false
}

// holdsForeignCode reports that the slot holds a code that Latchkey did not set. It is never used.
func (h Held) holdsForeignCode() bool {
	return h.Evidence == slot.Failed && h.Result == string(slot.Occupied)
}

// Action is what to do with a slot.
type Action string

// The actions.
const (
	Put    Action = "put"    // set a code in a free slot of the door's lock
	Change Action = "change" // change the window or PIN of a code, also of one being removed
	Clear  Action = "clear"  // remove the code
)

// Step is one action on one slot.
type Step struct {
	Action Action
	DoorID string
	SlotID string // of Change and Clear
}

// Task is the input of Reconcile.
type Task struct {
	Right  Right
	Placed bool // the stay leads to a space of the property
	Doors  []Door
	Held   []Held
	// PINAt returns the id of the PIN for a door, or empty if none is possible; then its code is removed.
	PINAt func(doorID string) string
}

// Reconcile returns the steps after which the locks of a stay hold what its right asks for. It compares states, not changes, so
// it may run at any time and any number of times.
//
// A room move adds the new codes before it removes the old ones: the doors of the old place, with its gates, stay open until
// every door of the new place is proven to open, or until another stay takes over the old door. A stay whose new space leads to
// no place keeps its doors until there is a mapping. A move to a place without a lock does not wait.
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

// heldAt returns the code that a door has on its present lock. A code being removed is taken back rather than set again, because
// a lock refuses the same PIN twice.
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

// isOutdated reports whether a code has another window or PIN than desired.
func (t Task) isOutdated(h Held) bool {
	return !h.Present || !h.Window.Same(t.Right.Window) || h.Later != t.Right.Later || h.PIN != t.PINAt(h.DoorID)
}

func doorByID(doors []Door, id string) Door {
	for _, d := range doors {
		if d.ID == id {
			return d
		}
	}
	return Door{}
}
