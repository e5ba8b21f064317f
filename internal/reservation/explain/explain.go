// Package explain explains why the doors of a stay do or do not open: each door now, and the steps that led there, from
// the PMS's update to the keypad.
//
// [Explain] decides from values; [Load] gathers them with few, bounded queries. Every text may be shown to the guest:
// none contains a PIN or data of another person.
package explain

import (
	"cmp"
	"slices"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/text"
)

// MaxSteps bounds a timeline. Older steps are omitted.
const MaxSteps = 200

// Facts are everything on which the explanation of a reservation depends.
type Facts struct {
	Now              time.Time
	Zone             *time.Location // Zone is the property's time zone
	ReservationID    string
	State            access.State
	Created, Updated time.Time // Created and Updated are when the reservation was stored first and changed last
	ByDays           bool      // ByDays means that the PMS gave days, so that the property's hours also determine the dates
	Plan             access.Plan
	Doors            map[string]Door      // Doors has facts that are not in the plan, by door id, about planned and former doors
	Events           []Event              // Events are in the order in which they were stored
	Granted          map[string]time.Time // Granted has the creation time of each grant of the stay, by id
	More             bool                 // More means that older events exist that were not loaded
	MissingUntil     time.Time            // MissingUntil is the stored time until which events may not have been loaded; zero if all were
	Gaps             bool                 // Gaps means that events of some grants or locks were not loaded at all
	Since            time.Time            // Since is the time before which events were deleted; zero if none were
}

// Door has facts about a door and its lock that the plan does not contain.
type Door struct {
	Name     string
	Parent   string // Parent is the name of the dorm of a bed, or ""
	Private  bool   // Private means that one reservation at a time has the door
	Locked   bool   // Locked means that the door has a lock
	Online   bool   // Online means that the lock can be reached
	ReadBack bool   // ReadBack means that the slots of the lock can be read
	Jammed   bool
}

// fullName returns the name of the door for a text: that of a bed has its dorm.
func (d Door) fullName() string { return text.FullName(d.Parent, d.Name) }

// Event is a stored event in the form that [Explain] reads.
type Event struct {
	At          time.Time // At is the time by the clock of the device that reported the event
	Stored      time.Time // Stored is the time by the server's clock; zero if unknown
	Kind        event.Kind
	DoorID      string // DoorID is the door that the lock was on at the event
	LockID      string
	OfStay      bool      // OfStay means that the event is about a code or phone of this stay; false also if it is unknown whose it is
	OfOtherStay bool      // OfOtherStay means that the event is about a code or phone that is known and not of this stay
	Until       time.Time // Until is the new end in an event about an extension
	Staff       bool      // Staff means that a staff member caused the event
	SmartKey    bool      // SmartKey means that the event is about a SmartKey, not a code
	// Changed has the changed parts in an event about a change by the PMS.
	Changed            []string
	State, StateBefore access.State
	GrantID            string // GrantID is the grant of the stay; empty if unknown
	// Evidence is the new evidence in an event about evidence; empty in other events.
	Evidence slot.Evidence
	// FormerLock and FormerCode are set in an event about evidence that no longer concerns the door: the lock had
	// left the door, or the stay had another grant by then.
	FormerLock, FormerCode bool
	Reason                 access.Reason
	Expected               []string      // in an event about a plan: the doors whose lock has a code of the stay, or will get one
	Accessible             []string      // in an event about a plan: the doors that the stay may open, except those it moves out of
	Unreachable            []string      // in an event about a plan: the doors whose lock could not be reached
	Pause                  time.Duration // Pause is the duration in an event of the kind KeypadPaused

	proves bool // proves means that this opening is the first proof that the lock has the code
}

// Explanation is why each door of a reservation opens or not, and the timeline of the steps that led there.
type Explanation struct {
	ReservationID string
	Zone          *time.Location // Zone is the property's time zone, for times in texts
	State         access.State
	Doors         []Verdict
	Steps         []Step
	Truncated     bool          // Truncated means that older steps are left out, because there are too many events
	Forgotten     bool          // Forgotten means that older events were deleted, so that their steps are missing, also if Truncated is false
	AsOf          time.Time     // AsOf is when the explanation was made
	CompleteAfter time.Time     // CompleteAfter is the time after which no step of a truncated timeline is missing; zero if unknown
	Reason        access.Reason // Reason limits the access of the whole stay, empty if none does; Text and Advice are about it
	Text, Advice  message.Message
}

// Actor is the party that caused a step of the timeline.
type Actor string

const (
	PMS      Actor = "pms"
	Latchkey Actor = "latchkey"
	Bridge   Actor = "bridge"
	Lock     Actor = "lock"
	Guest    Actor = "guest"
	Staff    Actor = "staff"
)

// Step is one entry of the timeline: what happened, when, and who did it.
type Step struct {
	At        time.Time
	Actor     Actor
	Kind      string
	DoorID    string
	DoorName  string
	DoorDorm  string // DoorDorm is the name of the dorm of a bed, or ""
	Evidence  slot.Evidence
	Reason    access.Reason
	Text      message.Message // Text is the text for the guest; for staff see [ForStaff]
	isOpening bool            // isOpening means that a door was opened or an attempt refused
}

// Explain decides from loaded facts why each door of the stay opens or not, and which steps led there.
func Explain(f Facts) Explanation {
	e := Explanation{ReservationID: f.ReservationID, Zone: f.Zone, State: f.State, AsOf: f.Now, Truncated: f.More, Forgotten: !f.Since.IsZero()}
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
			e.Reason, e.Text, e.Advice = r, textOf(r), adviceOn(r)
			break
		}
	}
	return e
}

