package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// TestMovedBed moves a bed of the PMS to another dorm. The page of spaces shows the conflict, and its first cure maps the bed to the free one of the same
// name there.
func TestMovedBed(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	mapping, spaces := propertyv1.NewMappingServiceClient(w.Public), propertyv1.NewSpaceServiceClient(w.Public)
	const name = "Attic"
	dorm, err := spaces.CreateSpace(w.Staff(t.Context()), &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Dorm", Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	bed, err := spaces.CreateSpace(w.Staff(t.Context()), &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Bed", Name: "Bed A", ParentSpaceId: dorm.GetData().GetId()}})
	if err != nil {
		t.Fatal(err)
	}
	pms := url.Values{"pms": {w.IntegrationID}}
	read := func(room string) {
		t.Helper()
		listed := append(sandbox.PMSSpaces(), sandbox.Space{ID: "D9", Type: "Dorm", Name: name, IsActive: true})
		for i := range listed {
			if listed[i].ID == "D4-A" {
				listed[i].ParentID = room
			}
		}
		w.PMS.SetSpaces(listed)
		if a := s.do(http.MethodPost, "/app/spaces/read", pms); a.status != http.StatusSeeOther {
			t.Fatalf("read the rooms: %d %s", a.status, a.text)
		}
	}
	read("D4")
	if a := s.do(http.MethodPost, "/app/spaces", url.Values{"pms": {w.IntegrationID}, "do": {"exact"}}); a.status != http.StatusSeeOther {
		t.Fatalf("map the dorm: %d %s", a.status, a.text)
	}
	read("D9")
	a := s.do(http.MethodGet, "/app/spaces", nil)
	for _, text := range []string{"The partner has moved bed “Bed A” from “" + sandbox.DormName + "” to “Attic”.", "Map to Attic · Bed A", "Keep the mapping", "Remove the mapping"} {
		if !strings.Contains(a.text, text) {
			t.Errorf("the page lacks %q: %s", text, a.text)
		}
	}
	found, err := mapping.ListConflicts(w.Staff(t.Context()), &propertyv1.ListConflictsRequest{IntegrationId: w.IntegrationID})
	if err != nil || len(found.GetData().GetList()) != 1 {
		t.Fatalf("conflicts: %v, %v", found, err)
	}
	a = s.do(http.MethodPost, "/app/spaces", url.Values{"pms": {w.IntegrationID}, "do": {"cure"}, "conflict": {found.GetData().GetList()[0].GetId()}, "kind": {"map"}})
	if a.status != http.StatusSeeOther {
		t.Fatalf("the cure: %d %s", a.status, a.text)
	}
	listed, err := mapping.ListPartnerSpaces(w.Staff(t.Context()), &propertyv1.ListPartnerSpacesRequest{IntegrationId: w.IntegrationID, PageSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range listed.GetData().GetList() {
		if p.GetExternalId() == "D4-A" && p.GetSpaceId() != bed.GetData().GetId() {
			t.Errorf("the bed is mapped to %s", p.GetSpaceId())
		}
	}
	if a := s.do(http.MethodGet, "/app/spaces", nil); strings.Contains(a.text, "has moved bed") {
		t.Errorf("the conflict is open after its cure: %s", a.text)
	}
}
