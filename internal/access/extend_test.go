package access

import (
	"testing"
	"time"

	"latchkey.dev/internal/fault"
)

func TestExtensionProblem(t *testing.T) {
	const to = "2026-11-24T11:00:00+01:00"
	for _, c := range []struct {
		name       string
		state      State
		late       time.Duration
		now, until string
		want       fault.Reason
	}{
		{"an hour", Started, 0, "2026-11-24T10:00:00+01:00", "2026-11-24T12:00:00+01:00", ""},
		{"to the last minute", Started, 0, "2026-11-22T10:00:00+01:00", "2026-11-25T11:00:00+01:00", ""},
		{"after the planned end", Started, 0, "2026-11-24T20:00:00+01:00", "2026-11-24T21:00:00+01:00", ""},
		{"a second too long", Started, 0, "2026-11-24T10:00:00+01:00", "2026-11-25T11:00:01+01:00", fault.OutOfRange},
		{"no later than planned", Started, 0, "2026-11-22T10:00:00+01:00", to, fault.OutOfRange},
		{"within the late-out minutes", Started, time.Hour, "2026-11-24T10:00:00+01:00", "2026-11-24T12:00:00+01:00", fault.OutOfRange},
		{"beyond the late-out minutes", Started, time.Hour, "2026-11-24T10:00:00+01:00", "2026-11-24T12:01:00+01:00", ""},
		{"in the past", Started, 0, "2026-11-24T14:00:00+01:00", "2026-11-24T13:00:00+01:00", fault.OutOfRange},
		{"a day later", Started, 0, "2026-11-25T11:00:00+01:00", "2026-11-25T12:00:00+01:00", fault.NoAccess},
		{"not checked in", Confirmed, 0, "2026-11-24T10:00:00+01:00", "2026-11-24T12:00:00+01:00", fault.NoAccess},
		{"checked out", Processed, 0, "2026-11-24T10:00:00+01:00", "2026-11-24T12:00:00+01:00", fault.NoAccess},
		{"canceled", Canceled, 0, "2026-11-24T10:00:00+01:00", "2026-11-24T12:00:00+01:00", fault.NoAccess},
	} {
		err := ExtensionProblem(Stay{State: c.state, To: at(t, to)}, Rules{Zone: time.UTC, LateOut: c.late}, at(t, c.until), at(t, c.now))
		var got fault.Reason
		if f, ok := fault.Of(err); ok {
			if got = f.Reason; len(f.Fields) == 1 && f.Fields[0].Path == "until" {
				got = f.Fields[0].Reason
			}
		}
		if got != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// An extension moves the end of a stay in house, and nothing else.
func TestDecideExtended(t *testing.T) {
	now := at(t, "2026-11-24T11:30:00+01:00")
	stay := Stay{State: Started, From: at(t, "2026-11-21T15:00:00+01:00"), To: at(t, "2026-11-24T11:00:00+01:00")}
	rules := Rules{Zone: time.UTC}
	if got := Decide(stay, rules, now, time.Time{}); got.Open || got.Reason != WindowPast {
		t.Errorf("without an extension: %+v", got)
	}
	stay.ExtendedTo = now.Add(time.Hour)
	if got := Decide(stay, rules, now, time.Time{}); !got.Open || !got.Window.To.Equal(stay.ExtendedTo) {
		t.Errorf("extended: %+v", got)
	}
	rules.LateOut = 3 * time.Hour
	if got := Decide(stay, rules, now, time.Time{}); !got.Window.To.Equal(stay.To.Add(rules.LateOut)) {
		t.Errorf("an extension before the late-out ends: %+v", got)
	}
	stay.State = Processed
	if got := Decide(stay, rules, now, time.Time{}); got.Open || got.Reason != CheckedOut {
		t.Errorf("checked out: %+v", got)
	}
}
