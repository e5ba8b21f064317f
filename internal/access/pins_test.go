package access

import (
	"testing"

	"latchkey.dev/internal/access/pin"
)

func TestPINLength(t *testing.T) {
	slow, guessable := Door{ID: "slow", Lock: &Lock{}}, Door{ID: "guessable", Lock: &Lock{Guessable: true}}
	short := Door{ID: "short", Lock: &Lock{Guessable: true, PIN: pin.Rules{Min: 4, Max: 6}}}
	for name, c := range map[string]struct {
		setting int
		doors   []Door
		want    int
	}{
		"automatic, all locks slow guessing": {0, []Door{slow, slow}, 6},
		"automatic, one does not":            {0, []Door{slow, guessable}, 8},
		"automatic, one takes six at most":   {0, []Door{guessable, short}, 6},
		"the property says six":              {6, []Door{guessable}, 6},
		"the property says seven":            {7, []Door{slow}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			var rules []pin.Rules
			for _, d := range c.doors {
				rules = append(rules, d.Lock.PIN)
			}
			drawn, err := new(pin.Generator).Generate(pinLength(c.setting, c.doors), rules, func(string) (bool, error) { return false, nil })
			if err != nil || len(drawn) != c.want {
				t.Errorf("a PIN of %d digits, want %d: %v", len(drawn), c.want, err)
			}
		})
	}
}
