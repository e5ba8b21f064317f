// Package explain says why the doors of a stay open, or do not: each door now, and the steps that led there, from the PMS's update
// to the keypad.
//
// [Explain] decides from values; [Load] gathers them with few, bounded queries. Every sentence may be shown to the guest: none
// contains a PIN or data of another person.
package explain

import (
	"cmp"
	"slices"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
)

// MaxSteps bounds a timeline to its latest steps.
const MaxSteps = 200

// Facts are the input of Explain.
type Facts struct {
	Now              time.Time
	ReservationID    string
	State            access.State
	Created, Updated time.Time // of the reservation
	ByDays           bool      // the PMS gave days, so the property's hours change the dates too
	Plan             access.Plan
	Doors            map[string]Door      // facts about doors that the plan does not have, by id
	Events           []Event              // in stored order
	Granted          map[string]time.Time // when each grant of the stay was created, by id
	More             bool                 // there are older events, which were not loaded
	Since            time.Time            // events before this time were deleted; zero: none were
}

// Door has the facts about a door and its lock that the plan does not have.
type Door struct {
	Name     string
	Private  bool // one party at a time holds it
	Locked   bool // a lock is on it
	Online   bool // its lock can be reached
	ReadBack bool // what its lock holds can be read
	Jammed   bool
}

// Event is an event about the stay, or about a lock of its doors.
type Event struct {
	At          time.Time // by the clock of the device that reported it
	Stored      time.Time // by the server's clock; zero: unknown
	Kind        event.Kind
	DoorID      string // of then
	LockID      string
	OfStay      bool // it is about a code or phone of this stay
	OfOtherStay bool // it is about a code or phone of another stay
	Staff       bool // a staff member did it
	SmartKey    bool // it is about a SmartKey, not a code
	// Of a change by the PMS.
	Changed            []string
	State, StateBefore access.State
	GrantID            string // the grant of the stay; empty: unknown
	// Of evidence, and of a plan: the worst evidence of its doors.
	Evidence slot.Evidence
	// Of evidence: the lock had left the door, or the stay had another grant by then. It does not concern the door.
	FormerLock, FormerCode bool
	Reason                 string
	Expected               []string      // of a plan: the doors whose lock has a code of the stay, or will get one
	Accessible             []string      // of a plan: the doors that the stay may open and is not leaving
	Unreachable            []string      // of a plan: the doors whose lock could not be reached
	Pause                  time.Duration // of event.KeypadPaused

	proves bool // of an opening: the first proof that the lock has the code
}

// Explanation is the answer: each door now, and the timeline.
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

// Actor is the party that caused a step.
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

// Step is one entry of the timeline.
type Step struct {
	At        time.Time
	Actor     Actor
	Kind      string
	DoorID    string
	DoorName  string
	Evidence  slot.Evidence
	Reason    string
	Sentence  string
	isOpening bool // a door was opened, or an attempt refused
}

// Explain makes an explanation from facts.
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
		if w := reasonTexts[r]; w.whole {
			e.Sentence, e.Advice = w.guest, w.staff
			break
		}
	}
	return e
}

// steps returns the timeline by time; steps at the same time keep the order in which their events were stored.
func (f Facts) steps() []Step {
	out := []Step{{At: f.Created, Actor: PMS, Kind: "bookingReceived", Sentence: "The hotel's system announced your stay."}}
	if !f.Since.IsZero() {
		out = append(out, Step{At: f.Since, Actor: Latchkey, Kind: "earlierForgotten", Sentence: "Earlier steps are no longer kept."})
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

// isComplete reports whether no older event is missing.
func (f Facts) isComplete() bool { return !f.More && f.Since.IsZero() }

// stepBuilder turns events into steps in stored order. The steps of an event depend only on events stored before it, so later
// events add steps but neither change nor remove any.
type stepBuilder struct {
	f                Facts
	clocks           clocks
	proven           provenCodes
	spans            periods
	unreachableDoors map[string]bool // doors whose lock was reported unreachable
	pauses           []Event         // pauses of keypads that have no step yet
	accessible       []string        // the doors that the stay may open and is not leaving, by its last plan
}

func newStepBuilder(f Facts) *stepBuilder {
	return &stepBuilder{f: f, clocks: newClocks(f.Granted), proven: provenCodes{}, spans: periods{}, unreachableDoors: map[string]bool{}}
}

// next returns the steps of the next event.
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

// changes returns the steps of one change by the PMS: one for each part that access depends on.
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
		return out // the dates and room of a new booking are no change
	}
	if slices.Contains(h.Changed, reservation.ChangedDates) {
		add("datesChanged", "The dates of your stay were changed.")
	}
	if slices.Contains(h.Changed, reservation.ChangedSpace) {
		add("roomChanged", "You were given another room.")
	}
	return out
}

// planned returns the step of an access plan.
func planned(h Event) Step {
	w := planSteps[h.Kind]
	s := Step{At: h.At, Actor: Latchkey, Kind: w[0], Evidence: h.Evidence, Reason: h.Reason, Sentence: w[1]}
	if more := reasonTexts[h.Reason].guest; h.Kind == event.AccessFailed && more != "" {
		s.Sentence = more
	}
	return s
}

// unreachable returns the steps of doors whose lock could not be reached when a plan was made.
func (t *stepBuilder) unreachable(h Event) []Step {
	var out []Step
	for _, doorID := range h.Unreachable {
		if t.unreachableDoors[doorID] {
			continue
		}
		t.unreachableDoors[doorID] = true
		at := Event{At: h.At, DoorID: doorID, Reason: lock.LockOffline}
		out = append(out, t.f.at(at, Latchkey, "lockOffline", "The lock of % could not be reached."))
	}
	return out
}

// evidence returns the step of new evidence for a code on a lock.
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

// at returns a step at a door. "%" in the sentence stands for the door.
func (f Facts) at(h Event, who Actor, kind, sentence string) Step {
	name := f.Doors[h.DoorID].Name
	return Step{At: h.At, Actor: who, Kind: kind, DoorID: h.DoorID, DoorName: name, Evidence: h.Evidence, Reason: h.Reason, Sentence: about(sentence, name)}
}

// link returns the step of a lock that became unreachable or reachable while the stay had a code on it: each loss once, and a
// return only after a loss.
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

// atDoor returns the step of an opening or refusal at a door. Those without a code or phone of the stay are shown only at doors
// that the stay has for itself, while it has them.
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

// linkActor returns the party that reported an unreachable lock: its bridge, or Latchkey about the bridge.
func linkActor(reason string) Actor {
	if reason == lock.LockOffline {
		return Bridge
	}
	return Latchkey
}
