package access

import (
	"time"

	"latchkey.dev/internal/access/pin"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// Kind is the kind of a door: Room, Bed or Gate.
type Kind string

const (
	Room Kind = "room" // also a dorm
	Bed  Kind = "bed"
	Gate Kind = "gate" // a door that several spaces share, such as the front door
)

// None is the evidence at a door for which no code, or no SmartKey, is planned. It extends the values of slot.Evidence.
const None slot.Evidence = "none"

// Door is a door that a stay or code opens: a room, a bed, a dorm or a gate. Its Lock is nil if there is none on it.
type Door struct {
	ID, Name string
	Parent   string // Parent is the name of the dorm of a bed, or ""
	Kind     Kind
	Inactive bool // Inactive means that the door's space is inactive; in a plan also the dorm of a bed counts
	Lock     *Lock
}

// Lock is the part of a lock on which access depends.
type Lock struct {
	ID     string
	Bridge Reason // Bridge is why no bridge can drive the lock until a person acts; empty if one can
	Online bool
	// BridgeOnline means that the lock's bridge is online, so that its last report still holds. Online implies it.
	BridgeOnline bool
	Jammed       bool // Jammed means that the bolt does not move
	ReadBack     bool // ReadBack means that the bridge can read which codes the lock holds
	SmartKey     bool // SmartKey means that SmartKeys can open the lock
	PIN          pin.Rules
	// Guessable means that nothing slows the guessing of PINs at the lock.
	Guessable bool
}

// unreachable returns why the lock cannot be reached now, or "".
func (l *Lock) unreachable() Reason {
	switch {
	case l.Bridge != "":
		return l.Bridge
	case !l.Online:
		return lock.LockOffline
	}
	return ""
}

// takesCode reports whether a guest who may open this door gets a code on its lock. It is false for a door without a lock, and for an
// inactive one. An offline or revoked bridge does not matter: the desired code waits for the next bridge.
func (d Door) takesCode() bool { return d.Lock != nil && !d.Inactive }

// SlotCode is a code of the holder on a lock: desired, being removed, or removed.
type SlotCode struct {
	SlotID      string
	LockID      string
	DoorID      string
	Present     bool  // Present means that the code is desired
	Generation  int64 // Generation grows with each change of the desired state
	Window      Window
	Later       slot.Windows
	PIN         string // PIN is the id of the code's PIN
	Evidence    slot.Evidence
	Result      string    // Result is why the lock has not confirmed the code, a slot.Result; empty if it has, or if no reason is known
	ReadBack    bool      // ReadBack means that the slots of the lock can be read
	LockMoved   bool      // LockMoved means that the lock is no longer on the door DoorID
	LockDoorID  string    // LockDoorID is the door that the lock is on now, or DoorID if it is on none
	Unreachable Reason    // Unreachable is why the lock cannot be reached; empty if it can
	Changed     time.Time // Changed is when the desired state of the slot last changed
	// Rewritten means that the desired state changed since the grant got the slot.
	Rewritten      bool
	Confirmed      time.Time // Confirmed is when the lock reported that it holds the code; zero if it has not
	MayBeInstalled bool      // MayBeInstalled means that a bridge received a code, without proof that the lock holds it; false with proof
	Former         bool      // Former means that the lock may still hold the code from before the last change
	// BeyondLock means that the slot's number is higher than the number of slots that the lock has, as far as its bridge knows by now.
	BeyondLock bool
	// TakenOver means that another reservation now has this private door, so that the code is removed at once: see [takesOver].
	TakenOver bool
}

// currentDoorID returns the door that the code opens now: the door of its lock, which may have been moved. For a removed code, or if the
// lock is on no door, it is the door that the code was for.
func (h SlotCode) currentDoorID() string {
	if h.LockDoorID == "" || h.Evidence == slot.Removed {
		return h.DoorID
	}
	return h.LockDoorID
}

// mayStillOpen reports whether the code is not desired any more, but its lock may still hold it.
func (h SlotCode) mayStillOpen() bool { return !h.Present && h.Evidence != slot.Removed }

// isInstalled reports whether evidence proves that the lock holds the code: Accepted, Verified or Used.
func isInstalled(e slot.Evidence) bool {
	return e == slot.Accepted || e == slot.Verified || e == slot.Used
}

// isProven reports whether the code is installed, by the best proof that its lock can give.
func (h SlotCode) isProven() bool {
	switch h.Evidence {
	case slot.Verified, slot.Used:
		return true
	case slot.Accepted:
		return !h.ReadBack
	}
	return false
}

// isUnusable reports whether the lock can never take a code in this slot: the slot holds a code that Latchkey did not set, or the lock
// refused the code because it has no such slot. In the second case the slots below must be known to exist: see BeyondLock.
func (h SlotCode) isUnusable() bool {
	if h.Evidence != slot.Failed {
		return false
	}
	return h.Result == string(slot.Occupied) || h.Result == string(slot.SlotsFull) && h.BeyondLock
}

// Action is what to do with a slot: Put, Change or Clear.
type Action string

const (
	Put    Action = "put"    // set a code in a free slot of the door's lock
	Change Action = "change" // change the window or PIN of a code, or restore a code that is being removed
	Clear  Action = "clear"  // remove the code
)

// Step is one action on one slot.
type Step struct {
	Action Action
	DoorID string
	SlotID string // SlotID is empty for Put, which takes any free slot
}

// Task is the input of [Reconcile].
type Task struct {
	Right  Right
	Placed bool // Placed is false only for a reservation without a space, which keeps its doors
	Doors  []Door
	Codes  []SlotCode
	// PINAt returns the id of the PIN for a door. It returns "" if none is possible; then the door's code is removed.
	PINAt func(doorID string) string
}

// Reconcile returns the steps after which the locks hold the codes that the holder should have. It compares states,
// not changes, so it may run at any time and any number of times.
//
// A room move adds the new codes before it removes the old ones: the old doors, with their gates, open until every
// new door except gates is proven to open, or until another reservation takes over the old door. A reservation
// without a space, for example if its new space is not mapped, keeps its doors until it has one. A move to a space
// without a lock does not wait.
func Reconcile(t Task) []Step {
	var steps []Step
	kept := map[string]bool{}
	arrived := t.Placed
	for _, d := range t.Doors {
		if !t.Right.Open || !d.takesCode() {
			continue
		}
		h, ok := t.codeAt(d)
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
	for _, h := range t.Codes {
		stays := t.Right.Open && !arrived && !h.TakenOver && !h.LockMoved && !h.isUnusable()
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

// codeAt returns the holder's code on the lock that a door has now, or false. It includes a code that is being removed: such a code is
// restored rather than set again, because a lock refuses the same PIN twice.
func (t Task) codeAt(d Door) (SlotCode, bool) {
	var back *SlotCode
	for i, h := range t.Codes {
		switch {
		case h.LockID != d.Lock.ID || h.DoorID != d.ID || h.isUnusable():
		case h.Present:
			return h, true
		case h.Evidence != slot.Removed:
			back = &t.Codes[i]
		}
	}
	if back == nil {
		return SlotCode{}, false
	}
	return *back, true
}

// isOutdated reports whether a code must be changed: it is being removed, or has another window or PIN than it should have.
func (t Task) isOutdated(h SlotCode) bool {
	return !h.Present || !h.Window.Same(t.Right.Window) || h.Later != t.Right.Later || h.PIN != t.PINAt(h.DoorID)
}

// doorByID returns the door with an id, or the zero value.
func doorByID(doors []Door, id string) Door {
	for _, d := range doors {
		if d.ID == id {
			return d
		}
	}
	return Door{}
}
