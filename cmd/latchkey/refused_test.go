package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// The error about a wrong value names the flag or argument as the user typed it.
func TestErrorsNameFlagsAndArguments(t *testing.T) {
	s := newShell(t)
	s.fails(1, "property create X --time-zone Europe/Lisbon --check-in 25:00", "--check-in must be a time HH:MM")
	s.fails(1, "property create X --time-zone Europe/Lisbon --owing nope", "--owing must be one of block")
	s.fails(1, "property create '' --time-zone Europe/Lisbon", "<name> is required")
	s.fails(1, "property create X --time-zone Europe/Lisbon --owing threshold", "--owing-threshold is required if --owing is threshold")
	s.ok("property create X --time-zone Europe/Lisbon")
	s.fails(1, "property set --owing threshold", "--owing-threshold is required if --owing is threshold")
	s.ok("property show", "block")
	s.ok("property set --owing-threshold 500")
	s.ok("property set --owing threshold", "threshold 500")
	s.ok("property set --owing-threshold 0")
	s.ok("space create 101 --type Room")
	s.fails(1, "code create X", "--door", "--all-rooms")
	s.fails(1, "code create X --all-rooms --hours 'mon 8-16'", `--hours "mon 8-16"`, "mon-fri 08:00-16:00")
	s.fails(1, "code create X --all-rooms --hours 'mon 08:00-25:00'", "--hours must be a time HH:MM")
	s.fails(1, "code create X --all-rooms --until 2020-01-01T00:00:00Z", "--until must be after --from")
	s.fails(1, "code create X --all-rooms --until yesterday", `--until "yesterday"`)
	s.fails(1, "gate create G --space spc_none", "--space")
	s.fails(1, "lock show lck_none", "latchkey: no lock lck_none at this property (lockNotFound)")
}

// A wrong name is an error, not an empty list.
func TestUnknownNamesAreNotEmptyLists(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	bridge := id(s.json("bridge create Reception"))
	s.fails(1, "lock list --bridge nope", "no bridge nope")
	s.ok("lock list --bridge "+bridge, "That bridge has no lock yet")
	s.ok("lock list --unassigned", "Every lock has a door")
	s.ok("lock list --unassigned --battery 0", "None of these locks has a battery that is low, at 0 %")
	s.fails(1, "lock list --battery 101", "batteryAtMost")
	s.fails(1, "notice read nope", "this property has no notice", "nope")
	s.ok("notice read --all", "Marked 0")
	s.ok("code list", "code create")
	s.ok("code list --kind backup", "latchkey property set", "--backup-codes")
	s.fails(1, "code list --lock nope", "no lock nope")
	s.ok("app create PMS")
	app := s.json("app list")["data"].(map[string]any)["list"].([]any)[0].(map[string]any)["id"].(string)
	in := id(s.json("integration connect " + app))
	room := s.json("space create 101 --type Room")["data"].(map[string]any)["list"].([]any)[0].(map[string]any)["id"].(string)
	gate := id(s.json("gate create G"))
	for _, command := range []string{"property set", "integration set " + in, "space set " + room, "gate set " + gate} {
		s.fails(1, command, "nothing to change")
	}
	s.ok("integration set "+in+" --name B", "B")
	for _, command := range []string{"integration set " + in + " --scope ''", "integration connect " + app + " --scope ''", "gate create H --space ''", "code create X --all-rooms --door ''"} {
		s.fails(2, command, "is empty", "--help")
	}
}

// With --json errors are JSON, too, in the format of REST.
func TestErrorsAsJSON(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	failed := func(want int, args ...string) (e struct {
		Code                              int
		Title, Reason, Message, RequestID string
		Details                           []map[string]any
	}) {
		t.Helper()
		code, out, errs := s.feed("", append(args, "--json")...)
		var envelope struct{ Error any }
		envelope.Error = &e
		if err := json.Unmarshal([]byte(errs), &envelope); err != nil || code != want || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: exit code %d, %v: %s%s", args, code, err, out, errs)
		}
		return e
	}
	e := failed(1, "lock", "show", "lck_none", "--data-dir", s.dir)
	if e.Code != 5 || e.Title != "NOT_FOUND" || e.Reason != "lockNotFound" || e.Message != "no lock lck_none at this property" || e.RequestID == "" {
		t.Errorf("got %+v", e)
	}
	e = failed(1, "property", "create", "X", "--time-zone", "Nowhere", "--data-dir", s.dir)
	if e.Reason != "invalidFields" || len(e.Details) == 0 {
		t.Errorf("got %+v", e)
	}
	if e = failed(1, "property", "list", "--data-dir", t.TempDir()); e.Title != "UNAVAILABLE" || e.Reason != "unavailable" || !strings.Contains(e.Message, "no server runs with the data directory") {
		t.Errorf("got %+v", e)
	}
	if e = failed(1, "property", "list", "--server", "127.0.0.1:1", "--token", "lko_x"); e.Reason != "unavailable" {
		t.Errorf("got %+v", e)
	}
	if e = failed(1, "notice", "read", "--data-dir", s.dir); e.Title != "INVALID_ARGUMENT" || !strings.Contains(e.Message, "--all") {
		t.Errorf("got %+v", e)
	}
	if e = failed(2, "space", "create"); !strings.Contains(e.Message, "--type") {
		t.Errorf("got %+v", e)
	}
}

// An object with a blank name cannot be found again.
func TestBlankNamesAreRefused(t *testing.T) {
	s := newShell(t)
	s.fails(1, "property create '   ' --time-zone Europe/Lisbon", "<name> must not be blank")
	s.ok("property create A --time-zone Europe/Lisbon")
	s.ok("app create PMS")
	integration := id(s.json("integration connect " + s.json("app list")["data"].(map[string]any)["list"].([]any)[0].(map[string]any)["id"].(string)))
	for command, name := range map[string]string{
		"property set --name '  '":                        "--name",
		"bridge create '  '":                              "<name>",
		"app create '  '":                                 "<name>",
		"admin token create '  '":                         "<name>",
		"token create --name '  '":                        "--name",
		"code create '  ' --all-rooms":                    "<holder>",
		"integration set " + integration + " --name '  '": "--name",
		"space create '  ' --type Room":                   "<name>",
		"gate create '  '":                                "<name>",
	} {
		s.fails(1, command, name+" must not be ")
	}
}

// The error lists the rules and names no call of the API.
func TestErrorOfRuleListsTheRules(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	s.fails(1, "checkin settings --rule XX", "--rule must be one of the rules: ")
}
