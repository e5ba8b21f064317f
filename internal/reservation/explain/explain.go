// Package explain says why the doors of a stay open, or do not: each door now, and what led there, step by step, from the
// PMS's update to the keypad.
//
// [Tell] decides from values; [Load] gathers them with few, bounded queries. Every sentence may be shown to the guest:
// none holds a PIN, or anything about somebody else.
package explain

import (
	"cmp"
	"slices"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
)

// MostSteps bounds a timeline: the latest are told.
const MaxSteps = 200

// Facts are what an explanation is made of.
type Facts struct {
	Now              time.Time
	ReservationID    string
	State            access.State
	Created, Updated time.Time // of the reservation
	ByDays           bool      // as the PMS gave it: the property's hours change it too
	Plan             access.Plan
	Doors            map[string]Door      // what is known of doors beside the plan, by id
	Events           []Event              // in the order they were stored
	Granted          map[string]time.Time // when each access of the stay was made, by id
	More             bool                 // there are older happenings, which were not loaded
	Since            time.Time            // there were older happenings than of then, which were swept away; zero: all are kept
}

// Door is what is known of a door and its lock beside the plan.
type Door struct {
	Name     string
	Private  bool // one party at a time holds it
	Locked   bool // a lock is on it
	Online   bool // its lock can be reached
	ReadBack bool // what its lock holds can be read
	Jammed   bool
}

// Happening is one event about the stay, or about a lock of its doors.
type Event struct {
	At          time.Time // by the clock of who noticed it
	Stored      time.Time // by the server's clock; zero: not known
	Kind        event.Kind
	DoorID      string // of then
	LockID      string
	OfStay      bool // it is about this stay's own code, or a phone of the stay
	OfOtherStay bool // it is about the code, or a phone, of another stay
	Staff       bool // staff did it
	SmartKey    bool // of a door: it is about a SmartKey, and no code
	// Of a change by the PMS.
	Changed            []string
	State, StateBefore access.State
	GrantID            string // of the stay's access that it is about; empty: not known
	// Of evidence, and of a plan: the worst word of its doors.
	Evidence slot.Evidence
	// Of evidence: the lock had left the door, or the stay had another access by then. It says nothing about the door.
	FormerLock, FormerCode bool
	Reason                 string
	Expected               []string      // of a plan: the doors whose lock has a code of the stay, or shall get one
	Accessible             []string      // of a plan: the doors that the stay has a right to, and is not leaving
	Unreachable            []string      // of a plan: the doors whose lock could not be reached then
	Pause                  time.Duration // of event.KeypadPaused

	proves bool // of an opening: it is the first proof that the lock has the code
}

// Explanation says why.
type Explanation struct {
	ReservationID    string
	State            access.State
	Doors            []Verdict
	Steps            []Step
	Truncated        bool
	Forgotten        bool
	AsOf             time.Time
	Sentence, Advice string
}

// Actor is who did something.
type Actor string

// The actors.
const (
	PMS      Actor = "pms"
	Latchkey Actor = "latchkey"
	Bridge   Actor = "bridge"
	Lock     Actor = "lock"
	Guest    Actor = "guest"
	Staff    Actor = "staff"
)

// Step is one thing that happened.
type Step struct {
	At        time.Time
	Actor     Actor
	Kind      string
	DoorID    string
	DoorName  string
	Evidence  slot.Evidence
	Reason    string
	Sentence  string
	isOpening bool // a door was opened, or somebody tried to
}

// Tell explains.
func Explain(f Facts) Explanation {
	e := Explanation{ReservationID: f.ReservationID, State: f.State, AsOf: f.Now, Truncated: f.More, Forgotten: !f.Since.IsZero()}
	for _, d := range f.Plan.Doors {
		e.Doors = append(e.Doors, f.judge(d))
	}
	e.Steps = f.steps()
	if n := len(e.Steps) - MaxSteps; n > 0 {
		e.Steps, e.Truncated = e.Steps[n:], true
	}
	for _, r := range f.Plan.Reasons {
		if w := reasonTexts[string(r)]; w.whole {
			e.Sentence, e.Advice = w.guest, w.staff
			break
		}
	}
	return e
}

