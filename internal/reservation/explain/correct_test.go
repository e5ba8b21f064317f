package explain

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/reservation"
)

// with changes a happening.
func with(h Event, change func(*Event)) Event {
	change(&h)
	return h
}

func TestTimesOfOpenings(t *testing.T) {
	issued := Event{At: at(1), Kind: event.AccessIssued}
	out := Event{At: at(40), Kind: event.ReservationChanged, Changed: []string{reservation.ChangedState}, State: access.Processed, StateBefore: access.Started}
	checkedOut := func(happenings ...Event) Facts {
		f := stay(happenings...)
		f.State, f.Updated = access.Processed, at(40)
		return f
	}
	for _, tt := range []struct {
		name  string
		facts Facts
		want  []string
	}{
		{
			"the answers of the bridge were lost: what became known by the removal moves no opening",
			checkedOut(issued, opened(10, room), opened(11, room), out, evidence(41, room, slot.Removed)),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "10 guest doorOpened Room 1", "11 guest doorOpened Room 1", "40 pms checkedOut", "41 lock codeRemoved Room 1"},
		},
		{
			"neither does what was stored before it and happened after it",
			stay(issued, evidence(12, room, slot.Verified), opened(11, room)),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "11 guest doorOpened Room 1", "12 lock codeVerified Room 1"},
		},
		{
			"a clock on site that is ahead: nothing happens after it was stored",
			stay(issued, evidence(2, room, slot.Verified), with(opened(14, room), func(h *Event) { h.Stored = at(10) }),
				Event{At: at(12), Kind: event.LockOffline, DoorID: room, LockID: "lck_of_" + room, Reason: "disconnected"}),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "2 lock codeVerified Room 1", "10 guest doorOpened Room 1", "12 latchkey lockOffline Room 1"},
		},
		{
			"a clock on site that is behind: nothing opens to an access that was not made",
			stay(issued, opened(-30, room), evidence(50, room, slot.Verified)),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "1 guest doorOpened Room 1", "50 lock codeVerified Room 1"},
		},
		{
			"the same of a phone",
			stay(issued, with(opened(-30, room), func(h *Event) { h.SmartKey = true })),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "1 guest doorOpenedByPhone Room 1"},
		},
		{
			"two locks of one door have two clocks: neither moves the other",
			stay(issued, evidence(20, room, slot.Verified), with(evidence(5, room, slot.Sent), func(h *Event) { h.LockID = "lck_next" })),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "5 bridge codeSent Room 1", "20 lock codeVerified Room 1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, kinds(Explain(tt.facts))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A code of which nothing was known until its door opened with it: the first opening says so, and no other.
func TestFirstProofOfACode(t *testing.T) {
	const proof = "proves that the lock has the code"
	proofs := func(f Facts) (out []bool) {
		for _, s := range Explain(f).Steps {
			if s.Kind == "doorOpened" {
				out = append(out, strings.Contains(english(s.Text), proof))
			}
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		facts Facts
		want  []bool
	}{
		{"nothing was known", stay(opened(5, room), opened(6, room), opened(7, gate)), []bool{true, false, true}},
		{"it was on its way", stay(evidence(2, room, slot.Sent), opened(5, room)), []bool{true}},
		{"the lock had taken it", stay(evidence(2, room, slot.Accepted), opened(5, room)), []bool{false}},
		{"the lock had it before, and the answer was lost after a removal", stay(evidence(2, room, slot.Verified), evidence(3, room, slot.Removed), opened(5, room)), []bool{true}},
		{"older steps are gone", func() Facts { f := stay(opened(5, room)); f.Since = at(3); return f }(), []bool{false}},
	} {
		if diff := cmp.Diff(tt.want, proofs(tt.facts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// What is known of a lock that the door had before, or of an access that the stay had before, is no evidence of the door.
func TestFormerLocksAndGrants(t *testing.T) {
	gone := evidence(9, room, slot.Removed)
	for _, tt := range []struct {
		name           string
		of             Event
		kind, sentence string
		evidence       slot.Evidence
	}{
		{"the lock of the door", gone, "codeRemoved", "Your code is gone from the lock of Room 1.", slot.Removed},
		{"a former lock", with(gone, func(h *Event) { h.FormerLock = true }), "formerCodeRemoved", "Your code is gone from the lock that Room 1 had before.", ""},
		{"a former access", with(gone, func(h *Event) { h.FormerCode = true }), "formerCodeRemoved", "Your earlier code is gone from the lock of Room 1.", ""},
		{
			"both", with(evidence(9, room, slot.Unconfirmed), func(h *Event) { h.FormerLock, h.FormerCode = true, true }),
			"formerCodeUnconfirmed", "Whether the lock that Room 1 had before has your earlier code is not known.", "",
		},
	} {
		steps := Explain(stay(evidence(2, room, slot.Verified), tt.of)).Steps
		s := steps[len(steps)-1]
		if s.Kind != tt.kind || english(s.Text) != tt.sentence || s.Evidence != tt.evidence {
			t.Errorf("%s: %s %q %q", tt.name, s.Kind, s.Evidence, english(s.Text))
		}
	}
	// Events at the door are still steps, because the code of the present grant is there.
	x := stay(evidence(2, room, slot.Verified), with(gone, func(h *Event) { h.FormerCode = true }),
		Event{At: at(20), Kind: event.LockOffline, DoorID: room, LockID: "lck_of_" + room, Reason: "lockOffline"})
	if all := kinds(Explain(x)); all[len(all)-1] != "20 bridge lockOffline Room 1" {
		t.Errorf("after an earlier code is gone: %v", all)
	}
}

func TestNoStepIsRepeated(t *testing.T) {
	updated := Event{At: at(5), Kind: event.AccessUpdated}
	removed := with(evidence(6, room, slot.Removed), func(h *Event) { h.FormerCode = true })
	other := with(removed, func(h *Event) { h.GrantID = "gra_0" })
	f := stay(updated, updated, removed, other, evidence(7, room, slot.Verified), opened(9, room), opened(9, room))
	want := []string{
		"0 pms bookingReceived", "5 latchkey accessUpdated", "6 lock formerCodeRemoved Room 1", "7 lock codeVerified Room 1",
		"9 guest doorOpened Room 1", "9 guest doorOpened Room 1",
	}
	if diff := cmp.Diff(want, kinds(Explain(f))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is stored later adds steps. It neither changes nor withdraws a step that was shown before.
func TestHistoryIsNotRewritten(t *testing.T) {
	link := func(minute int, kind event.Kind) Event {
		return Event{At: at(minute), Kind: kind, DoorID: room, LockID: "lck_of_" + room, Reason: "lockOffline"}
	}
	plan := func(minute int, kind event.Kind, doors ...string) Event {
		return Event{At: at(minute), Kind: kind, Expected: doors, Accessible: doors}
	}
	stranger := func(minute int) Event {
		return Event{At: at(minute), Kind: event.DoorDenied, DoorID: room, LockID: "lck_of_" + room}
	}
	out := Event{At: at(30), Kind: event.ReservationChanged, Changed: []string{reservation.ChangedState}, State: access.Processed, StateBefore: access.Started}
	for name, tt := range map[string]struct {
		stored []Event
		want   []string
	}{
		"a late report says that the code was gone before the lock was lost": {
			[]Event{plan(1, event.AccessIssued, room), evidence(2, room, slot.Verified), link(10, event.LockOffline), link(12, event.LockOnline), evidence(9, room, slot.Removed)},
			[]string{"1 latchkey accessIssued", "2 lock codeVerified Room 1", "9 lock codeRemoved Room 1", "10 bridge lockOffline Room 1", "12 bridge lockOnline Room 1"},
		},
		"the lock is lost while the code is on its way": {
			[]Event{plan(1, event.AccessIssued, room), link(3, event.LockOffline), evidence(2, room, slot.Sent)},
			[]string{"1 latchkey accessIssued", "2 bridge codeSent Room 1", "3 bridge lockOffline Room 1"},
		},
		"a late report says that a code was there before the lock was lost": {
			[]Event{{At: at(1), Kind: event.AccessIssued}, link(3, event.LockOffline), link(5, event.LockOnline), evidence(2, room, slot.Verified), link(7, event.LockOffline)},
			[]string{"1 latchkey accessIssued", "2 lock codeVerified Room 1", "7 bridge lockOffline Room 1"},
		},
		"the stay moves out of the room in which others were seen": {
			[]Event{plan(1, event.AccessIssued, room), evidence(2, room, slot.Verified), stranger(5), plan(10, event.AccessUpdated, gate), stranger(11)},
			[]string{"1 latchkey accessIssued", "2 lock codeVerified Room 1", "5 lock otherCodeDenied Room 1", "10 latchkey accessUpdated"},
		},
		"the stay is over, and others come": {
			[]Event{plan(1, event.AccessIssued, room), evidence(2, room, slot.Verified), stranger(5), out, stranger(31)},
			[]string{"1 latchkey accessIssued", "2 lock codeVerified Room 1", "5 lock otherCodeDenied Room 1", "30 pms checkedOut"},
		},
		"the code is gone from a lock that has left the door and is back": {
			[]Event{plan(1, event.AccessIssued, room), evidence(2, room, slot.Verified), with(evidence(5, room, slot.Removed), func(h *Event) { h.FormerLock = true }),
				link(7, event.LockOffline)},
			[]string{"1 latchkey accessIssued", "2 lock codeVerified Room 1", "5 lock formerCodeRemoved Room 1"},
		},
		"a lock that came back while the stay had no code there is lost again": {
			[]Event{plan(1, event.AccessIssued, room), evidence(2, room, slot.Verified), link(3, event.LockOffline), evidence(4, room, slot.Removed), link(5, event.LockOnline),
				evidence(6, room, slot.Verified), link(7, event.LockOffline)},
			[]string{"1 latchkey accessIssued", "2 lock codeVerified Room 1", "3 bridge lockOffline Room 1", "4 lock codeRemoved Room 1", "6 lock codeVerified Room 1", "7 bridge lockOffline Room 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := kinds(Explain(stay(tt.stored...)))
			if diff := cmp.Diff(append([]string{"0 pms bookingReceived"}, tt.want...), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	one := func(minute int) Event {
		door, late := []string{room, gate}[rng.IntN(2)], minute-rng.IntN(min(minute, 20))
		switch rng.IntN(8) {
		case 6:
			return paused(late, door, time.Minute)
		case 0:
			return with(plan(minute, event.AccessUpdated, [][]string{{room}, {gate}, {room, gate}}[rng.IntN(3)]...), func(h *Event) { h.Unreachable = h.Accessible[:rng.IntN(2)] })
		case 1, 2:
			return with(link(minute, []event.Kind{event.LockOffline, event.LockOnline}[rng.IntN(2)]), func(h *Event) { h.DoorID, h.LockID = door, "lck_of_"+door })
		case 3:
			return with(evidence(late, door, []slot.Evidence{slot.Sent, slot.Verified, slot.Removed}[rng.IntN(3)]), func(h *Event) { h.FormerCode = rng.IntN(4) == 0 })
		case 4:
			return opened(late, door)
		case 5:
			return stranger(late)
		}
		return with(out, func(h *Event) {
			h.At, h.State = at(minute), []access.State{access.Started, access.Processed}[rng.IntN(2)]
		})
	}
	for range 200 {
		var stored []Event
		var before []Step
		for minute := 1; minute < 60; minute++ {
			stored = append(stored, with(one(minute), func(h *Event) { h.Stored = at(minute) }))
			after := Explain(stay(stored...)).Steps
			if s := firstLost(before, after); s != nil {
				t.Fatalf("%+v is gone or has another place because of %+v", *s, stored[len(stored)-1])
			}
			before = after
		}
	}
}

// firstLost returns the first of some steps that is not among later ones, each as often and in the same order, or nil.
func firstLost(before, after []Step) *Step {
	for _, s := range before {
		i := slices.IndexFunc(after, func(a Step) bool { return reflect.DeepEqual(a, s) })
		if i < 0 {
			return &s
		}
		after = after[i+1:]
	}
	return nil
}

// When later events make a timeline too long, only its oldest steps go: those up to the time after which it is complete.
func TestLaterEventsRemoveOnlyTheOldestSteps(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := randomStay(r, 2*MaxSteps)
		later := Explain(f)
		f.Events = f.Events[:rapid.IntRange(0, len(f.Events)).Draw(r, "events before")]
		before := slices.DeleteFunc(Explain(f).Steps, func(s Step) bool { return !s.At.After(later.CompleteAfter) })
		if s := firstLost(before, later.Steps); s != nil {
			r.Fatalf("%+v is gone or has another place; the timeline is complete after %v", *s, later.CompleteAfter)
		}
	})
}

// Two dorms may have beds of equal names: each sentence about a bed has its dorm.
func TestSentencesNameTheDormOfABed(t *testing.T) {
	f := stay(evidence(2, room, slot.Verified), opened(3, room))
	f.Plan.Doors[0].Name, f.Plan.Doors[0].Parent = "Bed A", "Dorm 6"
	f.Doors[room] = Door{Name: "Bed A", Parent: "Dorm 6", Private: true, Locked: true, Online: true, ReadBack: true}
	e := Explain(f)
	texts := []message.Message{e.Doors[0].Text}
	for _, s := range e.Steps {
		if s.DoorID == room {
			texts = append(texts, s.Text)
			if s.DoorDorm != "Dorm 6" {
				t.Errorf("the step %s has the dorm %q", s.Kind, s.DoorDorm)
			}
		}
	}
	for _, m := range texts {
		if got := (message.Reader{}).Text(m); !strings.Contains(got, "Dorm 6 · Bed A") {
			t.Errorf("the dorm is missing: %s", got)
		}
	}
	if len(texts) != 3 {
		t.Errorf("%d texts, want the verdict and two steps", len(texts))
	}
}
