package mobilekey

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent"
)

// TestInheritEvidence has an index whose last token was issued under key set 3, was verified at two locks and opened one.
func TestInheritEvidence(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	morning := noon.Add(-4 * time.Hour)
	a, both := []string{"lck_a"}, []string{"lck_a", "lck_b"}
	for _, tc := range []struct {
		what      string
		ends      time.Duration // after noon
		least     int64
		restarted []string
		want      evidence
	}{
		{"the previous token is valid", time.Hour, 3, nil, evidence{morning, both, a}},
		{"the previous token has expired", 0, 3, nil, evidence{since: noon}},
		{"its key was replaced at once", time.Hour, 4, nil, evidence{since: noon}},
		{"a door was restarted", time.Hour, 3, []string{"lck_a"}, evidence{noon, []string{"lck_b"}, nil}},
		{"the other door was restarted", time.Hour, 3, []string{"lck_b"}, evidence{noon, a, a}},
	} {
		s := &ent.KeyStatus{KeySetVersion: 3, Since: morning, EndsAt: noon.Add(tc.ends), CheckedIds: slices.Clone(both), OpenedIds: slices.Clone(a)}
		got := inheritEvidence(s, tc.least, tc.restarted, noon)
		if !slices.Equal(got.checked, tc.want.checked) || !slices.Equal(got.opened, tc.want.opened) || !got.since.Equal(tc.want.since) {
			t.Errorf("%s: %+v, want %+v", tc.what, got, tc.want)
		}
	}
}
