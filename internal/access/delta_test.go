package access

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock/slot"
)

func TestDiff(t *testing.T) {
	none, ended := Snapshot{}, Snapshot{ID: "g", Window: present, SpaceID: "a"}
	live := func(f func(*Snapshot)) Snapshot {
		s := ended
		s.Live = true
		if f != nil {
			f(&s)
		}
		return s
	}
	held := func(generation int64, desired bool) SlotCode {
		return but(code("a", slot.Sent), func(h *SlotCode) { h.Generation, h.Present = generation, desired })
	}
	with := func(h ...SlotCode) Snapshot { return live(func(s *Snapshot) { s.Codes = h }) }
	for _, c := range []struct {
		name          string
		before, after Snapshot
		report        Report
		want          Delta
	}{
		{"nothing", with(held(1, true)), with(held(1, true)), Report{}, Delta{HadCode: true}},
		{"a report alone", with(held(1, true)), with(held(1, true)), Report{Refused: true}, Delta{HadCode: true, Report: Report{Refused: true}}},
		{"check-in", none, live(func(s *Snapshot) { s.Codes, s.PINs = []SlotCode{held(1, true)}, []PIN{{"p", 6}} }), Report{},
			Delta{Opened: true, NewPINs: []PIN{{"p", 6}}, Added: []string{"a"}}},
		{"reopened", ended, live(nil), Report{}, Delta{Opened: true}},
		{"another grant", live(func(s *Snapshot) { s.ID, s.Released = "old", true }), live(nil), Report{}, Delta{Opened: true}},
		{"ended", with(held(1, true)), Snapshot{ID: "g", Codes: []SlotCode{held(2, false)}}, Report{}, Delta{HadCode: true, Removed: []string{"a"}}},
		{"released", Snapshot{ID: "g", Codes: []SlotCode{held(2, false)}}, Snapshot{ID: "g", Released: true, Codes: []SlotCode{held(2, false)}}, Report{}, Delta{Released: true}},
		{"moved", live(nil), live(func(s *Snapshot) { s.SpaceID = "b" }), Report{}, Delta{Moved: true}},
		{"other dates", with(held(1, true)), live(func(s *Snapshot) { s.Window.To = s.Window.To.Add(1); s.Codes = []SlotCode{held(2, true)} }), Report{},
			Delta{Redated: true, HadCode: true, Updated: []string{"a"}}},
		{"a PIN replaced", live(func(s *Snapshot) { s.PINs = []PIN{{"p", 0}} }), live(func(s *Snapshot) { s.Redraws, s.PINs = 1, []PIN{{"q", 4}} }), Report{},
			Delta{Redrawn: true, NewPINs: []PIN{{"q", 4}}}},
		{"a code taken back", with(held(2, false)), with(held(3, true)), Report{}, Delta{Added: []string{"a"}}},
		{"a freed slot that the same stay gets again", with(held(2, false)), with(held(2, false), held(3, true)), Report{}, Delta{Added: []string{"a"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Diff(c.before, c.after, c.report)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEventOfStay(t *testing.T) {
	opens := Plan{Status: StatusIssued, Doors: []PlannedDoor{{ID: "a", PIN: slot.Sent}}}
	fails := Plan{Status: StatusFailed, Doors: []PlannedDoor{{ID: "a", PIN: slot.Failed}}}
	for _, c := range []struct {
		name     string
		delta    Delta
		plan     Plan
		unplaced bool
		want     event.Kind
	}{
		{"check-in", Delta{Opened: true, Added: []string{"a"}}, opens, false, event.AccessIssued},
		{"a slot at last", Delta{Added: []string{"a"}}, opens, false, event.AccessIssued},
		{"check-in, and no slot is free", Delta{Opened: true}, fails, false, event.AccessFailed},
		{"check-in without a space", Delta{Opened: true}, Plan{Status: StatusNone}, true, event.AccessFailed},
		{"still without a space", Delta{}, Plan{Status: StatusNone}, true, ""},
		{"a lock refuses the code", Delta{HadCode: true, Report: Report{Refused: true}}, fails, false, event.AccessFailed},
		{"a lock confirms the code", Delta{HadCode: true, Report: Report{Confirmed: true}}, opens, false, ""},
		{"another code", Delta{HadCode: true, Updated: []string{"a"}}, opens, false, event.AccessUpdated},
		{"other dates, and the slots wait", Delta{HadCode: true, Redated: true}, opens, false, event.AccessUpdated},
		{"from a room without a lock to another one", Delta{Moved: true}, Plan{Status: StatusNone}, false, event.AccessUpdated},
		{"other dates of a stay without a lock", Delta{Redated: true}, Plan{Status: StatusNone}, false, ""},
		{"nothing", Delta{HadCode: true}, opens, false, ""},
	} {
		if got := c.delta.eventOfStay(c.plan, c.unplaced); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
