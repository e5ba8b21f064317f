package main

import (
	"strings"
	"testing"
)

// The list of the state shows what is connected to each property, and an empty installation says what to do.
func TestPropertyListState(t *testing.T) {
	empty := newShell(t)
	empty.ok("property list --state", "There is no property yet", "latchkey property create")

	s, w := newWorld(t)
	other := id(s.json("property create Other --time-zone Europe/Rome"))
	rows := map[string]string{}
	for line := range strings.Lines(s.ok("property list --state", "PMS", "BRIDGES", "ONLINE")) {
		rows[strings.Fields(line)[0]] = line
	}
	if got := strings.Fields(rows[other]); len(got) != 5 || got[2] != "-" || got[3] != "0" || got[4] != "0" {
		t.Errorf("without anything connected: %q", got)
	}
	if got := strings.Fields(rows[w.PropertyID]); len(got) < 5 || got[len(got)-2] != "1" || got[len(got)-1] != "1" || strings.Contains(rows[w.PropertyID], " - ") {
		t.Errorf("with a PMS and a bridge: %q", got)
	}
	list := s.json("property list --state")["data"].(map[string]any)["list"].([]any)
	if len(list) != 2 || list[0].(map[string]any)["property"].(map[string]any)["id"] != w.PropertyID {
		t.Errorf("as JSON: %v", list)
	}
}
