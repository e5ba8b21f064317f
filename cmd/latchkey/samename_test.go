package main

import (
	"strings"
	"testing"
)

// A revoked bridge does not keep its name from the bridge that replaces it.
func TestRevokedBridgeDoesNotHideAnother(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	old := id(s.json("bridge create Office"))
	s.ok("bridge revoke Office", "Revoked "+old)
	if out := s.ok("bridge create Office"); strings.Contains(out, "Another bridge") {
		t.Errorf("a revoked bridge counts as one of the same name:\n%s", out)
	}
	s.ok("bridge join-code Office", "join code")
	s.fails(1, "bridge join-code Nowhere", "there is no bridge Nowhere")
	s.ok("bridge create office", "Another bridge is called Office", "brg_", "use the id")
	s.fails(1, "bridge join-code OFFICE", "matches more than one bridge", old, "revoked", "waiting")
	s.ok("bridge revoke Office", "Revoked brg_")
	s.ok("bridge revoke office")
	s.fails(1, "bridge revoke OFFICE", "matches more than one bridge")
}

// The API accepts a second property of the same name, and then only the id tells them apart.
func TestSecondPropertyOfTheSameName(t *testing.T) {
	s := newShell(t)
	first := id(s.json("property create Harbour --time-zone Europe/Lisbon"))
	if out := s.ok("property create Annex --time-zone Europe/Lisbon"); strings.Contains(out, "Another property") {
		t.Error(out)
	}
	s.ok("property create harbour --time-zone Europe/Lisbon", "Another property is called Harbour: "+first, "use the id")
	s.fails(1, "space list", "which property?", first)
	s.fails(1, "space list -p HARBOUR", "matches more than one property", first)
	s.ok("space list -p "+first, "There is no space yet")
}

// The answer to a revoked bridge says what is left on its locks, and how a new machine takes them over.
func TestRevokedBridgeNamesItsLocks(t *testing.T) {
	s, _ := newWorld(t)
	bridge := s.first(`brg_\w+`, s.ok("bridge list"))
	s.ok("lock list", "Bridge in the office")
	if out := s.ok("lock list"); strings.Contains(out, bridge) {
		t.Errorf("the list of locks shows the id of the bridge:\n%s", out)
	}
	s.ok("bridge revoke 'bridge in the office'", "Revoked "+bridge, "It drove ", " locks. Codes on its locks stay there.", "latchkey bridge join-code --data-dir "+s.dir+" "+bridge)
}
