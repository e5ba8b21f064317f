package main

import (
	"regexp"
	"strings"
	"testing"

	"latchkey.dev/internal/sandbox"
)

// first returns the first match of a pattern in what a command prints.
func (s *shell) first(pattern, out string) string {
	s.Helper()
	found := regexp.MustCompile(pattern).FindString(out)
	if found == "" {
		s.Fatalf("%s is not in:\n%s", pattern, out)
	}
	return found
}

// Staff see what a change of the mapping would touch, undo it, and end a conflict.
func TestMappingChanges(t *testing.T) {
	s, w := newWorld(t)
	push(t, w, "B-1", "4711", "Ada", "Lovelace", "confirmed", "R101", 2)
	in := w.IntegrationID
	s.ok("mapping unset "+in+" R101 --dry-run", "Nothing was changed. The doors of 1 reservation would change.", "4711", "DOOR THEN", "Room 101")
	s.ok("mapping set "+in+" R101 'Room 101' --dry-run", "Nothing was changed. The doors of 0 reservations would change.")
	s.ok("mapping unset "+in+" R101", "To undo it: latchkey mapping undo --data-dir "+s.dir+" mch_")
	change := s.first(`mch_\w+`, s.ok("mapping changes "+in+" --limit 1", "unset", "R101: Room 101 → -"))
	s.ok("mapping undo "+change+" --dry-run", "Nothing was changed. The doors of 1 reservation would change.")
	s.ok("mapping undo "+change, "Undone.", "To undo it: latchkey mapping undo")
	s.ok("mapping changes "+in, "unset, undone", "R101: - → Room 101")
	s.fails(1, "mapping undo "+change, "undone already")
	s.fails(1, "mapping undo mch_none", "change")

	s.ok("mapping conflicts", "No conflict")
	w.PMS.SetSpaces([]sandbox.Space{{ID: "R101", Type: "Room", Name: "Room 101", IsPrivate: true, IsActive: true}})
	s.ok("integration read-spaces " + in)
	conflict := s.first(`cfl_\w+`, s.ok("mapping conflicts", "unmap"))
	s.fails(2, "mapping cure "+conflict+" forget", "notOurs")
	s.ok("mapping cure "+conflict+" unmap --dry-run", "Nothing was changed.")
	s.ok("mapping cure "+conflict+" unmap", "Done.", "To undo it: latchkey mapping undo")
	if out := s.ok("mapping conflicts"); strings.Contains(out, conflict) {
		t.Errorf("the conflict is still open: %s", out)
	}
}
