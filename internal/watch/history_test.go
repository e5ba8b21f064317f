package watch

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHistory(t *testing.T) {
	type change struct {
		id string
		at uint64
	}
	many := func(n int) (all []change) {
		for i := range n {
			all = append(all, change{fmt.Sprintf("rsv_%03d", i), uint64(i + 1)})
		}
		return all
	}
	everything := Change{Topic: Reservations, Everything: true}
	for _, step := range []struct {
		name    string
		changes []change
		after   uint64
		want    Change
		changed bool
	}{
		{"nothing", nil, 0, Change{Topic: Reservations}, false},
		{"nothing new", []change{{"a", 1}, {"b", 2}}, 2, Change{Topic: Reservations}, false},
		{"in the order of the last change", []change{{"a", 1}, {"b", 2}, {"a", 3}}, 0, Change{Topic: Reservations, IDs: []string{"b", "a"}}, true},
		{"only what is new", []change{{"a", 1}, {"b", 2}, {"c", 3}}, 2, Change{Topic: Reservations, IDs: []string{"c"}}, true},
		{"unknown which", []change{{"a", 1}, {"", 2}, {"b", 3}}, 1, everything, true},
		{"after it was unknown which", []change{{"a", 1}, {"", 2}, {"b", 3}}, 2, Change{Topic: Reservations, IDs: []string{"b"}}, true},
		{"too many for a list", many(MaxIDs + 1), 0, everything, true},
		{"as many as a list has", many(MaxIDs + 1), 1, Change{Topic: Reservations, IDs: ids(many(MaxIDs + 1)[1:], func(c change) string { return c.id })}, true},
		{"too old", many(maxKept + 1), maxKept / 4, everything, true},
		{"the end of many", many(maxKept + 1), maxKept, Change{Topic: Reservations, IDs: []string{fmt.Sprintf("rsv_%03d", maxKept)}}, true},
	} {
		h := history{}
		for _, c := range step.changes {
			h.add(c.id, c.at)
			if len(h.last) > maxKept {
				t.Errorf("%s: %d changes are kept", step.name, len(h.last))
			}
		}
		got, changed := h.after(Reservations, step.after)
		if diff := cmp.Diff(step.want, got); diff != "" || changed != step.changed {
			t.Errorf("%s: changed %v, want %v: %s", step.name, changed, step.changed, diff)
		}
	}
}

func ids[T any](all []T, of func(T) string) (out []string) {
	for _, a := range all {
		out = append(out, of(a))
	}
	return out
}