// steps are all that happened, by time; what happened at one time, in the order it was stored.
func (f Facts) steps() []Step {
	out := []Step{{At: f.Created, Actor: PMS, Kind: "bookingReceived", Sentence: "The hotel's system announced your stay."}}
	if !f.Since.IsZero() {
		out = append(out, Step{At: f.Since, Actor: Latchkey, Kind: "earlierForgotten", Sentence: "What happened before this is no longer kept."})
	}
	changed, t := f.Created, newStepBuilder(f)
	for _, h := range f.Events {
		if h.Kind == event.ReservationChanged && h.At.After(changed) {
			changed = h.At
		}
		out = append(out, t.next(h)...)
	}
	if f.Updated.After(changed) {
		last := Step{At: f.Updated, Actor: PMS, Kind: "bookingChanged", Sentence: "The hotel's system last changed the booking."}
		if f.ByDays {
			last.Actor, last.Sentence = Latchkey, "The booking was last changed, by the hotel's system or with the hotel's hours."
		}
		out = append(out, last)
	}
	slices.SortStableFunc(out, func(a, b Step) int { return a.At.Compare(b.At) })
	return withoutRepeats(out)
}

// whole says that no older happening is missing.
func (f Facts) isComplete() bool { return !f.More && f.Since.IsZero() }

// teller turns happenings into steps, one after the other in stored order. The steps of a happening depend only on what was
// stored before it. So whatever is stored later adds steps, and neither changes nor withdraws any.
type stepBuilder struct {
	f                Facts
	clocks           clocks
	proven           provenCodes
	spans            periods
	unreachableDoors map[string]bool // doors whose lock is said to be out of reach
	pauses           []Event         // pauses of keypads that have no step yet
	accessible       []string        // the doors that the stay has, by its last plan, and is not leaving
}

func newStepBuilder(f Facts) *stepBuilder {
	return &stepBuilder{f: f, clocks: newClocks(f.Granted), proven: provenCodes{}, spans: periods{}, unreachableDoors: map[string]bool{}}
}

// next returns the steps that the next happening adds.
func (t *stepBuilder) next(h Event) []Step {
	h.At = t.clocks.correct(h)
	steps := t.stepsOf(h)
	if h.Kind == event.KeypadPaused {
		t.pauses = append(t.pauses, h)
	}
	return append(steps, t.pauseSteps()...)
}

// stepsOf returns the steps of one happening by itself.
func (t *stepBuilder) stepsOf(h Event) []Step {
	h.proves = t.proven.firstProvenByUse(h) && t.f.isComplete()
	if t.spans.add(h) && h.Kind == event.CredentialChanged {
		t.unreachableDoors[h.DoorID] = t.unreachableDoors[h.DoorID] && h.Evidence != slot.Accepted && h.Evidence != slot.Verified
	}
	switch h.Kind {
	case event.ReservationChanged:
		if h.endsStay() {
			t.accessible = nil
		}
		return changes(h)
	case event.PINGenerated:
		return []Step{{At: h.At, Actor: Latchkey, Kind: "codeMade", Sentence: "A code was made for your stay."}}
	case event.AccessIssued, event.AccessUpdated, event.AccessRemoved, event.AccessFailed:
		t.accessible = h.Accessible
		return append([]Step{planned(h)}, t.unreachable(h)...)
	case event.CredentialChanged:
		return t.f.evidence(h)
	case event.LockOffline, event.LockOnline:
		return t.link(h)
	case event.DoorOpened, event.DoorDenied:
		if s, ok := t.atDoor(h); ok {
			s.isOpening = true
			return []Step{s}
		}
	}
	return nil
}

// changes are the steps of one change by the PMS: one for each thing that access depends on.
func changes(h Event) []Step {
	var out []Step
	add := func(kind, sentence string) {
		out = append(out, Step{At: h.At, Actor: PMS, Kind: kind, Sentence: sentence})
	}
	if slices.Contains(h.Changed, reservation.ChangedState) {
		w := stateSteps[h.State]
		if h.State == access.Confirmed && h.StateBefore == access.Started {
			w = [2]string{"checkInTakenBack", "Your check-in was taken back."}
		}
		add(cmp.Or(w[0], "stateChanged"), cmp.Or(w[1], "The hotel's system changed the state of your stay."))
	}
	if h.StateBefore == "" {
		return out // it came with the booking: its dates and room are no change
	}
	if slices.Contains(h.Changed, reservation.ChangedDates) {
		add("datesChanged", "The dates of your stay were changed.")
	}
	if slices.Contains(h.Changed, reservation.ChangedSpace) {
		add("roomChanged", "You were given another room.")
	}
	return out
}

