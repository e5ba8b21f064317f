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
	morning := noon.Add(-4 * time.Hour)
	a, both := []string{"lck_a"}, []string{"lck_a", "lck_b"}
	for _, tc := range []struct {
		what  string
		ends  time.Duration // after noon
		least int64
		anew  []string
		want  evidence
	}{
		{"the former is good", time.Hour, 3, nil, evidence{morning, both, a}},
		{"it is over", 0, 3, nil, evidence{since: noon}},
		{"its key was replaced at once", time.Hour, 4, nil, evidence{since: noon}},
		{"a door started anew", time.Hour, 3, []string{"lck_a"}, evidence{noon, []string{"lck_b"}, nil}},
		{"the other did", time.Hour, 3, []string{"lck_b"}, evidence{noon, a, a}},
	} {
		s := &ent.KeyStatus{KeySetVersion: 3, Since: morning, EndsAt: noon.Add(tc.ends), CheckedIds: slices.Clone(both), OpenedIds: slices.Clone(a)}
		got := inheritEvidence(s, tc.least, tc.anew, noon)
		if !slices.Equal(got.checked, tc.want.checked) || !slices.Equal(got.opened, tc.want.opened) || !got.since.Equal(tc.want.since) {
			t.Errorf("%s: %+v, want %+v", tc.what, got, tc.want)
		}
	}
}
