package main

import (
	"strings"
	"testing"
)

// What the guest may read is not printed as a sentence to staff.
func TestGuestsSentenceIsMarked(t *testing.T) {
	s, w := newWorld(t)
	push(t, w, "B-1", "4711", "Ada", "Lovelace", "processed", "R101", 2)
	for _, command := range []string{"reservation show 4711", "reservation explain 4711"} {
		if out := s.ok(command, "the guest reads  ", "You are checked out."); strings.Contains(out, "the stay  ") {
			t.Errorf("%s:\n%s", command, out)
		}
	}
}
