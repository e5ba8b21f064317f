package explain

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

const (
	room  = "spc_room"
	gate  = "gat_front"
	grant = "gra_1"
)

// stay is a stay that is checked in, with a room and a gate, two hours after it was.
func stay(happenings ...Event) Facts {
	return Facts{
		Now: at(120), ReservationID: "rsv_1", State: access.Started, Created: at(0), Updated: at(0),
		Plan: access.Plan{
			Status: access.StatusIssued, Window: &access.Window{From: at(0), To: at(3000)},
			Doors: []access.PlannedDoor{
				{ID: room, Name: "Room 1", Kind: access.Room, PIN: slot.Verified, SmartKey: slot.Planned},
				{ID: gate, Name: "Front", Kind: access.Gate, PIN: slot.Verified, SmartKey: slot.Planned},
			},
		},
		Doors: map[string]Door{
			room: {Name: "Room 1", Private: true, Locked: true, Online: true, ReadBack: true},
			gate: {Name: "Front", Locked: true, Online: true, ReadBack: true},
		},
		Granted: map[string]time.Time{grant: at(1)},
		Events:  happenings,
	}
}

func evidence(minute int, door string, e slot.Evidence) Event {
	return Event{At: at(minute), Kind: event.CredentialChanged, DoorID: door, LockID: "lck_of_" + door, GrantID: grant, OfStay: true, Evidence: e}
}

// opened is an opening with the stay's code.
func opened(minute int, door string) Event {
	return Event{At: at(minute), Kind: event.DoorOpened, DoorID: door, LockID: "lck_of_" + door, GrantID: grant, OfStay: true}
}

// kinds are the steps in short: minute, actor, kind and door.
func kinds(e Explanation) []string {
	var out []string
	for _, s := range e.Steps {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s %s %s", int(s.At.Sub(noon).Minutes()), s.Actor, s.Kind, s.DoorName)))
	}
	return out
}

