package main

import (
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// Staff invite people, change what they may do, and end their access.
func TestPeople(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	s.ok("people list", "No person works here yet", "latchkey admin owner-link --data-dir "+s.dir+" PROPERTY")
	s.ok("people list --property A", "latchkey admin owner-link --property A --data-dir "+s.dir)
	if link := s.ok("admin owner-link --property A"); strings.Contains(link, "?new") {
		t.Errorf("the link is for another property: %s", link)
	}
	s.fails(2, "people invite bob@example.com --role chef", "frontDesk")
	s.ok("people invite bob@example.com --role frontDesk", "Invited bob@example.com as frontDesk: pln_", "/app/invite/")
	s.ok("people invite bob@example.com --role frontDesk", "No new mail is sent: pass it on")
	s.ok("people list", "bob@example.com", "frontDesk", "invited until")
	out := s.ok("people resend bob@example.com", "Invited bob@example.com", "/app/invite/")
	s.fails(1, "people resend eve@example.com", "latchkey people list")

	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	link := regexp.MustCompile(`/app/invite/([A-Za-z0-9_-]+)`).FindStringSubmatch(out)
	if link == nil {
		t.Fatalf("no link in %s", out)
	}
	_, err = propertyv1.NewSessionServiceClient(conn).AcceptInvitation(t.Context(), &propertyv1.AcceptInvitationRequest{
		Secret: link[1], Name: "Bob", Password: "correct horse battery", Device: "laptop",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.ok("people list", "Bob", "bob@example.com", "active")
	s.ok("people role bob@example.com manager", "Bob (bob@example.com) is manager: active.")
	s.ok("people disable Bob", "is manager: disabled.")
	s.ok("people enable bob@example.com", "is manager: active.")
	s.fails(1, "people invite bob@example.com --role frontDesk", "works at the property")
	s.ok("people invite eve@example.com --role housekeeping", "as housekeeping")
	s.ok("people withdraw eve@example.com", "Ended pln_")
	s.ok("people remove bob@example.com", "Removed prs_")
	s.fails(1, "people remove bob@example.com", "latchkey people list")
	if out := s.ok("people list"); strings.Contains(out, "@example.com") {
		t.Errorf("people who left are listed: %s", out)
	}
}
