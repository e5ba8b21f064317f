package readiness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/space"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// expected is a guest who comes in some time to a room with a lock that does well.
func expected(in time.Duration, change ...func(*Facts, *access.PlannedDoor, *Lock)) Facts {
	full := 80
	f := Facts{
		Now: noon, From: noon.Add(in), State: access.Confirmed,
		Plan: access.Plan{Reasons: []access.Reason{access.NotCheckedIn}, Doors: []access.PlannedDoor{
			{ID: "spc_1", Name: "Room 1", Kind: access.Room, PIN: slot.Planned, Reason: access.NotCheckedIn},
		}},
	}
	l := Lock{Online: true, BridgeOnline: true, ReadBack: true, Battery: &full, Free: 5}
	for _, c := range change {
		c(&f, &f.Plan.Doors[0], &l)
	}
	f.Locks = map[string]Lock{"spc_1": l}
	return f
}

// checkedIn gives the guest a code of which this is known.
func checkedIn(e slot.Evidence) func(*Facts, *access.PlannedDoor, *Lock) {
	return func(f *Facts, d *access.PlannedDoor, _ *Lock) {
		f.State, f.Plan.Reasons, f.Plan.Window = access.Started, nil, &access.Window{From: f.Now, To: f.Now.Add(48 * time.Hour)}
		d.PIN, d.Reason = e, ""
	}
}