func TestSteps(t *testing.T) {
	checkIn := Event{At: at(1), Kind: event.ReservationChanged, Changed: []string{reservation.ChangedState}, State: access.Started, StateBefore: access.Confirmed}
	issued := Event{At: at(1), Kind: event.AccessIssued, Accessible: []string{room, gate}}
	for _, tt := range []struct {
		name  string
		facts Facts
		want  []string
	}{
		{"nothing but the booking", stay(), []string{"0 pms bookingReceived"}},
		{
			"from the check-in to the keypad",
			stay(checkIn, Event{At: at(1), Kind: event.PINGenerated}, issued, evidence(2, room, slot.Sent), evidence(3, room, slot.Accepted), evidence(4, room, slot.Verified),
				opened(9, room)),
			[]string{"0 pms bookingReceived", "1 pms checkedIn", "1 latchkey codeMade", "1 latchkey accessIssued", "2 bridge codeSent Room 1", "3 lock codeAccepted Room 1", "4 lock codeVerified Room 1", "9 guest doorOpened Room 1"},
		},
		{
			"an opening that was reported late is in its place",
			stay(issued, evidence(2, room, slot.Verified), evidence(60, room, slot.Accepted), opened(10, room)),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "2 lock codeVerified Room 1", "10 guest doorOpened Room 1", "60 lock codeAccepted Room 1"},
		},
		{
			"a clock on site that is behind, and goes back",
			stay(issued, evidence(2, room, slot.Sent), evidence(-5, room, slot.Verified), opened(-4, room), evidence(-3, room, slot.Removed)),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "2 bridge codeSent Room 1", "2 lock codeVerified Room 1", "2 guest doorOpened Room 1", "2 lock codeRemoved Room 1"},
		},
		{
			"a lock that is lost and found, each reported once",
			stay(issued, evidence(2, room, slot.Verified),
				Event{At: at(5), Kind: event.LockOffline, DoorID: room, LockID: "lck_of_" + room, Reason: "disconnected"}, Event{At: at(6), Kind: event.LockOffline, DoorID: room, LockID: "lck_of_" + room, Reason: "lockOffline"},
				Event{At: at(8), Kind: event.LockOnline, DoorID: room, LockID: "lck_of_" + room}, Event{At: at(9), Kind: event.LockOnline, DoorID: room, LockID: "lck_of_" + room}),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "2 lock codeVerified Room 1", "5 latchkey lockOffline Room 1", "8 bridge lockOnline Room 1"},
		},
		{
			"a lock that was away when the code was made",
			stay(Event{At: at(1), Kind: event.AccessIssued, Unreachable: []string{room}, Expected: []string{room}}, Event{At: at(8), Kind: event.LockOnline, DoorID: room, LockID: "lck_of_" + room}, evidence(9, room, slot.Verified)),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "1 latchkey lockOffline Room 1", "8 bridge lockOnline Room 1", "9 lock codeVerified Room 1"},
		},
		{
			"what was before the stay had a code there, and after, is none of its business",
			stay(Event{At: at(1), Kind: event.LockOffline, DoorID: room, LockID: "lck_of_" + room}, issued, evidence(2, room, slot.Verified), evidence(3, room, slot.Removed),
				Event{At: at(5), Kind: event.LockOffline, DoorID: room, LockID: "lck_of_" + room}),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "2 lock codeVerified Room 1", "3 lock codeRemoved Room 1"},
		},
		{
			"what others do at a private door is not reported, a stranger's code and staff are",
			stay(issued, evidence(2, room, slot.Verified), evidence(2, gate, slot.Verified),
				Event{At: at(5), Kind: event.DoorOpened, DoorID: room, LockID: "lck_of_" + room, OfOtherStay: true}, Event{At: at(6), Kind: event.DoorDenied, DoorID: room, LockID: "lck_of_" + room, OfOtherStay: true},
				Event{At: at(7), Kind: event.DoorDenied, DoorID: room, LockID: "lck_of_" + room}, Event{At: at(8), Kind: event.DoorOpened, DoorID: room, LockID: "lck_of_" + room, Staff: true},
				Event{At: at(9), Kind: event.DoorDenied, DoorID: gate, LockID: "lck_of_" + gate}, Event{At: at(10), Kind: event.DoorOpened, DoorID: gate, LockID: "lck_of_" + gate, Staff: true},
				Event{At: at(11), Kind: event.CredentialChanged, DoorID: room, LockID: "lck_of_" + room, OfOtherStay: true, Evidence: slot.Failed}),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "2 lock codeVerified Room 1", "2 lock codeVerified Front", "7 lock otherCodeDenied Room 1", "8 staff doorOpenedByStaff Room 1"},
		},
		{
			"the stay's phones, and others'",
			stay(issued, evidence(2, room, slot.Verified),
				Event{At: at(3), Kind: event.DoorOpened, DoorID: room, LockID: "lck_of_" + room, OfStay: true, SmartKey: true},
				Event{At: at(4), Kind: event.DoorDenied, DoorID: room, LockID: "lck_of_" + room, OfStay: true, SmartKey: true, Reason: "smartkey:expired"},
				Event{At: at(5), Kind: event.DoorDenied, DoorID: room, LockID: "lck_of_" + room, SmartKey: true, Reason: "smartkey:badSignature"},
				Event{At: at(6), Kind: event.DoorOpened, DoorID: room, LockID: "lck_of_" + room, OfOtherStay: true, SmartKey: true},
				Event{At: at(7), Kind: event.DoorDenied, DoorID: room, LockID: "lck_of_" + room, OfOtherStay: true, SmartKey: true},
				Event{At: at(8), Kind: event.DoorDenied, DoorID: gate, LockID: "lck_of_" + gate, SmartKey: true}),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "2 lock codeVerified Room 1", "3 guest doorOpenedByPhone Room 1", "4 bridge phoneDenied Room 1", "5 bridge otherPhoneDenied Room 1"},
		},
		{
			"a phone before any code was there",
			stay(Event{At: at(1), Kind: event.DoorOpened, DoorID: room, LockID: "lck_of_" + room, OfStay: true, SmartKey: true}, evidence(2, room, slot.Verified)),
			[]string{"0 pms bookingReceived", "1 guest doorOpenedByPhone Room 1", "2 lock codeVerified Room 1"},
		},
		{
			"a room move with new dates",
			stay(issued, Event{At: at(5), Kind: event.ReservationChanged, Changed: []string{reservation.ChangedDates, reservation.ChangedSpace}, State: access.Started, StateBefore: access.Started},
				Event{At: at(5), Kind: event.AccessUpdated}),
			[]string{"0 pms bookingReceived", "1 latchkey accessIssued", "5 pms datesChanged", "5 pms roomChanged", "5 latchkey accessUpdated"},
		},
		{
			"a check-in taken back",
			stay(Event{At: at(5), Kind: event.ReservationChanged, Changed: []string{reservation.ChangedState}, State: access.Confirmed, StateBefore: access.Started}),
			[]string{"0 pms bookingReceived", "5 pms checkInTakenBack"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, kinds(Explain(tt.facts))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A stay that was given by days is changed by the hotel's hours as well: that is not laid at the PMS's door.
func TestWhoLastChangedTheBooking(t *testing.T) {
	for byDays, want := range map[bool]string{false: "7 pms bookingChanged", true: "7 latchkey bookingChanged"} {
		f := stay()
		f.Updated, f.ByDays = at(7), byDays
		if diff := cmp.Diff([]string{"0 pms bookingReceived", want}, kinds(Explain(f))); diff != "" {
			t.Errorf("by days %v (-want +got):\n%s", byDays, diff)
		}
	}
}

// The latest steps are listed, and the answer is marked as truncated.
func TestAtMost200(t *testing.T) {
	var all []Event
	for i := range 2 * MaxSteps {
		all = append(all, evidence(i, room, []slot.Evidence{slot.Accepted, slot.Verified}[i%2]))
	}
	e := Explain(stay(all...))
	if len(e.Steps) != MaxSteps || !e.Truncated || !e.Steps[MaxSteps-1].At.Equal(at(2*MaxSteps-1)) {
		t.Errorf("%d steps, truncated %v, the last at %v", len(e.Steps), e.Truncated, e.Steps[len(e.Steps)-1].At)
	}
	if few := Explain(stay(all[:3]...)); few.Truncated {
		t.Error("three steps are truncated")
	}
	more := stay(all[:3]...)
	if more.More = true; !Explain(more).Truncated {
		t.Error("steps that were not loaded are not reported as truncated")
	}
}

func TestVerdicts(t *testing.T) {
	with := func(change func(*Facts, *access.PlannedDoor, *Door)) Facts {
		f := stay()
		d := f.Doors[room]
		change(&f, &f.Plan.Doors[0], &d)
		f.Doors[room] = d
		return f
	}
	for _, tt := range []struct {
		name  string
		facts Facts
		word  Outcome
		why   access.Reason
	}{
		{"verified", stay(), Opens, ""},
		{"verified, and the lock is offline", with(func(_ *Facts, _ *access.PlannedDoor, d *Door) { d.Online = false }), Opens, ""},
		{"verified, and jammed", with(func(_ *Facts, _ *access.PlannedDoor, d *Door) { d.Jammed = true }), Uncertain, access.LockJammed},
		{"accepted by a lock that can be read", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) { p.PIN = slot.Accepted }), Uncertain, NotReadBack},
		{"accepted by a lock that cannot", with(func(_ *Facts, p *access.PlannedDoor, d *Door) { p.PIN, d.ReadBack = slot.Accepted, false }), Opens, ""},
		{"unconfirmed", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) { p.PIN = slot.Unconfirmed }), Uncertain, Unconfirmed},
		{"queued", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) { p.PIN = slot.Queued }), DoesNotOpen, OnItsWay},
		{"queued for a lock that is away", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) { p.PIN, p.Reason = slot.Queued, lock.LockOffline }), DoesNotOpen, "lockOffline"},
		{"queued, and what was there before may be there", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) {
			p.PIN, p.Reason, p.MayBeInstalled = slot.Queued, lock.LockOffline, true
		}), Uncertain, "lockOffline"},
		{"queued, and handed to a bridge", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) { p.PIN, p.MayBeInstalled = slot.Queued, true }), Uncertain, OnItsWay},
		{"refused", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) { p.PIN, p.Reason = slot.Failed, access.LockRefused }), DoesNotOpen, "lockRefused"},
		{"no lock", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) { p.PIN, p.Reason = access.None, access.NoLock }), DoesNotOpen, "noLock"},
		{"no lock any more, and the code may be in the former lock", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) { p.PIN, p.Reason = slot.Removing, access.NoLock }), Uncertain, "noLock"},
		{"switched off, and the code may be there", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) { p.PIN, p.Reason = slot.Removing, space.SpaceInactive }), Uncertain, "spaceInactive"},
		{"switched off, and the code is gone", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) { p.PIN, p.Reason = slot.Removed, space.SpaceInactive }), DoesNotOpen, "spaceInactive"},
		{"a former room's lock that does not answer", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) {
			p.Left, p.PIN, p.Reason = true, slot.Removing, lock.LockOffline
		}), Uncertain, "lockOffline"},
		{"an untrusted clock", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) { p.Reason = access.ClockUntrusted }), Uncertain, "clockUntrusted"},
		{"it begins later", with(func(f *Facts, p *access.PlannedDoor, _ *Door) { f.Plan.Window.From = at(600) }), OpensAt, "windowInFuture"},
		{"it is over", with(func(f *Facts, _ *access.PlannedDoor, _ *Door) { f.Plan.Window.To = at(60) }), DoesNotOpen, "windowPast"},
		{"checked out, and the code may be there still", with(func(f *Facts, p *access.PlannedDoor, _ *Door) {
			f.Plan.Window, f.Plan.Reasons, p.PIN, p.SmartKey = nil, []access.Reason{access.CheckedOut}, slot.Removing, slot.Removed
		}), Uncertain, "checkedOut"},
		{"checked out", with(func(f *Facts, p *access.PlannedDoor, _ *Door) {
			f.Plan.Window, f.Plan.Reasons, p.PIN, p.SmartKey = nil, []access.Reason{access.CheckedOut}, slot.Removed, slot.Removed
		}), DoesNotOpen, "checkedOut"},
		{"not checked in yet", with(func(f *Facts, p *access.PlannedDoor, _ *Door) {
			f.Plan.Window, f.Plan.Reasons, p.PIN = nil, []access.Reason{access.NotCheckedIn}, slot.Planned
		}), DoesNotOpen, "notCheckedIn"},
		{"the door that a moving guest leaves", with(func(_ *Facts, p *access.PlannedDoor, _ *Door) { p.Reason = access.MovingOut }), Opens, "movingOut"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := Explain(tt.facts).Doors[0]
			if v.Outcome != tt.word || v.Reason != tt.why || v.Text.Check() != nil {
				t.Errorf("%s because of %q (%q), want %s because of %q", v.Outcome, v.Reason, english(v.Text), tt.word, tt.why)
			}
			if strings.Contains(english(v.Text), "%") {
				t.Errorf("%q speaks of no door", english(v.Text))
			}
		})
	}
}

