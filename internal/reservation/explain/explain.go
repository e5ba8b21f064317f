// Package explain says why the doors of a stay open, or do not: each door now, and the steps that led there, from the PMS's update
// to the keypad.
//
// [Explain] decides from values; [Load] gathers them with few, bounded queries. Every text may be shown to the guest: none
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
	"latchkey.dev/internal/message"
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
	MissingUntil     time.Time            // the events that were not loaded were stored until this time; zero: none
	Gaps             bool                 // events of more grants or locks were not loaded, whenever they were
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
	ReservationID string
	State         access.State
	Doors         []Verdict
	Steps         []Step
	Truncated     bool
	Forgotten     bool
	AsOf          time.Time
	CompleteAfter time.Time // of truncated steps: the steps after this time are complete, and there are no others; zero: unknown
	Text, Advice  message.Message
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
	Text      message.Message // for the guest; see [ForStaff]
	isOpening bool            // a door was opened, or an attempt refused
}

// Explain makes an explanation from facts.
func Explain(f Facts) Explanation {
	e := Explanation{ReservationID: f.ReservationID, State: f.State, AsOf: f.Now, Truncated: f.More, Forgotten: !f.Since.IsZero()}
	for _, d := range f.Plan.Doors {
		e.Doors = append(e.Doors, f.judge(d))
	}
	e.Steps = f.steps()
	e.truncate(f.MissingUntil)
	if f.Gaps {
		e.CompleteAfter = time.Time{}
	}
	for _, r := range f.Plan.Reasons {
		if slices.Contains(wholeStay, r) {
			e.Text, e.Advice = textOf(r), adviceOn(r)
			break
		}
	}
	return e
}

// truncate leaves out all but the last MaxSteps. Up to a time until which events are missing, it keeps the steps that are known: many
// events of one kind, such as wrong PINs, must not hide the others.
func (e *Explanation) truncate(missingUntil time.Time) {
	e.CompleteAfter = missingUntil
	if n := len(e.Steps) - MaxSteps; n > 0 {
		cut := e.Steps[n-1].At
		e.Truncated, e.CompleteAfter = true, latest(missingUntil, cut)
		e.Steps = slices.DeleteFunc(e.Steps, func(s Step) bool { return !s.At.After(cut) })
	}
}

// steps returns the timeline by time; steps at the same time keep the order in which their events were stored.
func (f Facts) steps() []Step {
	out := []Step{{At: f.Created, Actor: PMS, Kind: "bookingReceived", Text: stepText("bookingReceived")}}
	if !f.Since.IsZero() {
		out = append(out, Step{At: f.Since, Actor: Latchkey, Kind: "earlierForgotten", Text: stepText("earlierForgotten")})
	}
	changed, t := f.Created, newStepBuilder(f)
	for _, h := range f.Events {
		if h.Kind == event.ReservationChanged && h.At.After(changed) {
			changed = h.At
		}
		out = append(out, t.next(h)...)
	}
	if f.Updated.After(changed) {
		last := Step{At: f.Updated, Actor: PMS, Kind: "bookingChanged", Text: stepText("bookingChanged")}
		if f.ByDays {
			last.Actor, last.Text = Latchkey, stepText("bookingChangedByDays")
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
		return []Step{{At: h.At, Actor: Latchkey, Kind: "codeMade", Text: stepText("codeMade")}}
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
	add := func(kind string) { out = append(out, Step{At: h.At, Actor: PMS, Kind: kind, Text: stepText(kind)}) }
	if slices.Contains(h.Changed, reservation.ChangedState) {
		kind := stateSteps[h.State]
		if h.State == access.Confirmed && h.StateBefore == access.Started {
			kind = "checkInTakenBack"
		}
		add(cmp.Or(kind, "stateChanged"))
	}
	if h.StateBefore == "" {
		return out // the dates and room of a new booking are no change
	}
	if slices.Contains(h.Changed, reservation.ChangedDates) {
		add("datesChanged")
	}
	if slices.Contains(h.Changed, reservation.ChangedSpace) {
		add("roomChanged")
	}
	return out
}

// planned returns the step of an access plan.
func planned(h Event) Step {
	kind := planSteps[h.Kind]
	s := Step{At: h.At, Actor: Latchkey, Kind: kind, Evidence: h.Evidence, Reason: h.Reason, Text: stepText(kind)}
	if h.Kind == event.AccessFailed {
		why := textOf(h.Reason)
		if why.Kind == "" {
			why.Kind = "reason.other"
		}
		s.Text.Params = message.Params{"why": why}
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
		out = append(out, t.f.at(at, Latchkey, "lockOffline"))
	}
	return out
}

// evidence returns the step of new evidence for a code on a lock.
func (f Facts) evidence(h Event) []Step {
	w, ok := evidenceSteps[h.Evidence]
	if !ok || !h.OfStay {
		return nil
	}
	s := f.at(h, w.actor, w.kind)
	s.Text = evidenceText(w.kind, s.DoorName, h.FormerLock, h.FormerCode)
	if h.FormerLock || h.FormerCode { // it does not concern the door
		s.Kind, s.Evidence = "former"+capitalize(w.kind), ""
	}
	return []Step{s}
}

// at returns a step at a door.
func (f Facts) at(h Event, who Actor, kind string) Step {
	name := f.Doors[h.DoorID].Name
	return Step{At: h.At, Actor: who, Kind: kind, DoorID: h.DoorID, DoorName: name, Evidence: h.Evidence, Reason: h.Reason,
		Text: message.Message{Kind: "step." + kind, Params: message.Params{"door": doorParam(name)}}}
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
		return []Step{t.f.at(h, linkActor(h.Reason), "lockOffline")}
	}
	return []Step{t.f.at(h, Bridge, "lockOnline")}
}

// atDoor returns the step of an opening or refusal at a door. Those without a code or phone of the stay are shown only at doors
// that the stay has for itself, while it has them.
func (t *stepBuilder) atDoor(h Event) (Step, bool) {
	f := t.f
	near := t.spans.include(h) && slices.Contains(t.accessible, h.DoorID) && f.Doors[h.DoorID].Private
	switch {
	case h.Kind == event.DoorOpened && h.OfStay && h.SmartKey:
		return f.at(h, Guest, "doorOpenedByPhone"), true
	case h.Kind == event.DoorDenied && h.OfStay && h.SmartKey:
		return f.at(h, Bridge, "phoneDenied"), true
	case h.Kind == event.DoorDenied && !h.OfOtherStay && near && h.SmartKey:
		return f.at(h, Bridge, "otherPhoneDenied"), true
	case h.SmartKey:
		return Step{}, false
	case h.Kind == event.DoorOpened && h.OfStay:
		h.Evidence = slot.Used
		s := f.at(h, Guest, "doorOpened")
		s.Text.Params["proof"] = nil
		if h.proves {
			s.Text.Params["proof"] = stepText("proof")
		}
		return s, true
	case h.Kind == event.DoorOpened && h.Staff && near:
		return f.at(h, Staff, "doorOpenedByStaff"), true
	case h.Kind == event.DoorDenied && h.OfStay:
		return f.at(h, Lock, "doorDenied"), true
	case h.Kind == event.DoorDenied && !h.OfOtherStay && near:
		return f.at(h, Lock, "otherCodeDenied"), true
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
