package rule

import (
	"slices"
	"testing"
)

// The guests who fill in by a rule are those whom it asks something: the others miss nothing that belongs on the official form.
func TestFills(t *testing.T) {
	for _, r := range slices.Concat(Rules, former) {
		want := Lead
		for _, born := range []string{"1990-05-05", "2009-05-05", "2016-05-05"} {
			for _, nationality := range []string{r.Name, "IS"} {
				g := Guest{Answers: Answers{Nationality: nationality, BirthDate: born, Kinship: "notFamily"}}
				asks := Fields(Settings{Rule: &r}, g, Party{Arrival: arrival, Size: 2, Head: Answers{Nationality: "IS"}})
				switch asked := slices.ContainsFunc(asks, func(a Ask) bool { return a.OnForm && a.Required }); {
				case asked && born > "2008-11-21":
					want = All
				case asked && want == Lead:
					want = Adults
				}
			}
		}
		if got := r.Fills(); got != want {
			t.Errorf("%s: %s, want %s", r.Name, got, want)
		}
	}
	for i, w := range whoInOrder {
		for j, other := range whoInOrder {
			if w.Covers(other) != (i >= j) {
				t.Errorf("%s covers %s: %v", w, other, !(i >= j))
			}
		}
	}
}
