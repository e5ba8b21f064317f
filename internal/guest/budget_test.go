package guest

import (
	"testing"
	"time"
)

func TestWaitOf(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	used := func(b budget, count int, ago time.Duration) tally { return tally{b, now.Add(-ago), count} }
	for name, c := range map[string]struct {
		tallies []tally
		want    time.Duration
	}{
		"nothing used":                         {[]tally{{budget: atSource}, {budget: booking}, {budget: atProperty}, {budget: propertyPace}}, 0},
		"one failure is left at the source":    {[]tally{used(atSource, 9, time.Minute)}, 0},
		"the source is used up":                {[]tally{used(atSource, 10, time.Minute)}, 9 * time.Minute},
		"the source's period is over":          {[]tally{used(atSource, 10, 10*time.Minute)}, 0},
		"the booking at this source":           {[]tally{used(bookingAtSource, 5, 5*time.Minute)}, 10 * time.Minute},
		"the booking at all sources":           {[]tally{used(booking, 20, time.Hour)}, 23 * time.Hour},
		"the longest counts":                   {[]tally{used(booking, 20, time.Hour), used(atSource, 10, 0)}, 23 * time.Hour},
		"a pace without a used up budget":      {[]tally{used(atProperty, 49, 0), used(propertyPace, 1, 0)}, 0},
		"a used up property slows down":        {[]tally{used(atProperty, 50, time.Minute), used(propertyPace, 1, 20*time.Second)}, 40 * time.Second},
		"a used up property is not closed":     {[]tally{used(atProperty, 5000, time.Minute), used(propertyPace, 1, time.Minute)}, 0},
		"the pace ends with the hour":          {[]tally{used(atProperty, 50, 59*time.Minute+50*time.Second), used(propertyPace, 1, 0)}, 10 * time.Second},
		"the property's hour is over":          {[]tally{used(atProperty, 50, time.Hour), used(propertyPace, 1, 0)}, 0},
		"a source's limit stands with no pace": {[]tally{used(atSource, 10, 0), used(atProperty, 50, 0), used(propertyPace, 0, 0)}, 10 * time.Minute},
	} {
		if got := waitOf(c.tallies, now); got != c.want {
			t.Errorf("%s: waits %s; want %s", name, got, c.want)
		}
	}
}

// The numbers in the comment at the budgets are true: a guesser at every limit fails so often in a day.
func TestGuessesADay(t *testing.T) {
	start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		budgets []budget
		want    int
	}{
		"one source on one booking":    {[]budget{atSource, bookingAtSource, booking}, 20},
		"all sources on one booking":   {[]budget{booking}, 20},
		"one source on all bookings":   {[]budget{atSource}, 1440},
		"all QR codes on all bookings": {[]budget{atProperty, propertyPace}, 24 * 110},
	} {
		tallies := make([]tally, len(c.budgets))
		for i, b := range c.budgets {
			tallies[i].budget = b
		}
		failed := 0
		for now := start; now.Before(start.Add(24 * time.Hour)); {
			if wait := waitOf(tallies, now); wait > 0 {
				now = now.Add(wait)
				continue
			}
			for i := range tallies {
				tallies[i] = tallies[i].fail(now)
			}
			failed++
		}
		if failed > c.want || failed < c.want*9/10 {
			t.Errorf("%s: %d guesses a day; the comment says %d", name, failed, c.want)
		}
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