// Why nothing opens at all is said once, of the stay.
func TestSentenceOfTheStay(t *testing.T) {
	f := stay()
	f.Plan = access.Plan{Reasons: []access.Reason{space.SpaceNotMapped}}
	if e := Explain(f); e.Reason != space.SpaceNotMapped || english(e.Text) == "" || english(e.Advice) == "" || len(e.Doors) != 0 {
		t.Errorf("%+v", e)
	}
	if e := Explain(stay()); e.Reason != "" || english(e.Text) != "" || english(e.Advice) != "" {
		t.Errorf("nothing limits the access, and %+v", e)
	}
}

// Each reason has texts for the guest and for staff, and each text has a reason.
func TestEveryReasonHasTexts(t *testing.T) {
	onlyStaff := []access.Reason{access.SpaceShared, space.SpacesDisagree, space.BedNotAssigned} // these do not close a door
	var want []string
	for _, r := range slices.Concat(Reasons, []access.Reason{"other"}) {
		want = append(want, string(r)+".staff")
		if !slices.Contains(onlyStaff, r) {
			want = append(want, string(r))
		}
	}
	slices.Sort(want)
	for _, language := range []string{"en", "de", "es", "fr"} {
		var got []string
		for _, e := range message.List(language, "reason.") {
			got = append(got, e.Kind)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the texts of the reasons (-) and of the catalogue (+) differ:\n%s", language, diff)
		}
	}
}

