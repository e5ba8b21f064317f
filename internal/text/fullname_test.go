package text

import "testing"

// Beds of two dorms have different full names, also if their own names are equal.
func TestFullName(t *testing.T) {
	for _, c := range []struct{ parent, name, want string }{
		{"", "Room 101", "Room 101"}, {"Dorm 6", "Bed A", "Dorm 6 · Bed A"}, {"Dorm 8", "Bed A", "Dorm 8 · Bed A"},
		{"Dorm 4", "Dorm 4-1", "Dorm 4-1"}, {"1", "10", "1 · 10"}, {"Dorm 4", "Dorm 4", "Dorm 4 · Dorm 4"}, {"Dorm 4", "", ""},
	} {
		if got := FullName(c.parent, c.name); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.name, c.parent, got, c.want)
		}
	}
}
