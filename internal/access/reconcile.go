package access

import (
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
	Private  bool // held by one party at a time
	Inactive bool
	Lock     *Lock
}

// Lock is what the decision needs to know of a lock.
type Lock struct {
	ID       string
	Bridge   fault.Reason // why its bridge cannot reach it for ever: revoked; empty otherwise
	Online   bool
	ReadBack bool // what it holds can be read
	PIN      pin.Rules
}

// Held is a code of the stay on a lock: wanted there, or on its way out.
type Held struct {
	SlotID   string
	LockID   string
	DoorID   string
	Present  bool // shall be there
	Window   Window
	PIN      string // the id of its PIN
	Evidence slot.Evidence
	Result   string // of the lock's last answer
	ReadBack bool   // of its lock
	// Another stay has been given access to this private door.
	TakenOver bool
}

// known says whether a code is there as surely as its lock can tell.
func (h Held) known() bool {
	switch h.Evidence {
	case slot.Verified, slot.Used:
		return true
	case slot.Accepted:
		return !h.ReadBack
	}
	return false
}

// Verb is what to do with a slot.
type Verb string

// What can be done with a slot.
const (
	Put    Verb = "put"    // a code into a fresh slot of the door's lock
	Change Verb = "change" // window or PIN of a code that is there
	Clear  Verb = "clear"  // the code goes
)

// Step is one thing to do.
type Step struct {
	Verb   Verb
	DoorID string
	SlotID string // of Change and Clear
}

// wanted says whether a stay with a right to enter gets a code on this door.
func (d Door) wanted() bool { return d.Lock != nil && !d.Inactive && d.Lock.Bridge == "" }

// Reconcile says what to do so that the locks of a stay come to hold what its right asks for. It looks at levels, not at
// changes, so it may run at any time and as often as one likes.
//
// A room move makes before it breaks: the door that is left stays open until every door of the new place is known to
// open, or until the left door is given to another stay. pinOf names the PIN a door shall have.
func Reconcile(right Right, doors []Door, held []Held, pinOf func(doorID string) string) []Step {
	want := map[string]Door{}
	if right.Open {
		for _, d := range doors {
			if d.wanted() {
				want[d.ID] = d
			}
		}
	}
	var steps []Step
	have := map[string]bool{}
	arrived := true
	for _, h := range held {
		if !h.Present {
			continue
		}
		d, ok := want[h.DoorID]
		if !ok || d.Lock.ID != h.LockID {
			continue
		}
		have[h.DoorID] = true
		switch {
		case !h.Window.Same(right.Window) || h.PIN != pinOf(h.DoorID):
			steps = append(steps, Step{Change, h.DoorID, h.SlotID})
			arrived = arrived && d.Kind == Gate
		case d.Kind != Gate:
			arrived = arrived && h.known()
		}
	}
	for _, d := range doors {
		if _, ok := want[d.ID]; !ok || have[d.ID] {
			continue
		}
		if d.Kind != Gate {
			arrived = false
		}
		steps = append(steps, Step{Verb: Put, DoorID: d.ID})
	}
	for _, h := range held {
		if !h.Present {
			continue
		}
		if d, ok := want[h.DoorID]; ok && d.Lock.ID == h.LockID {
			continue
		}
		if right.Open && !arrived && !h.TakenOver && !gate(doors, h.DoorID) {
			continue
		}
		steps = append(steps, Step{Clear, h.DoorID, h.SlotID})
	}
	return steps
}

func gate(doors []Door, id string) bool {
	for _, d := range doors {
		if d.ID == id {
			return d.Kind == Gate
		}
	}
	return false
}
