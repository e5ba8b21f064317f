package main

import (
	"context"
	"errors"
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

// A property goes with everything that belongs to it, but not while a code may be on a lock.
func TestPropertyDelete(t *testing.T) {
	const name = "Hostel Miramar"
	s, w := newWorld(t)
	other := id(s.json("property create Other --time-zone Europe/Rome"))
	mine := "--property " + w.PropertyID
	push(t, w, "B-1", "4711", "Ada", "Lovelace", "started", "R101", 2)
	s.fails(1, "property delete "+mine+" --confirm Other", "must be the name of the property")
	s.fails(1, "property delete "+mine+" --confirm '"+name+"'", "codes may still be on locks")

	push(t, w, "B-1", "4711", "Ada", "Lovelace", "canceled", "R101", 2)
	err := w.Await(t.Context(), "the deletion", func(context.Context) (bool, error) {
		code, out, errs := s.feed(name+"\n", "property", "delete", "--property", w.PropertyID, "--data-dir", s.dir)
		if code != 0 && !strings.Contains(errs, "codes may still be on locks") {
			return false, errors.New(errs)
		}
		return strings.Contains(out, "Deleted "), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.fails(1, "property show "+mine, "no such property")
	s.ok("property show --property "+other, "Other")
}

func TestTimeZonesAreSuggested(t *testing.T) {
	s := newShell(t)
	for typed, want := range map[string]string{
		"Lisbon": "did you mean Europe/Lisbon?", "europe/lisbon": "did you mean Europe/Lisbon?", "'new york'": "did you mean America/New_York?",
		"america/argentina/buenos_aires": "did you mean America/Argentina/Buenos_Aires?", "UTC+1": "such as Europe/Lisbon", "Nowhere": "such as Europe/Lisbon", "local": "such as Europe/Lisbon",
	} {
		s.fails(1, "property create A --time-zone "+typed, "--time-zone", want)
	}
	s.ok("property create A --time-zone Europe/Lisbon")
	s.fails(1, "property set --time-zone rome", "did you mean Europe/Rome?")
	s.fails(1, "property set --time-zone Europe/Rome --check-in 25:00", "--check-in")
}
