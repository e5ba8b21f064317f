package guest

import (
	"testing"
	"time"

	"latchkey.dev/internal/test/throttletest"
	"latchkey.dev/internal/throttle"
)

func TestWaitOf(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	began := func(l throttle.Limit, ago time.Duration, count int, last time.Duration) throttle.Counter {
		return throttle.Counter{Limit: l, Began: now.Add(-ago), Last: now.Add(-last), Count: count}
	}
	for name, c := range map[string]struct {
		counters []throttle.Counter
		want     time.Duration
	}{
		"nothing failed":                      {[]throttle.Counter{{Limit: atSource}, {Limit: bookingAtKiosks}, {Limit: atProperty}}, 0},
		"one failure is left at the source":   {[]throttle.Counter{began(atSource, time.Minute, 9, 0)}, 0},
		"the source waits":                    {[]throttle.Counter{began(atSource, 9*time.Minute, 10, time.Minute)}, 4 * time.Minute},
		"the source is not closed":            {[]throttle.Counter{began(atSource, 20*time.Minute, 500, 5*time.Minute)}, 0},
		"the pause ends with the period":      {[]throttle.Counter{began(atSource, 58*time.Minute, 10, 0)}, 2 * time.Minute},
		"the period is over":                  {[]throttle.Counter{began(atSource, time.Hour, 10, 0)}, 0},
		"the booking at the kiosks":           {[]throttle.Counter{began(bookingAtKiosks, time.Hour, 5, time.Minute)}, 9 * time.Minute},
		"the booking, after many":             {[]throttle.Counter{began(bookingAtKiosks, time.Hour, 20, time.Minute)}, 29 * time.Minute},
		"the booking from one network":        {[]throttle.Counter{began(bookingAtNetwork, time.Hour, 10, 0)}, 2 * time.Hour},
		"29 failures from afar":               {[]throttle.Counter{began(bookingAtDoors, time.Hour, 29, 0)}, 0},
		"the longest counts":                  {[]throttle.Counter{began(bookingAtKiosks, time.Hour, 20, 0), began(atSource, time.Minute, 10, 0)}, 30 * time.Minute},
		"what is given back delays nothing":   {[]throttle.Counter{began(givenBack, time.Minute, 500, 0)}, 0},
		"a clock that was an hour ahead":      {[]throttle.Counter{began(atSource, time.Minute, 10, -time.Hour)}, 5 * time.Minute},
		"a period that began in the future":   {[]throttle.Counter{began(atSource, -time.Hour, 10, -time.Hour)}, 5 * time.Minute},
		"the property slows after 50":         {[]throttle.Counter{began(atProperty, time.Minute, 50, 20*time.Second)}, 40 * time.Second},
		"the property slows and never closes": {[]throttle.Counter{began(atProperty, time.Minute, 5000, time.Minute)}, 0},
	} {
		if got := throttle.LongestWait(c.counters, now); got != c.want {
			t.Errorf("%s: waits %s; want %s", name, got, c.want)
		}
	}
}

// The numbers in the comment at the limits are true.
func TestGuesses(t *testing.T) {
	for name, c := range map[string]struct {
		limits    []throttle.Limit
		hour, day int
	}{
		"all kiosks on one booking":    {[]throttle.Limit{bookingAtKiosks}, 10, 62},
		"all kiosks on all bookings":   {[]throttle.Limit{atProperty}, 109, 2616},
		"one kiosk on one booking":     {[]throttle.Limit{atSource, bookingAtKiosks}, 10, 62},
		"one source on all bookings":   {[]throttle.Limit{atSource}, 21, 504},
		"one network on one booking":   {[]throttle.Limit{atSource, bookingAtNetwork, bookingAtDoors}, 8, 21},
		"one site on all bookings":     {[]throttle.Limit{atSite}, 31, 744},
		"one site on one booking":      {[]throttle.Limit{atSite, bookingAtSite}, 13, 26},
		"all networks on one booking":  {[]throttle.Limit{bookingAtDoors}, 30, 53},
		"all networks on all bookings": {[]throttle.Limit{atProperty}, 109, 2616},
	} {
		if hour, day := throttletest.Guesses(c.limits, time.Hour), throttletest.Guesses(c.limits, 24*time.Hour); hour != c.hour || day != c.day {
			t.Errorf("%s: %d guesses in an hour and %d in a day; the comment says %d and %d", name, hour, day, c.hour, c.day)
		}
	}
}

// One network, or one site, never fails so often that it slows others.
func TestOneNetworkSlowsNoOther(t *testing.T) {
	if n := throttletest.Guesses([]throttle.Limit{bookingAtSite}, bookingAtDoors.Period); n >= bookingAtDoors.Pauses[0].Failures {
		t.Errorf("one site fails %d times for one booking", n)
	}
	if n := throttletest.Guesses([]throttle.Limit{atSite}, atProperty.Period); n >= atProperty.Pauses[0].Failures {
		t.Errorf("one site fails %d times at a property", n)
	}
	if n := throttletest.Guesses([]throttle.Limit{bookingAtNetwork}, bookingAtDoors.Period); n >= bookingAtDoors.Pauses[0].Failures {
		t.Errorf("one network fails %d times for one booking", n)
	}
	if n := throttletest.Guesses([]throttle.Limit{atSource}, atProperty.Period); n >= atProperty.Pauses[0].Failures {
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