func TestJudge(t *testing.T) {
	type change = func(*Facts, *access.PlannedDoor, *Lock)
	day, hour := 20*time.Hour, time.Hour
	charge := func(percent int) change {
		return func(_ *Facts, _ *access.PlannedDoor, l *Lock) { l.Battery = &percent }
	}
	off := func(_ *Facts, _ *access.PlannedDoor, l *Lock) { l.Online = false }
	cut := func(_ *Facts, _ *access.PlannedDoor, l *Lock) { l.Online, l.BridgeOnline = false, false }
	revoked := func(_ *Facts, _ *access.PlannedDoor, l *Lock) { l.Undriven = lock.BridgeRevoked }
	full := func(_ *Facts, _ *access.PlannedDoor, l *Lock) { l.Free = 0 }
	failing := func(action string) change {
		return func(f *Facts, _ *access.PlannedDoor, _ *Lock) { f.Failing = []string{action} }
	}
	nowhere := func(r access.Reason) change {
		return func(f *Facts, _ *access.PlannedDoor, _ *Lock) {
			f.Plan.Doors, f.Plan.Reasons = f.Plan.Doors[:0], []access.Reason{r, access.NotCheckedIn}
		}
	}
	for _, tt := range []struct {
		name   string
		facts  Facts
		status Status
		fixes  string // severity and reason of each
	}{
		{"all is well", expected(day), Ready, ""},
		{"no room yet, a day before", expected(day, nowhere(space.RoomNotAssigned)), AtRisk, "risks roomNotAssigned"},
		{"no room yet, an hour before", expected(hour, nowhere(space.RoomNotAssigned)), NotReady, "blocks roomNotAssigned"},
		{"not mapped", expected(day, nowhere(space.SpaceNotMapped)), NotReady, "blocks spaceNotMapped"},
		{"not known", expected(day, nowhere(space.SpaceUnknown)), NotReady, "blocks spaceUnknown"},
		{"switched off", expected(day, func(f *Facts, d *access.PlannedDoor, _ *Lock) { d.Reason = space.SpaceInactive }), NotReady, "blocks spaceInactive"},
		{"in conflict", expected(day, func(f *Facts, _ *access.PlannedDoor, _ *Lock) { f.Conflict = true }), AtRisk, "risks mappingConflict"},
		{"no lock", expected(day, func(_ *Facts, d *access.PlannedDoor, _ *Lock) { d.PIN, d.Reason = access.None, access.NoLock }), NotReady, "blocks noLock"},
		{"the PMS does not answer", expected(day, failing("getCheckInStatus")), AtRisk, "risks endpointFailing"},
		{"the PMS does not check in", expected(hour, failing("checkIn")), AtRisk, "risks endpointFailing"},
		{"the PMS does not answer after the check-in", expected(hour, checkedIn(slot.Verified), failing("checkIn")), Ready, "note endpointFailing"},
		{"the PMS does not list its rooms", expected(day, failing("getSpaces")), Ready, "note endpointFailing"},
		{"bridge away, a day before", expected(day, cut), AtRisk, "risks bridgeOffline"},
		{"bridge away, an hour before", expected(hour, cut), NotReady, "blocks bridgeOffline"},
		{"lock away, a day before", expected(day, off), AtRisk, "risks lockOffline"},
		{"lock away, an hour before", expected(hour, off), NotReady, "blocks lockOffline"},
		{"lock away after the code was seen in it", expected(hour, checkedIn(slot.Verified), off), Ready, "note lockOffline"},
		{"lock away before the code came", expected(hour, checkedIn(slot.Queued), off), NotReady, "blocks lockOffline"},
		{"no bridge drives it", expected(day, cut, revoked), NotReady, "blocks bridgeRevoked"},
		{"no bridge drives it after the code was seen in it", expected(hour, checkedIn(slot.Verified), cut, revoked), Ready, "note bridgeRevoked"},
		{"low battery", expected(day, charge(20)), AtRisk, "risks batteryLow"},
		{"hardly any", expected(day, charge(5)), NotReady, "blocks batteryLow"},
		{"enough", expected(day, charge(21)), Ready, ""},
		{"a bridge's clock that is off", expected(day, func(_ *Facts, _ *access.PlannedDoor, l *Lock) { l.BridgeClock = -3 * time.Minute }), AtRisk, "risks bridgeClockOff"},
		{"a lock's clock that is off, and its bridge corrects", expected(day, func(_ *Facts, _ *access.PlannedDoor, l *Lock) { l.OwnSchedule, l.Clock = true, 3*time.Minute }), Ready, "note lockClockOff"},
		{"an untrusted clock", expected(hour, checkedIn(slot.Verified), func(_ *Facts, d *access.PlannedDoor, _ *Lock) { d.Reason = access.ClockUntrusted }), AtRisk, "risks clockUntrusted"},
		{"no free slot", expected(day, full), NotReady, "blocks slotsFull"},
		{"no free slot, and none is needed", expected(hour, checkedIn(slot.Verified), full), Ready, ""},
		{"jammed", expected(day, func(_ *Facts, _ *access.PlannedDoor, l *Lock) { l.Jammed = true }), NotReady, "blocks lockJammed"},
		{"its bridge has no broker", expected(hour, func(_ *Facts, _ *access.PlannedDoor, l *Lock) {
			l.Online, l.OfflineCause = false, slot.BrokerUnreachable
		}), NotReady, "blocks brokerUnreachable"},
		{"verified", expected(hour, checkedIn(slot.Verified)), Ready, ""},
		{"accepted, and it can be read", expected(hour, checkedIn(slot.Accepted)), AtRisk, "risks codeNotVerified"},
		{"accepted, and it cannot", expected(hour, checkedIn(slot.Accepted), func(_ *Facts, _ *access.PlannedDoor, l *Lock) { l.ReadBack = false }), Ready, ""},
		{"on its way", expected(hour, checkedIn(slot.Sent)), AtRisk, "risks codeNotVerified"},
		{"kept by the bridge until its time", expected(hour, checkedIn(slot.Sent), func(f *Facts, d *access.PlannedDoor, _ *Lock) {
			f.Plan.Window.From, d.Reason = f.From, access.WindowInFuture
		}), Ready, ""},
		{"refused", expected(hour, checkedIn(slot.Failed), func(_ *Facts, d *access.PlannedDoor, _ *Lock) { d.Reason = access.DuplicateOnLock }), NotReady, "blocks duplicateOnLock"},
		{"the worst first", expected(day, charge(15), full), NotReady, "blocks slotsFull, risks batteryLow"},
		{"a door that is left does not count", expected(hour, checkedIn(slot.Verified), off, func(_ *Facts, d *access.PlannedDoor, _ *Lock) { d.Left, d.Reason = true, access.MovingOut }), Ready, ""},
		{"a door that is left, with its code on its way out", expected(hour, checkedIn(slot.Removing), off, func(_ *Facts, d *access.PlannedDoor, _ *Lock) { d.Left, d.Reason = true, lock.LockOffline }), Ready, ""},
		{"switched off during the stay", expected(hour, checkedIn(slot.Removed), func(_ *Facts, d *access.PlannedDoor, _ *Lock) { d.Reason = space.SpaceInactive }), NotReady, "blocks spaceInactive"},
		{"switched off, and the code is on its way out", expected(hour, checkedIn(slot.Removing), func(_ *Facts, d *access.PlannedDoor, _ *Lock) { d.Reason = space.SpaceInactive }), NotReady, "blocks spaceInactive"},
		{"its lock taken off during the stay", expected(hour, checkedIn(slot.Removed), func(_ *Facts, d *access.PlannedDoor, _ *Lock) { d.Reason = access.NoLock }), NotReady, "blocks noLock"},
		{"a check-in that was taken back, the code on its way out", expected(hour, func(_ *Facts, d *access.PlannedDoor, _ *Lock) { d.PIN = slot.Removing }), Ready, ""},
		{"jammed during the stay", expected(hour, checkedIn(slot.Verified), func(_ *Facts, d *access.PlannedDoor, l *Lock) { d.Reason, l.Jammed = access.LockJammed, true }), NotReady, "blocks lockJammed"},
		{"nothing slows guessing at its lock", expected(day, func(_ *Facts, _ *access.PlannedDoor, l *Lock) { l.Guessable = true }), Ready, "note guessable"},
		{"a former code", expected(hour, checkedIn(slot.Verified), func(f *Facts, _ *access.PlannedDoor, _ *Lock) { f.Plan.Reasons = []access.Reason{access.FormerCode} }), Ready, "note formerCode"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := Judge(tt.facts)
			var fixes []string
			for _, f := range v.Fixes {
				fixes = append(fixes, string(f.Severity)+" "+string(f.Reason))
				if err := f.Message().Check(); err != nil {
					t.Errorf("%s: %v", f.Reason, err)
				}
			}
			if v.Status != tt.status || strings.Join(fixes, ", ") != tt.fixes {
				t.Errorf("%s: %v, want %s: %s", v.Status, fixes, tt.status, tt.fixes)
			}
		})
	}
}