// planned is the step of an access plan.
func planned(h Event) Step {
	w := planSteps[h.Kind]
	s := Step{At: h.At, Actor: Latchkey, Kind: w[0], Evidence: h.Evidence, Reason: h.Reason, Sentence: w[1]}
	if more := reasonTexts[h.Reason].guest; h.Kind == event.AccessFailed && more != "" {
		s.Sentence = more
	}
	return s
}

// waiting are the steps of doors whose lock could not be reached when a plan was made.
func (t *stepBuilder) unreachable(h Event) []Step {
	var out []Step
	for _, doorID := range h.Unreachable {
		if t.unreachableDoors[doorID] {
			continue
		}
		t.unreachableDoors[doorID] = true
		at := Event{At: h.At, DoorID: doorID, Reason: string(fault.LockOffline)}
		out = append(out, t.f.at(at, Latchkey, "lockOffline", "The lock of % could not be reached."))
	}
	return out
}

// evidence is the step of what became known of a code on a lock.
func (f Facts) evidence(h Event) []Step {
	w, ok := evidenceSteps[h.Evidence]
	if !ok || !h.OfStay {
		return nil
	}
	if h.FormerLock || h.FormerCode {
		w = w.former(h.FormerLock, h.FormerCode)
		h.Evidence = ""
	}
	return []Step{f.at(h, w.actor, w.kind, w.sentence)}
}

// at is a step at a door; the sentence speaks of it as "%".
func (f Facts) at(h Event, who Actor, kind, sentence string) Step {
	name := f.Doors[h.DoorID].Name
	return Step{At: h.At, Actor: who, Kind: kind, DoorID: h.DoorID, DoorName: name, Evidence: h.Evidence, Reason: h.Reason, Sentence: about(sentence, name)}
}

// link is the step of a lock that was lost or is back, while the stay had a code on it: each once, and a return only after a
// loss.
func (t *stepBuilder) link(h Event) []Step {
	lost := h.Kind == event.LockOffline
	if !t.spans.include(h) || t.unreachableDoors[h.DoorID] == lost {
		return nil
	}
	t.unreachableDoors[h.DoorID] = lost
	if lost {
		return []Step{t.f.at(h, linkActor(h.Reason), "lockOffline", "The lock of % could not be reached.")}
	}
	return []Step{t.f.at(h, Bridge, "lockOnline", "The lock of % can be reached again.")}
}

// atDoor is the step of what happened at a door. Of what has nothing to do with the stay's code or phones only that is told
// which happened at a door that the stay has for itself, and while it had it.
func (t *stepBuilder) atDoor(h Event) (Step, bool) {
	f := t.f
	near := t.spans.include(h) && slices.Contains(t.accessible, h.DoorID) && f.Doors[h.DoorID].Private
	switch {
	case h.Kind == event.DoorOpened && h.OfStay && h.SmartKey:
		return f.at(h, Guest, "doorOpenedByPhone", "% was opened with a phone of your stay."), true
	case h.Kind == event.DoorDenied && h.OfStay && h.SmartKey:
		return f.at(h, Bridge, "phoneDenied", "% did not open to a phone of your stay."), true
	case h.Kind == event.DoorDenied && !h.OfOtherStay && near && h.SmartKey:
		return f.at(h, Bridge, "otherPhoneDenied", "A phone that is not of your stay was shown at %, and refused."), true
	case h.SmartKey:
		return Step{}, false
	case h.Kind == event.DoorOpened && h.OfStay:
		sentence := "% was opened with your code."
		if h.proves {
			sentence += " This is how it became known that the lock has it."
		}
		h.Evidence = slot.Used
		return f.at(h, Guest, "doorOpened", sentence), true
	case h.Kind == event.DoorOpened && h.Staff && near:
		return f.at(h, Staff, "doorOpenedByStaff", "Staff opened % from afar."), true
	case h.Kind == event.DoorDenied && h.OfStay:
		return f.at(h, Lock, "doorDenied", "The lock of % did not open with your code."), true
	case h.Kind == event.DoorDenied && !h.OfOtherStay && near:
		return f.at(h, Lock, "otherCodeDenied", "A code that is not yours was typed at %, and refused."), true
	}
	return Step{}, false
}

// linkActor is who said that a lock cannot be reached: the bridge of its lock, or we of the bridge.
func linkActor(reason string) Actor {
	if reason == string(fault.LockOffline) {
		return Bridge
	}
	return Latchkey
}