// truncate drops the oldest steps beyond MaxSteps, with all steps at the time of the last one that it drops, and sets CompleteAfter.
// missingUntil is Facts.MissingUntil. Steps before it stay although others are missing between them, because
// many loaded events of one kind, such as wrong PINs, must not hide the few others.
func (e *Explanation) truncate(missingUntil time.Time) {
	e.CompleteAfter = missingUntil
	if n := len(e.Steps) - MaxSteps; n > 0 {
		cut := e.Steps[n-1].At
		e.Truncated, e.CompleteAfter = true, clock.Later(missingUntil, cut)
		e.Steps = slices.DeleteFunc(e.Steps, func(s Step) bool { return !s.At.After(cut) })
	}
}

// steps returns the timeline of the stay, ordered by time and without repeated steps. Steps at the same time keep the order in which their
// events were stored.
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

// isComplete reports whether all events of the stay were loaded, and none was deleted before.
func (f Facts) isComplete() bool { return !f.More && f.Since.IsZero() }

// stepBuilder converts events to steps in stored order. The steps of an event depend only on earlier stored events,
// so later events only add steps.
type stepBuilder struct {
	f                Facts
	clocks           clocks
	proven           provenCodes
	spans            periods
	unreachableDoors map[string]bool // unreachableDoors has true for a door whose lock is unreachable by the latest event
	pauses           []Event         // pauses are the keypad pauses that have no step yet
	accessible       []string        // accessible are the doors that the stay may open by its last plan, except those it moves out of
}

// newStepBuilder returns a builder for the timeline of the stay, before its first event.
func newStepBuilder(f Facts) *stepBuilder {
	return &stepBuilder{f: f, clocks: newClocks(f.Granted), proven: provenCodes{}, spans: periods{}, unreachableDoors: map[string]bool{}}
}

// next applies the next event in stored order and returns the steps that follow, including those of earlier keypad pauses that now concern
// the stay.
func (t *stepBuilder) next(h Event) []Step {
	h.At = t.clocks.correct(h)
	steps := t.stepsOf(h)
	if h.Kind == event.KeypadPaused {
		t.pauses = append(t.pauses, h)
	}
	return append(steps, t.pauseSteps()...)
}

// stepsOf applies one event to the state of the builder and returns its steps, without those of keypad pauses.
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
	case event.AccessExtended:
		text := stepText("accessExtended")
		text.Params = message.Params{"until": h.Until}
		return []Step{{At: h.At, Actor: Staff, Kind: "accessExtended", Text: text}}
	case event.PINRead:
		return []Step{{At: h.At, Actor: Staff, Kind: "codeRead", Text: stepText("codeRead")}}
	case event.PINReplaced:
		return []Step{{At: h.At, Actor: Staff, Kind: "codeReplaced", Text: stepText("codeReplaced")}}
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

// changes returns the steps of a change by the PMS: one for each part that access depends on. A new booking has at most the step of its
// state.
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
		return out // a new booking is one step: its dates and room are not changes
	}
	if slices.Contains(h.Changed, reservation.ChangedDates) {
		add("datesChanged")
	}
	if slices.Contains(h.Changed, reservation.ChangedSpace) {
		add("roomChanged")
	}
	return out
}

// planned returns the step of an event about the access plan: access issued, updated, removed or failed.
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

// unreachable returns a step for each door whose lock could not be reached when the plan in the event was made, and marks the door as
// unreachable. It omits doors that are already marked.
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

// evidence returns the step for new evidence that a lock holds, or no longer holds, a code. It returns none for a code of another stay, or
// for evidence that evidenceSteps does not have.
func (f Facts) evidence(h Event) []Step {
	w, ok := evidenceSteps[h.Evidence]
	if !ok || !h.OfStay {
		return nil
	}
	s := f.at(h, w.actor, w.kind)
	s.Text = evidenceText(w.kind, f.Doors[h.DoorID].fullName(), h.FormerLock, h.FormerCode)
	if h.FormerLock || h.FormerCode { // the step is shown, but not as evidence for the door
		s.Kind, s.Evidence = "former"+text.Capitalize(w.kind), ""
	}
	return []Step{s}
}

// at returns a step at the event's time that names its door. who is the party that caused the step; kind selects its
// text.
func (f Facts) at(h Event, who Actor, kind string) Step {
	door := f.Doors[h.DoorID]
	return Step{At: h.At, Actor: who, Kind: kind, DoorID: h.DoorID, DoorName: door.Name, DoorDorm: door.Parent, Evidence: h.Evidence, Reason: h.Reason,
		Text: message.Message{Kind: "step." + kind, Params: message.Params{"door": doorParam(door.fullName())}}}
}

// link returns the step of a lock that went offline or came online while the stay had a code on it. Each
// disconnection is shown once, and a reconnection only after a disconnection.
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

// atDoor returns the step of an opened door or a refused attempt, or false if the timeline does not show it. An event
// without a code or phone of the stay is shown only if the stay had the door for itself at that time.
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

// linkActor returns the party that reported an unreachable lock: the lock's bridge, or Latchkey if the bridge itself
// is offline.
func linkActor(reason access.Reason) Actor {
	if reason == lock.LockOffline {
		return Bridge
	}
	return Latchkey
}
