package staff

import (
	"testing"
	"time"
)

// guess counts the attempts of a guesser who tries as soon as each pause is over.
func guess(lasts time.Duration, limits ...limit) (attempts int) {
	tallies := make([]tally, len(limits))
	for i, l := range limits {
		tallies[i].limit = l
	}
	for now := noon; now.Before(noon.Add(lasts)); {
		var wait time.Duration
		for _, t := range tallies {
			wait = max(wait, t.wait(now))
		}
		if wait > 0 {
			now = now.Add(wait)
			continue
		}
		for i, t := range tallies {
			tallies[i] = t.fail(now)
		}
		attempts++
		now = now.Add(time.Second)
	}
	return attempts
}

func TestGuesses(t *testing.T) {
	const day = 24 * time.Hour
	for what, c := range map[string]struct {
		limits []limit
		most   int
	}{
		"one address from one network":       {[]limit{addressAtNetwork, addressAnywhere, atNetwork}, 50},
		"one address from all networks":      {[]limit{addressAnywhere}, 300},
		"all addresses from one network":     {[]limit{atNetwork}, 1700},
		"the second factor of one person":    {[]limit{secondFactor}, 50},
		"all addresses from one IPv6 of /48": {[]limit{atSite}, 3500},
	} {
		if n := guess(day, c.limits...); n > c.most || n < 10 {
			t.Errorf("%s: %d attempts a day, want at most %d", what, n, c.most)
		}
	}
}

func TestSiteOf(t *testing.T) {
	for network, want := range map[string]string{
		"2001:db8:1:2::/64": "2001:db8:1::/48", "192.0.2.7/32": "", "": "", "2001:db8::/32": "",
	} {
		if got := siteOf(network); got != want {
			t.Errorf("siteOf(%q) = %q, want %q", network, got, want)
		}
	}
}
