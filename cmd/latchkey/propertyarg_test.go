package main

import (
	"strings"
	"testing"
)

// An argument may name the property instead of the flag.
func TestPropertyAsAnArgument(t *testing.T) {
	s := newShell(t)
	s.ok("property create Harbour --time-zone Europe/Lisbon")
	s.ok("property create Annex --time-zone Europe/Rome")
	s.ok("property show annex", "Europe/Rome")
	t.Setenv("LATCHKEY_PROPERTY", "Harbour")
	s.ok("property show annex", "Europe/Rome")
	s.ok("property show", "Europe/Lisbon", "PIN", "automatic (6 or 8 digits)")
	s.fails(2, "property show Annex -p Harbour", "two properties")
	s.ok("token create Desk -p Annex", "Created tok_")
	s.ok("token list -p Annex", "Desk")
	s.fails(2, "token create Desk --name Till", "not both")
	code, _, errs := s.feed("\n", "property", "delete", "Annex", "--data-dir", s.dir)
	if code != 1 || !strings.Contains(errs, "nothing was deleted") || strings.Contains(errs, "is required") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	s.ok("property delete Annex --confirm Annex", "Deleted prp_")
}
