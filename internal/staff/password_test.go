package staff

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/throttletest"
	"latchkey.dev/internal/throttle"
)

func TestPasswordRules(t *testing.T) {
	for password, want := range map[string]fault.Reason{
		"":                            fault.TooShort,
		"elevenchars":                 fault.TooShort,
		"twelve chars":                "",
		"éééééééééééé":                "",
		strings.Repeat("é", 11):       fault.TooShort,
		strings.Repeat("é", 128):      "",
		strings.Repeat("x", 256):      "",
		strings.Repeat("x", 257):      fault.TooLong,
		strings.Repeat("e\u0301", 11): fault.TooShort, // eleven letters, typed with combining accents
	} {
		var got fault.Reason
		if wrong := passwordProblem("password", password); wrong != nil {
			got = wrong.Reason
		}
		if got != want {
			t.Errorf("%q: %q, want %q", password, got, want)
		}
	}
}

// A comparison with the dummy hash takes as long as one with the hash of a password, because both have the same parameters.
func TestDummyHashHasTheParametersOfAPassword(t *testing.T) {
	params, _, _, err := argon2id.DecodeHash(dummyHash)
	if err != nil || *params != *hashParams {
		t.Errorf("%+v, %v, want %+v", params, err, hashParams)
	}
}

func TestPasswordHash(t *testing.T) {
	hash, err := hashPassword(t.Context(), "pässword of Ada")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hash, fmt.Sprintf("$argon2id$v=19$m=%d,t=2,p=1$", hashMemory)) {
		t.Errorf("the hash is %q", hash)
	}
	again, err := hashPassword(t.Context(), "pässword of Ada")
	if err != nil || again == hash {
		t.Errorf("the same password has the same hash, or %v", err)
	}
	for _, c := range []struct {
		typed, hash string
		want        bool
	}{
		{"pässword of Ada", hash, true},
		{"pa\u0308ssword of Ada", hash, true},
		{"Pässword of Ada", hash, false},
		{"pässword of Ada", "", false},
		{"no person has this password", "", false},
	} {
		if got, err := matchesPassword(t.Context(), c.typed, c.hash); got != c.want || err != nil {
			t.Errorf("%q: %v, %v, want %v", c.typed, got, err, c.want)
		}
	}
}

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
