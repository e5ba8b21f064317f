package staff

import (
	"testing"
	"time"

	"latchkey.dev/internal/test/throttletest"
	"latchkey.dev/internal/throttle"
)

func TestGuesses(t *testing.T) {
	const day = 24 * time.Hour
	for what, c := range map[string]struct {
		limits []throttle.Limit
		most   int
	}{
		"one address from one network":       {[]throttle.Limit{addressAtNetwork, addressAnywhere, atNetwork}, 50},
		"one address from all networks":      {[]throttle.Limit{addressAnywhere}, 300},
		"all addresses from one network":     {[]throttle.Limit{atNetwork}, 1700},
		"the second factor of one person":    {[]throttle.Limit{secondFactor}, 50},
		"all addresses from one IPv6 of /48": {[]throttle.Limit{atSite}, 3500},
	} {
		if n := throttletest.Guesses(c.limits, day); n > c.most || n < 10 {
			t.Errorf("%s: %d attempts a day, want at most %d", what, n, c.most)
		}
	}
}