func TestEvidenceHasSteps(t *testing.T) {
	var kinds []string
	for _, s := range Explain(stay(evidence(1, room, slot.Removing), evidence(2, room, slot.Failed), evidence(3, room, slot.Unconfirmed))).Steps {
		kinds = append(kinds, s.Kind)
	}
	if !slices.Equal(kinds, []string{"bookingReceived", "codeRemoving", "codeRefused", "codeUnconfirmed"}) {
		t.Errorf("%v", kinds)
	}
}

func english(m message.Message) string { return message.Reader{}.Text(m) }

// randomStay returns a stay with random events, stored when they happened.
func randomStay(r *rapid.T, most int) Facts {
	var all []Event
	for i := range rapid.IntRange(0, most).Draw(r, "events") {
		minute, door := i/rapid.IntRange(1, 3).Draw(r, "pace")+1, rapid.SampledFrom([]string{room, gate}).Draw(r, "door")
		e := rapid.SampledFrom([]Event{
			opened(minute, door),
			evidence(minute, door, slot.Sent), evidence(minute, door, slot.Verified), evidence(minute, door, slot.Failed), evidence(minute, door, slot.Removed),
			{At: at(minute), Kind: event.AccessIssued, Expected: []string{room}, Accessible: []string{room}},
			{At: at(minute), Kind: event.AccessFailed, Reason: access.SpaceShared},
			{At: at(minute), Kind: event.ReservationChanged, State: access.Started, StateBefore: access.Confirmed, Changed: []string{reservation.ChangedState, reservation.ChangedDates}},
			{At: at(minute), Kind: event.DoorDenied, DoorID: door, LockID: "lck_of_" + door},
			{At: at(minute), Kind: event.LockOffline, DoorID: door, LockID: "lck_of_" + door, Reason: "lockOffline"},
			paused(minute, door, time.Minute),
		}).Draw(r, "event")
		e.Stored = e.At
		all = append(all, e)
	}
	return stay(all...)
}

