package notice

import "testing"

// Each kind is in exactly one group, so that every notice reaches the people who chose its group.
func TestEachKindHasAGroup(t *testing.T) {
	times := map[Kind]int{}
	for _, g := range Groups {
		if len(groups[g]) == 0 {
			t.Errorf("%s has no kind", g)
		}
		for _, k := range groups[g] {
			times[k]++
		}
	}
	for k := range Kinds {
		if times[k] != 1 {
			t.Errorf("%s is in %d groups", k, times[k])
		}
		delete(times, k)
	}
	if len(times) > 0 || len(groups) != len(Groups) {
		t.Errorf("no kinds: %v; %d groups have kinds, and %d are listed", times, len(groups), len(Groups))
	}
}