func TestLastCheckpoint(t *testing.T) {
	for left, want := range map[time.Duration]int{
		25 * time.Hour: 0, 24 * time.Hour: 1440, 3 * time.Hour: 1440, 2 * time.Hour: 120, 16 * time.Minute: 120, 15 * time.Minute: 15, 0: 15, -time.Hour: 15,
	} {
		if got, ok := lastCheckpoint(noon, noon.Add(left)); got != want || ok != (want > 0) {
			t.Errorf("%v before: %d, %v; want %d", left, got, ok, want)
		}
	}
}

func TestNextCheck(t *testing.T) {
	for _, tt := range []struct {
		left   time.Duration
		status Status
		before time.Duration
		chance time.Duration
		want   time.Duration
	}{
		{20 * time.Hour, Ready, 0, 0, 15 * time.Minute},
		{20 * time.Hour, Ready, 0, 4 * time.Minute, 11 * time.Minute},
		{2*time.Hour + 5*time.Minute, Ready, time.Minute, 0, 5 * time.Minute}, // the next moment
		{2*time.Hour + 5*time.Minute, Ready, time.Minute, 4 * time.Minute, 5 * time.Minute},
		{20 * time.Minute, Ready, 0, 0, 5 * time.Minute},
		{3 * time.Minute, Ready, 0, 0, 3 * time.Minute}, // the beginning
		{20 * time.Hour, NotReady, 0, 4 * time.Minute, 10 * time.Second},
		{20 * time.Hour, AtRisk, 10 * time.Second, 0, 20 * time.Second},
		{20 * time.Hour, AtRisk, 50 * time.Second, 0, time.Minute},
		{-time.Hour, NotReady, time.Minute, 0, time.Minute},
	} {
		if got := nextCheck(noon, noon.Add(tt.left), tt.status, tt.before, tt.chance).Sub(noon); got != tt.want {
			t.Errorf("%v before, %s after %v: again after %v, want %v", tt.left, tt.status, tt.before, got, tt.want)
		}
	}
	for left, want := range map[time.Duration]bool{
		25 * time.Hour: false, 24 * time.Hour: true, time.Second: true, 0: true, -time.Hour: true, -12 * time.Hour: false,
	} {
		if got := needsChecks(noon, noon.Add(left)); got != want {
			t.Errorf("%v before: checked %v", left, got)
		}
	}
}

func TestNotice(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Lisbon")
	if err != nil {
		t.Fatal(err)
	}
	text := func(v Verdict) string {
		return message.Reader{Zone: zone}.Text(notice.ArrivalNotReady.Message(message.Params{"number": "N-1", "from": noon.Add(time.Hour), "fixes": v.listed()}))
	}
	v := Judge(expected(time.Hour, func(_ *Facts, _ *access.PlannedDoor, l *Lock) { l.Online = false }))
	want := "Stay N-1, which begins on 21 Nov 2026, 13:00, is not ready for its guest. Room 1: The bridge cannot reach the lock. Check its battery and the distance, or hand out a key."
	if diff := cmp.Diff(want, text(v)); diff != "" {
		t.Error(diff)
	}
	bed := Verdict{Fixes: []Fix{{Severity: Risks, Door: "Bed A", DoorParent: "Dorm 6", Reason: "noBridge"}}}
	if got := text(bed); !strings.Contains(got, "Dorm 6 · Bed A: The lock") {
		t.Errorf("the dorm of a bed is missing: %s", got)
	}
	var many Verdict
	for i := range 10 {
		many.Fixes = append(many.Fixes, Fix{Severity: Risks, Door: fmt.Sprint("Room ", i), Reason: "noBridge"})
	}
	if got := text(many); !strings.HasSuffix(got, "Room 3: The lock has no bridge. Enrol one, or hand out a key. There is more: see the arrivals.") {
		t.Error(got)
	}
}

// The id that leads nowhere is repeated: it is often a typing error.
func TestUnknownSpaceIsNamed(t *testing.T) {
	f := expected(24 * time.Hour)
	f.Plan, f.ExternalSpaceID = access.Plan{Reasons: []access.Reason{space.SpaceUnknown}}, "r201"
	if v := Judge(f); len(v.Fixes) == 0 || !strings.Contains(message.Reader{}.Text(v.Fixes[0].Message()), "“r201”") {
		t.Errorf("%+v", v.Fixes)
	}
}
