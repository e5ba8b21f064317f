package guest

import "time"

// budget is how many searches may fail within a period, which begins with the first failure.
type budget struct {
	name     string
	failures int
	within   time.Duration
}

// Budgets of failed searches by two facts. A search that finds a stay costs nothing.
//
// A source is one kiosk, or one client network (an IPv4 address or an IPv6 /64). Kiosks and QR codes have separate budgets for
// bookings, so guesses from afar never close a kiosk. A booking is one budget, whichever of its numbers is typed. The property's
// budget counts QR codes only, and slows them down instead of closing them.
//
// What a guesser can try, if all budgets are used up without a pause:
//
//	one source on one booking      5 in 15 minutes, at most the day's 20
//	all QR codes on one booking    20 a day
//	all kiosks on one booking      20 a day
//	one source on all bookings     10 in 10 minutes = 1,440 a day
//	all QR codes on all bookings   50 in an hour, then 1 a minute: at most 110 an hour = 2,640 a day
//
// So a guesser who knows a number and types the most frequent family names needs a day for 20 of them. Where the ten most frequent
// names are those of 5 % of the people (United States), 20 names find less than one guest in ten; where three names are those of 45 %
// (Korea), they find most. A budget that resisted there would also refuse guests who mistype. A name is therefore no secret:
// two facts show no answers of others, and no PIN of a guest who is in: see [Party.Trusts] and [RevealPINs].
var (
	atSource        = budget{"source", 10, 10 * time.Minute}
	bookingAtSource = budget{"bookingAtSource", 5, 15 * time.Minute}
	booking         = budget{"booking", 20, 24 * time.Hour}
	atProperty      = budget{"property", 50, time.Hour}
	propertyPace    = budget{"propertyPace", 1, time.Minute}
)

// tally is how much of a budget is used.
type tally struct {
	budget
	began time.Time
	count int
}

// wait returns how long a budget is used up; 0: it is not.
func (t tally) wait(now time.Time) time.Duration {
	if t.count < t.failures {
		return 0
	}
	return max(t.began.Add(t.within).Sub(now), 0)
}

// fail returns a tally after one more failure.
func (t tally) fail(now time.Time) tally {
	if t.count == 0 || !now.Before(t.began.Add(t.within)) {
		t.began, t.count = now, 0
	}
	t.count++
	return t
}

// waitOf returns how long a search has to wait; 0: it may go on. The pace counts only while the property's budget is used up.
func waitOf(tallies []tally, now time.Time) time.Duration {
	var wait, property, pace time.Duration
	for _, t := range tallies {
		switch t.budget {
		case atProperty:
			property = t.wait(now)
		case propertyPace:
			pace = t.wait(now)
		default:
			wait = max(wait, t.wait(now))
		}
	}
	return max(wait, min(property, pace))
}