// A truncated explanation has each step after the time that it names. It leaves out known steps only beyond MaxSteps.
func TestTruncatedStepsAreComplete(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := randomStay(r, 2*MaxSteps)
		if rapid.Bool().Draw(r, "older events are missing") {
			f.More, f.MissingUntil = true, at(rapid.IntRange(1, MaxSteps).Draw(r, "until"))
		}
		e, all := Explain(f), f.steps()
		if e.Truncated != !e.CompleteAfter.IsZero() || !e.Truncated && len(all) > len(e.Steps) {
			r.Fatalf("truncated %v, complete after %v, %d of %d steps", e.Truncated, e.CompleteAfter, len(e.Steps), len(all))
		}
		if e.CompleteAfter.Before(f.MissingUntil) || len(e.Steps) > MaxSteps {
			r.Fatalf("complete after %v with %d steps, but events until %v are missing", e.CompleteAfter, len(e.Steps), f.MissingUntil)
		}
		var want []Step
		for _, s := range all {
			if s.At.After(e.CompleteAfter) {
				want = append(want, s)
			}
		}
		if got := e.Steps[max(0, len(e.Steps)-len(want)):]; len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(want, got) {
			r.Fatalf("%d steps, want %d after %v", len(got), len(want), e.CompleteAfter)
		}
		if len(all) <= MaxSteps && len(e.Steps) != len(all) {
			r.Fatalf("%d of %d steps, with events missing until %v", len(e.Steps), len(all), f.MissingUntil)
		}
	})
}
