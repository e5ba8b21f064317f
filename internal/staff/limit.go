package staff

import (
	"time"

	"latchkey.dev/internal/throttle"
)

// Limits of failed attempts to sign in. A network is an IPv4 address or an IPv6 /64. A site is an IPv6 /48, because a rented server often
// has one. A guesser who tries as soon as each pause is over has, within a day, fewer than 50 attempts on one address from one network, and
// fewer than 300 from all networks together, not counting those from which the person has signed in (TestGuesses).
var (
	addressAtNetwork = throttle.Within("addressAtNetwork", 24*time.Hour).After(5, time.Minute).After(10, 15*time.Minute).After(20, time.Hour)
	addressAnywhere  = throttle.Within("address", 24*time.Hour).After(30, time.Minute).After(100, 10*time.Minute)
	// knownNetwork remembers for 30 days that a person signed in from a network. Failures from other networks do not delay the person there,
	// so that a guesser cannot lock a person out.
	knownNetwork = throttle.Within("knownNetwork", 30*24*time.Hour)
	atNetwork    = throttle.Within("network", time.Hour).After(20, time.Minute).After(50, 5*time.Minute)
	atSite       = throttle.Within("site", time.Hour).After(40, time.Minute).After(100, 5*time.Minute)
	// operatorAtNetwork and operatorAtSite slow guesses of operator tokens, which have 160 random bits.
	operatorAtNetwork = throttle.Within("operatorAtNetwork", time.Hour).After(20, time.Minute).After(50, 5*time.Minute)
	operatorAtSite    = throttle.Within("operatorAtSite", time.Hour).After(40, time.Minute).After(100, 5*time.Minute)
	// secondFactor slows guesses of a person's codes: a random code is right with a chance of one in 300,000.
	secondFactor = throttle.Within("secondFactor", 24*time.Hour).After(5, time.Minute).After(10, 15*time.Minute).After(20, time.Hour)
)

// longestPeriod is how long a count of failures is needed at most.
const longestPeriod = 24 * time.Hour
