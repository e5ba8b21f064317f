package main

import (
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// The list of --scope replaces the former one, so the command names what the partner lost.
func TestChangedScopesAreNamed(t *testing.T) {
	s, _ := newWorld(t)
	s.ok("integration set 'Sandbox PMS' --scope endpoints:write --scope reservations:write --scope reservations:read")
	s.ok("integration set 'Sandbox PMS' --scope endpoints:write --scope guests:read", "removed: reservations:read reservations:write; added: guests:read")
	s.ok("integration set 'Sandbox PMS' --scope guests:read --scope endpoints:write", "The scopes did not change.")
	s.ok("integration set 'Sandbox PMS' --add-scope pins:read --add-scope guests:read", "added: pins:read", "endpoints:write")
	s.fails(2, "integration set 'Sandbox PMS' --scope pins:read --add-scope guests:read", "--scope", "--add-scope")
	s.fails(2, "integration set 'Sandbox PMS' --add-scope ''", "is empty")
}

// An error says which command helps.
func TestConnectNamesTheNextCommand(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	s.fails(1, "integration connect 'My PMS'", "there is no app My PMS", "latchkey app create --data-dir "+s.dir+" 'My PMS'")
	s.ok("app create 'My PMS'")
	in := id(s.json("integration connect 'My PMS'"))
	s.fails(1, "integration connect 'My PMS'", "already connected", "latchkey integration rotate-token --data-dir "+s.dir+" "+in)
}

// A test that failed stores no time, and a later success does not clear the error.
func TestErrorsOfEndpointsSayWhen(t *testing.T) {
	if got := failureOf(&propertyv1.Endpoint{}); got != "" {
		t.Error(got)
	}
	message := "x"
	if got := failureOf(&propertyv1.Endpoint{LastError: &message, State: "ok"}); got != "x (in a test)" {
		t.Error(got)
	}
	if got := failureOf(&propertyv1.Endpoint{LastError: &message, State: "ok", LastFailureAt: timestamppb.Now()}); got != "x" {
		t.Error(got)
	}
}
