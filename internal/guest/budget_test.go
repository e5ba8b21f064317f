package guest

import (
	"testing"
	"time"
)

func TestWaitOf(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	began := func(l limit, ago time.Duration, count int, last time.Duration) tally {
		return tally{l, now.Add(-ago), now.Add(-last), count}
	}
	for name, c := range map[string]struct {
		tallies []tally
		want    time.Duration
	}{
		"nothing failed":                      {[]tally{{limit: atSource}, {limit: bookingAtKiosks}, {limit: atProperty}}, 0},
		"one failure is left at the source":   {[]tally{began(atSource, time.Minute, 9, 0)}, 0},
		"the source waits":                    {[]tally{began(atSource, 9*time.Minute, 10, time.Minute)}, 4 * time.Minute},
		"the source is not closed":            {[]tally{began(atSource, 20*time.Minute, 500, 5*time.Minute)}, 0},
		"the pause ends with the period":      {[]tally{began(atSource, 58*time.Minute, 10, 0)}, 2 * time.Minute},
		"the period is over":                  {[]tally{began(atSource, time.Hour, 10, 0)}, 0},
		"the booking at the kiosks":           {[]tally{began(bookingAtKiosks, time.Hour, 5, time.Minute)}, 9 * time.Minute},
		"the booking, after many":             {[]tally{began(bookingAtKiosks, time.Hour, 20, time.Minute)}, 29 * time.Minute},
		"the booking from one network":        {[]tally{began(bookingAtNetwork, time.Hour, 10, 0)}, 2 * time.Hour},
		"29 failures from afar":               {[]tally{began(bookingAtDoors, time.Hour, 29, 0)}, 0},
		"the longest counts":                  {[]tally{began(bookingAtKiosks, time.Hour, 20, 0), began(atSource, time.Minute, 10, 0)}, 30 * time.Minute},
		"what is given back delays nothing":   {[]tally{began(givenBack, time.Minute, 500, 0)}, 0},
		"a clock that was an hour ahead":      {[]tally{began(atSource, time.Minute, 10, -time.Hour)}, 5 * time.Minute},
		"a period that began in the future":   {[]tally{began(atSource, -time.Hour, 10, -time.Hour)}, 5 * time.Minute},
		"the property slows after 50":         {[]tally{began(atProperty, time.Minute, 50, 20*time.Second)}, 40 * time.Second},
		"the property slows and never closes": {[]tally{began(atProperty, time.Minute, 5000, time.Minute)}, 0},
	} {
		if got := waitOf(c.tallies, now); got != c.want {
			t.Errorf("%s: waits %s; want %s", name, got, c.want)
		}
	}
}

// guesses returns how many searches of a guesser fail who searches as soon as the pauses are over.
func guesses(limits []limit, during time.Duration) (failed int) {
	start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	tallies := make([]tally, len(limits))
	for i, l := range limits {
		tallies[i].limit = l
	}
	for now := start; now.Before(start.Add(during)); {
		if wait := waitOf(tallies, now); wait > 0 {
			now = now.Add(wait)
			continue
		}
		for i := range tallies {
			tallies[i] = tallies[i].fail(now)
		}
		failed++
	}
	return failed
}

// The numbers in the comment at the limits are true.
func TestGuesses(t *testing.T) {
	for name, c := range map[string]struct {
		limits    []limit
		hour, day int
	}{
		"all kiosks on one booking":    {[]limit{bookingAtKiosks}, 10, 62},
		"all kiosks on all bookings":   {[]limit{atProperty}, 109, 2616},
		"one kiosk on one booking":     {[]limit{atSource, bookingAtKiosks}, 10, 62},
		"one source on all bookings":   {[]limit{atSource}, 21, 504},
		"one network on one booking":   {[]limit{atSource, bookingAtNetwork, bookingAtDoors}, 8, 21},
		"one site on all bookings":     {[]limit{atSite}, 31, 744},
		"one site on one booking":      {[]limit{atSite, bookingAtSite}, 13, 26},
		"all networks on one booking":  {[]limit{bookingAtDoors}, 30, 53},
		"all networks on all bookings": {[]limit{atProperty}, 109, 2616},
	} {
		if hour, day := guesses(c.limits, time.Hour), guesses(c.limits, 24*time.Hour); hour != c.hour || day != c.day {
			t.Errorf("%s: %d guesses in an hour and %d in a day; the comment says %d and %d", name, hour, day, c.hour, c.day)
		}
	}
}

// One network, or one site, never fails so often that it slows others.
func TestOneNetworkSlowsNoOther(t *testing.T) {
	if n := guesses([]limit{bookingAtSite}, bookingAtDoors.within); n >= bookingAtDoors.pauses[0].failures {
		t.Errorf("one site fails %d times for one booking", n)
	}
	if n := guesses([]limit{atSite}, atProperty.within); n >= atProperty.pauses[0].failures {
		t.Errorf("one site fails %d times at a property", n)
	}
	if n := guesses([]limit{bookingAtNetwork}, bookingAtDoors.within); n >= bookingAtDoors.pauses[0].failures {
		t.Errorf("one network fails %d times for one booking", n)
	}
	if n := guesses([]limit{atSource}, atProperty.within); n >= atProperty.pauses[0].failures {
		t.Errorf("one network fails %d times at a property", n)
	}
}

func TestRoughly(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		time.Second: "a minute", time.Minute: "a minute", 61 * time.Second: "2 minutes", 2 * time.Hour: "120 minutes", 2*time.Hour + 1: "3 hours", 24 * time.Hour: "24 hours",
	} {
		if got := roughly(wait); got != want {
			t.Errorf("%s: %q", wait, got)
		}
	}
}
