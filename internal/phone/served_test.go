package phone

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent"
)

// TestWhatATokenInheritsOfThoseBefore has an index whose last token was made under key set 3, found good at two locks and opened one.
func TestWhatATokenInheritsOfThoseBefore(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	a, both := []string{"lck_a"}, []string{"lck_a", "lck_b"}
	for _, tc := range []struct {
		what            string
		ends            time.Duration // after noon
		least           int64
		anew            []string
		checked, opened []string
	}{
		{"the former is good", time.Hour, 3, nil, both, a},
		{"it is over", 0, 3, nil, nil, nil},
		{"its key was replaced at once", time.Hour, 4, nil, nil, nil},
		{"a door started anew", time.Hour, 3, []string{"lck_a"}, []string{"lck_b"}, nil},
		{"the other did", time.Hour, 3, []string{"lck_b"}, a, a},
	} {
		s := &ent.KeyStatus{KeySetVersion: 3, EndsAt: noon.Add(tc.ends), CheckedIds: slices.Clone(both), OpenedIds: slices.Clone(a)}
		checked, opened := stillProven(s, tc.least, tc.anew, noon)
		if !slices.Equal(checked, tc.checked) || !slices.Equal(opened, tc.opened) {
			t.Errorf("%s: found good at %v, opened %v", tc.what, checked, opened)
		}
	}
}
