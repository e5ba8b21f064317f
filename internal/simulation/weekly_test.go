package simulation

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/access/code"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// shift is an employee with weekly hours, in local time.
type shift struct {
	slot  uint32
	pin   slot.PIN
	hours []code.Hours
	works func(weekday time.Weekday, hour int) bool
}

var shifts = []shift{
	{1, "345671", []code.Hours{{Days: []int{1, 2, 3, 4, 5, 6, 7}, From: "08:00", To: "16:00"}},
		func(_ time.Weekday, hour int) bool { return hour >= 8 && hour < 16 }},
	{2, "345672", []code.Hours{{Days: []int{1, 6}, From: "22:00", To: "05:00"}, {Days: []int{7}, From: "09:00", To: "10:00"}},
		func(d time.Weekday, hour int) bool {
			night := hour >= 22 && (d == time.Monday || d == time.Saturday) || hour < 5 && (d == time.Tuesday || d == time.Sunday)
			return night || d == time.Sunday && hour == 9
		}},
}

// TestWeeklyHoursForThreeDaysOffline: with the network cut over a weekend whose Sunday begins summer time, the bridge opens
// and closes each window by itself, also when its power goes as one begins, and nothing false is said meanwhile.
func TestWeeklyHoursForThreeDaysOffline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		cut := time.Date(2000, 3, 25, 13, 0, 0, 0, berlin) // the clocks change on the 26th
		time.Sleep(time.Until(cut.Add(-time.Hour)))
		var specs []sim.Spec
		for name := range sim.Profiles() {
			specs = append(specs, sim.Spec{Address: name, Profile: name, Latency: 100 * time.Millisecond})
		}
		s := newSite(t, specs)
		s.pass(time.Minute)
		sendDesired := func() {
			for _, l := range specs {
				for _, p := range shifts {
					s.service.want(l.Address, p.slot, fmt.Sprint("code ", p.slot), p.desired(berlin))
				}
			}
		}
		sendDesired()
		s.pass(time.Until(cut))
		s.service.setCut(true)
		for at := cut; at.Before(cut.Add(72 * time.Hour)); at = at.Add(time.Hour) {
			for _, d := range []time.Duration{2 * time.Minute, 30 * time.Minute, 58 * time.Minute} {
				s.pass(time.Until(at.Add(d)))
				s.staffed(specs, berlin)
			}
			if h := at.In(berlin).Hour(); h == 7 || h == 4 { // the power goes as windows begin and end
				s.kill()
				s.pass(3 * time.Minute)
				s.start()
			}
		}
		writes := map[string]int{}
		for _, l := range specs {
			writes[l.Address] = s.locks.WriteCount(l.Address)
		}
		sendDesired() // sent again meanwhile
		s.service.setCut(false)
		s.pass(5 * time.Minute)
		for _, l := range specs {
			best := slot.Accepted
			if sim.Profiles()[l.Profile].Capabilities.ReadBack {
				best = slot.Verified
			}
			if got := s.service.status(l.Address, 1); got != best {
				t.Errorf("%s: within the hours it is called %s, want %s", l.Address, got, best)
			}
			if n := s.locks.WriteCount(l.Address) - writes[l.Address]; n != 0 {
				t.Errorf("%s: %d operations for windows that are as they were", l.Address, n)
			}
		}
	})
}

// desired is what the service hands to a bridge now.
func (p shift) desired(zone *time.Location) slot.Desired {
	now := time.Now()
	r := code.Evaluate(code.Terms{Kind: code.Staff, Hours: p.hours, NotBefore: now.AddDate(0, -1, 0)}, zone, now).Right
	return slot.Desired{Intent: slot.Present, PIN: p.pin, NotBefore: r.Window.From, NotAfter: r.Window.To, LaterWindows: r.Later}
}

// staffed compares what opens, and what the service shows without reports, with the local time.
func (s *site) staffed(specs []sim.Spec, zone *time.Location) {
	s.t.Helper()
	now := time.Now().In(zone)
	for _, l := range specs {
		for _, p := range shifts {
			works := p.works(now.Weekday(), now.Hour())
			if got := s.opens(l.Address, p.pin); got != works {
				s.t.Errorf("%s: %v: the code of shift %d opens: %v", l.Address, now, p.slot, got)
			}
			word := s.service.status(l.Address, p.slot)
			if (word == slot.Accepted || word == slot.Verified) && !works && sim.Profiles()[l.Profile].Capabilities.Schedule != slot.ScheduleWindow {
				s.t.Errorf("%s: %v: the code of shift %d is called %s outside its hours", l.Address, now, p.slot, word)
			}
			if word == slot.Removed {
				s.t.Errorf("%s: %v: the code of shift %d is called removed", l.Address, now, p.slot)
			}
		}
	}
}

// A lock that is too busy as the hours end keeps the code; that new hours are handed meanwhile makes the door no safer.
func TestNewHoursDoNotConfirmTheOldCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		honolulu, err := time.LoadLocation("Pacific/Honolulu")
		if err != nil {
			t.Fatal(err)
		}
		day := time.Now().Truncate(48 * time.Hour).Add(4 * 24 * time.Hour) // sent again at 14:00 in Honolulu
		clerk := shift{slot: 1, pin: "345671", hours: []code.Hours{{Days: []int{1, 2, 3, 4, 5, 6, 7}, From: "09:00", To: "13:30"}}}
		time.Sleep(time.Until(day.Add(-4 * time.Hour)))
		var specs []sim.Spec
		for name, p := range sim.Profiles() {
			if p.Capabilities.Schedule != slot.ScheduleWindow {
				specs = append(specs, sim.Spec{Address: name, Profile: name, Latency: 100 * time.Millisecond})
			}
		}
		s := newSite(t, specs)
		s.pass(time.Minute)
		sendDesired := func() {
			for _, l := range specs {
				s.service.want(l.Address, clerk.slot, "code 1", clerk.desired(honolulu))
			}
		}
		called := func(when string, want ...slot.Evidence) {
			t.Helper()
			for _, l := range specs {
				if got := s.service.status(l.Address, clerk.slot); !slices.Contains(want, got) {
					t.Errorf("%s: %s it is called %s, want %v", l.Address, when, got, want)
				}
			}
		}
		sendDesired()
		s.pass(time.Until(day.Add(-2 * time.Hour)))
		called("within the hours", slot.Accepted, slot.Verified)
		s.locks.SetOdds(sim.Odds{Busy: 1})
		s.pass(time.Until(day.Add(-time.Minute)))
		called("after the hours", slot.Removing)
		s.pass(2 * time.Minute)
		sendDesired()
		s.pass(time.Minute)
		called("sent again", slot.Removing)
		s.locks.SetOdds(sim.Odds{})
		s.pass(10 * time.Minute)
		called("once the lock is back", slot.Sent, slot.Accepted, slot.Verified)
		for _, l := range specs {
			if s.opens(l.Address, clerk.pin) {
				t.Errorf("%s: opens outside the hours", l.Address)
			}
		}
	})
}
