package e2e

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// TestSpacesPage makes the rooms of the PMS with two dorms whose beds have the same names, and changes a mapping that a colleague has changed
// since the page was shown.
func TestSpacesPage(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	listed := sandbox.PMSSpaces()
	for _, dorm := range []string{"D8", "D9"} {
		listed = append(listed, sandbox.Space{ID: dorm, Type: "Dorm", Name: "Dorm " + dorm, IsActive: true})
		for _, bed := range []string{"1", "2"} {
			listed = append(listed, sandbox.Space{ID: dorm + "-" + bed, Type: "Bed", Name: "Berth " + bed, IsActive: true, ParentID: dorm})
		}
	}
	w.PMS.SetSpaces(append(listed, sandbox.Space{ID: "D8-0", Type: "Bed", Name: "Berth 0", ParentID: "D8"}))
	pms := url.Values{"pms": {w.IntegrationID}}
	if a := s.do(http.MethodPost, "/app/spaces/read", pms); a.status != http.StatusSeeOther {
		t.Fatalf("read the rooms: %d %s", a.status, a.text)
	}
	if a := s.do(http.MethodGet, "/app/spaces", nil); !strings.Contains(a.text, "6 rooms and beds are not among yours") {
		t.Errorf("the page: %s", a.text)
	}
	if a := s.do(http.MethodPost, "/app/spaces", url.Values{"pms": {w.IntegrationID}, "do": {"missing"}}); !strings.Contains(a.moved, "done=taken") {
		t.Fatalf("make the rooms: %d to %q: %s", a.status, a.moved, a.text)
	}
	partner, err := propertyv1.NewMappingServiceClient(w.Public).ListPartnerSpaces(w.Staff(t.Context()), &propertyv1.ListPartnerSpacesRequest{IntegrationId: w.IntegrationID, PageSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	own, err := propertyv1.NewSpaceServiceClient(w.Public).ListSpaces(w.Staff(t.Context()), &propertyv1.ListSpacesRequest{PageSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	ids, dorms := map[string]string{}, map[string]string{}
	for _, p := range partner.GetData().GetList() {
		if ids[p.GetExternalId()] = p.GetSpaceId(); p.GetIsActive() == (p.GetSpaceId() == "") {
			t.Errorf("%s is mapped to %q", p.GetExternalId(), p.GetSpaceId())
		}
	}
	for _, o := range own.GetData().GetList() {
		dorms[o.GetId()] = o.GetParentSpaceId()
	}
	for _, dorm := range []string{"D8", "D9"} {
		for _, bed := range []string{"-1", "-2"} {
			if got := dorms[ids[dorm+bed]]; got != ids[dorm] {
				t.Errorf("%s is in %s, want in %s", dorm+bed, got, ids[dorm])
			}
		}
	}

	first, second := ids["R101"], ids["R102"]
	mapped := func() string {
		found, err := propertyv1.NewMappingServiceClient(w.Public).ListPartnerSpaces(w.Staff(t.Context()), &propertyv1.ListPartnerSpacesRequest{IntegrationId: w.IntegrationID, PageSize: 200})
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]string{first: "first", second: "second", "": "none"}
		var texts []string
		for _, p := range found.GetData().GetList() {
			if p.GetExternalId() == "R101" || p.GetExternalId() == "R102" {
				texts = append(texts, p.GetExternalId()+" "+at[p.GetSpaceId()])
			}
		}
		slices.Sort(texts)
		return strings.Join(texts, ", ")
	}
	page, room := s.do(http.MethodGet, "/app/spaces", nil), s.do(http.MethodGet, "/app/spaces/rooms/"+first, nil)
	choose := func(seen shown, of map[string][2]string, more ...string) shown {
		form := url.Values{"pms": {w.IntegrationID}, "do": {"rows"}, "lastChange": {seen.field("lastChange")}}
		for id, was := range of {
			form["space"] = append(form["space"], id)
			form.Set("was."+id, was[0])
			form.Set("map."+id, was[1])
		}
		for _, name := range more {
			form.Set(name, "yes")
		}
		return s.do(http.MethodPost, "/app/spaces", form)
	}
	if a := choose(page, map[string][2]string{first: {"R101", "R102"}, second: {"R102", "R102"}}); a.status != http.StatusUnprocessableEntity ||
		strings.Count(a.text, "is chosen twice") != 4 || strings.Count(a.text, `<option value="R102" selected>`) != 2 {
		t.Errorf("a room that is chosen twice: %d %s", a.status, a.text)
	}
	if a := choose(page, map[string][2]string{first: {"R101", ""}, second: {"R102", "R101"}}); a.status != http.StatusSeeOther {
		t.Fatalf("a colleague moves a room: %d %s", a.status, a.text)
	}
	want := "R101 second, R102 none"
	if got := mapped(); got != want {
		t.Fatalf("moved: %s", got)
	}
	for name, a := range map[string]shown{
		"all rooms":   choose(page, map[string][2]string{first: {"R101", ""}}),
		"the preview": choose(page, map[string][2]string{first: {"R101", ""}}, "preview"),
		"the room":    s.do(http.MethodPost, "/app/spaces/rooms/"+first, url.Values{"do": {"map"}, "pms": {w.IntegrationID}, "was": {"R101"}, "map": {""}, "lastChange": {room.field("lastChange")}}),
		"new rooms":   s.do(http.MethodPost, "/app/spaces", url.Values{"do": {"missing"}, "pms": {w.IntegrationID}, "lastChange": {page.field("lastChange")}}),
		"suggestions": s.do(http.MethodPost, "/app/spaces", url.Values{"do": {"exact"}, "pms": {w.IntegrationID}, "lastChange": {page.field("lastChange")}}),
	} {
		if got := mapped(); got != want || !strings.Contains(a.text, "The mapping has changed meanwhile") {
			t.Errorf("%s, with an old page: %s, status %d to %q", name, got, a.status, a.moved)
		}
	}
	if a := s.do(http.MethodGet, "/app/spaces/changes?pms="+w.IntegrationID, nil); !strings.Contains(a.text, `<td class="stage">Ada</td>`) {
		t.Errorf("the changes do not name who made them: %s", a.text)
	}
	if a := s.do(http.MethodGet, "/app/audit", nil); !strings.Contains(a.text, "Ada<br><code") {
		t.Errorf("the audit log does not name who called: %s", a.text)
	}
	preview := choose(s.do(http.MethodGet, "/app/spaces", nil), map[string][2]string{second: {"R101", ""}}, "preview")
	if preview.status != http.StatusOK || preview.field("lastChange") == "" {
		t.Errorf("a preview: %d %s", preview.status, preview.text)
	}
}
