package access

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"latchkey.dev/internal/clock"
)

func at(t testing.TB, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDecide(t *testing.T) {
	const from, to = "2026-11-21T15:00:00+01:00", "2026-11-24T11:00:00+01:00"
	for _, c := range []struct {
		name        string
		state       State
		from, to    string
		now, opened string
		zone        string
		early, late int // minutes
		window      [2]string
		held        bool
		reason      Reason
	}{
		{name: "checked in before the hour", now: "2026-11-21T08:00:00+01:00", window: [2]string{"2026-11-21T08:00:00+01:00", to}},
		{name: "checked in after the hour", now: "2026-11-21T18:00:00+01:00", window: [2]string{"2026-11-21T18:00:00+01:00", to}},
		{name: "checked in on the second day", now: "2026-11-22T18:00:00+01:00", window: [2]string{"2026-11-22T18:00:00+01:00", to}},
		{name: "an open window does not begin again", now: "2026-11-22T09:00:00+01:00", opened: "2026-11-21T16:00:00+01:00",
			window: [2]string{"2026-11-21T16:00:00+01:00", to}},
		{name: "late-out minutes", now: "2026-11-21T16:00:00+01:00", late: 90, window: [2]string{"2026-11-21T16:00:00+01:00", "2026-11-24T12:30:00+01:00"}},
		{name: "in the late-out minutes", now: "2026-11-24T11:30:00+01:00", late: 60, window: [2]string{"2026-11-24T11:30:00+01:00", "2026-11-24T12:00:00+01:00"}},
		{name: "over to the second", now: "2026-11-24T12:00:00+01:00", late: 60, reason: WindowPast},
		{name: "over", now: "2026-11-25T12:00:00+01:00", reason: WindowPast},

		{name: "a later day holds back", now: "2026-11-20T23:59:00+01:00", held: true, reason: WindowInFuture, window: [2]string{from, to}},
		{name: "early-in minutes of a later day", now: "2026-11-20T20:00:00+01:00", early: 120, held: true, reason: WindowInFuture,
			window: [2]string{"2026-11-21T13:00:00+01:00", to}},
		{name: "early-in minutes that reach into today", now: "2026-11-20T20:00:00+01:00", early: 20 * 60,
			window: [2]string{"2026-11-20T20:00:00+01:00", to}},
		{name: "a minute into the day", now: "2026-11-21T00:01:00+01:00", window: [2]string{"2026-11-21T00:01:00+01:00", to}},
		{name: "moved to a later day", now: "2026-11-20T12:00:00+01:00", opened: "2026-11-20T10:00:00+01:00", held: true,
			reason: WindowInFuture, window: [2]string{from, to}},
		{name: "moved to today after it was held back", now: "2026-11-21T09:00:00+01:00", opened: "2026-11-22T15:00:00+01:00",
			window: [2]string{"2026-11-21T09:00:00+01:00", to}},

		{name: "the day is the property's, not UTC's", zone: "Pacific/Auckland", from: "2026-11-22T02:00:00+13:00", now: "2026-11-22T00:30:00+13:00",
			window: [2]string{"2026-11-22T00:30:00+13:00", to}},
		{name: "still yesterday at the property", zone: "America/Los_Angeles", from: "2026-11-22T01:00:00-08:00", now: "2026-11-21T23:00:00-08:00",
			held: true, reason: WindowInFuture, window: [2]string{"2026-11-22T01:00:00-08:00", to}},
		{name: "the night the clocks go back", from: "2026-10-25T02:30:00+01:00", now: "2026-10-25T02:30:00+02:00",
			window: [2]string{"2026-10-25T02:30:00+02:00", to}},
		{name: "the hour before the day, clocks going forward", from: "2026-03-29T03:00:00+02:00", now: "2026-03-28T23:30:00+01:00", held: true,
			reason: WindowInFuture, window: [2]string{"2026-03-29T03:00:00+02:00", to}},
		{name: "late-out over the change of clocks", from: from, to: "2026-10-25T02:00:00+02:00", late: 120, now: "2026-10-24T20:00:00+02:00",
			held: true, reason: WindowInFuture, window: [2]string{from, "2026-10-25T03:00:00+01:00"}},

		{name: "enquired", state: Enquired, now: from, reason: NotFirm},
		{name: "requested", state: Requested, now: from, reason: NotFirm},
		{name: "optional", state: Optional, now: from, reason: NotFirm},
		{name: "confirmed", state: Confirmed, now: from, reason: NotCheckedIn},
		{name: "processed", state: Processed, now: from, reason: CheckedOut},
		{name: "canceled", state: Canceled, now: from, reason: ReservationCanceled},
		{name: "canceled long after", state: Canceled, now: "2027-11-25T12:00:00+01:00", reason: ReservationCanceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			or := func(s, def string) string {
				if s == "" {
					return def
				}
				return s
			}
			z, err := clock.Zone(or(c.zone, "Europe/Berlin"))
			if err != nil {
				t.Fatal(err)
			}
			s := Stay{State: State(or(string(c.state), string(Started))), From: at(t, or(c.from, from)), To: at(t, or(c.to, to))}
			r := Rules{Zone: z, EarlyIn: time.Duration(c.early) * time.Minute, LateOut: time.Duration(c.late) * time.Minute}
			var opened time.Time
			if c.opened != "" {
				opened = at(t, c.opened)
			}
			got := Decide(s, r, at(t, c.now), opened)
			if got.Reason != c.reason || got.HeldBack != c.held || got.Open != (c.window[0] != "") {
				t.Errorf("got %+v", got)
			}
			if got.Open && !got.Window.Same(Window{at(t, c.window[0]), at(t, c.window[1])}) {
				t.Errorf("window %v to %v, want %v", got.Window.From.In(z), got.Window.To.In(z), c.window)
			}
		})
	}
}

// Whatever the state, the dates and the hour: only a check-in opens, never a window that is over, never later than the
// booked hour, and deciding again a moment later moves nothing.
func TestDecideProperties(t *testing.T) {
	z, err := clock.Zone("America/St_Johns")
	if err != nil {
		t.Fatal(err)
	}
	base := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	minutes := func(t *rapid.T, name string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Minute
	}
	rapid.Check(t, func(t *rapid.T) {
		s := Stay{State: rapid.SampledFrom([]State{Enquired, Requested, Optional, Confirmed, Started, Processed, Canceled}).Draw(t, "state")}
		s.From = base.Add(minutes(t, "from", 30*24*60))
		s.To = s.From.Add(time.Minute + minutes(t, "nights", 5*24*60))
		r := Rules{Zone: z, EarlyIn: minutes(t, "early", 1440), LateOut: minutes(t, "late", 1440)}
		now := base.Add(minutes(t, "now", 40*24*60))
		got := Decide(s, r, now, time.Time{})
		if got.Open != (s.State == Started && s.To.Add(r.LateOut).After(now)) {
			t.Fatalf("%+v", got)
		}
		if !got.Open {
			return
		}
		if got.Window.From.After(now) && got.Window.From.After(s.From) || !got.Window.From.Before(got.Window.To) || !got.Window.To.Equal(s.To.Add(r.LateOut)) {
			t.Fatalf("%+v", got)
		}
		if got.HeldBack != got.Window.From.After(now) || got.HeldBack != (got.Reason == WindowInFuture) {
			t.Fatalf("%+v at %v", got, now)
		}
		if again := Decide(s, r, now.Add(time.Second), got.Window.From); !got.HeldBack && again.Open && !again.Window.Same(got.Window) {
			t.Fatalf("%+v, then %+v", got, again)
		}
	})
}
