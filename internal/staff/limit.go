package staff

import "time"

// limit slows failed attempts down. It counts the failures of a period, which begins with the first one. From some counts on, the next attempt
// waits for a pause after the latest failure. No limit closes an account for the rest of the period, so that a guesser does not lock the
// person out.
type limit struct {
	name   string
	within time.Duration
	pauses []pause // the shortest first
}

// pause is how long an attempt waits after the latest failure, if the period has at least so many failures.
type pause struct {
	failures int
	lasts    time.Duration
}

// Limits of failed attempts to sign in. A network is an IPv4 address or an IPv6 /64; a site is an IPv6 /48, because who rents a server often
// has one. A guesser who tries as soon as each pause is over has, within a day, fewer than 50 attempts on one address from one network, and
// fewer than 300 from all networks together (TestGuesses).
var (
	addressAtNetwork = limit{"addressAtNetwork", 24 * time.Hour, []pause{{5, time.Minute}, {10, 15 * time.Minute}, {20, time.Hour}}}
	addressAnywhere  = limit{"address", 24 * time.Hour, []pause{{30, time.Minute}, {100, 10 * time.Minute}}}
	atNetwork        = limit{"network", time.Hour, []pause{{20, time.Minute}, {50, 5 * time.Minute}}}
	atSite           = limit{"site", time.Hour, []pause{{40, time.Minute}, {100, 5 * time.Minute}}}
	// operatorAtNetwork and operatorAtSite slow guesses of operator tokens, which have 160 random bits.
	operatorAtNetwork = limit{"operatorAtNetwork", time.Hour, []pause{{20, time.Minute}, {50, 5 * time.Minute}}}
	operatorAtSite    = limit{"operatorAtSite", time.Hour, []pause{{40, time.Minute}, {100, 5 * time.Minute}}}
	// secondFactor slows guesses of a person's codes, of which one in 300,000 is right at a time.
	secondFactor = limit{"secondFactor", 24 * time.Hour, []pause{{5, time.Minute}, {10, 15 * time.Minute}, {20, time.Hour}}}
)

// longestPeriod is how long a count is needed at most.
const longestPeriod = 24 * time.Hour

// tally is the number of failures that a limit counted in its present period, and when they were.
type tally struct {
	limit
	began, last time.Time
	count       int
}

// wait returns how long the next attempt waits from now; 0: it does not. A latest failure in the future, because a clock was wrong, does not
// lengthen a pause.
func (t tally) wait(now time.Time) time.Duration {
	var lasts time.Duration
	for _, p := range t.pauses {
		if t.count >= p.failures {
			lasts = p.lasts
		}
	}
	return max(min(t.last.Add(lasts).Sub(now), t.began.Add(t.within).Sub(now), lasts), 0)
}

// fail returns the tally after one more failure.
func (t tally) fail(now time.Time) tally {
	if t.count == 0 || !now.Before(t.began.Add(t.within)) {
		t.began, t.count = now, 0
	}
	t.last = now
	t.count++
	return t
}
