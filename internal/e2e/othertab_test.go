package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// createProperty creates a second property, and returns the secret of a link with which a person becomes its owner.
func createProperty(t *testing.T, w *e2etest.World) (propertyID, secret string) {
	t.Helper()
	name, zone := "Sea View", "Europe/Lisbon"
	made, err := adminv1.NewPropertyServiceClient(w.Socket).CreateProperty(t.Context(), &adminv1.CreatePropertyRequest{
		Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone},
	})
	if err != nil {
		t.Fatal(err)
	}
	propertyID = made.GetData().GetId()
	link, err := adminv1.NewOwnerServiceClient(w.Socket).CreateOwnerLink(t.Context(), &adminv1.CreateOwnerLinkRequest{PropertyId: propertyID})
	if err != nil {
		t.Fatal(err)
	}
	return propertyID, link.GetData().GetSecret()
}

// A form of a tab that shows one property changes nothing at the property that the person has opened in another tab.
func TestFormOfAnotherTab(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	second, secret := createProperty(t, w)
	if a := s.do(http.MethodPost, "/app/first/"+secret, url.Values{"name": {"Ada"}, "email": {"ada@example.com"}, "password": {password}}); a.moved != "/app/" {
		t.Fatalf("join the second property: %d to %q: %s", a.status, a.moved, a.text)
	}
	open := func(id string) {
		t.Helper()
		// The choice works from each tab: its form has the id of the property of that tab.
		if a := s.do(http.MethodPost, "/app/property", url.Values{"property": {id}, "pageProperty": {"prp_other"}}); a.moved != "/app/" {
			t.Fatalf("open %s: %d %s", id, a.status, a.text)
		}
	}
	field := func(id string) string { return `name="pageProperty" value="` + id + `"` }
	open(w.PropertyID)
	if a := s.do(http.MethodGet, "/app/settings/people", nil); !strings.Contains(a.text, field(w.PropertyID)) || !strings.Contains(a.text, `data-property="`+w.PropertyID+`"`) {
		t.Errorf("the page of the first property: %s", a.text)
	}
	open(second)
	posts := map[string]url.Values{
		"/app/spaces/new":      {"space.type": {"Room"}, "space.name": {"Attic"}},
		"/app/settings/people": {"email": {"eve@example.com"}, "role": {"manager"}},
	}
	for path, form := range posts {
		form.Set("pageProperty", w.PropertyID)
		if a := s.do(http.MethodPost, path, form); a.status != http.StatusConflict || !strings.Contains(a.text, "This page was of another property") {
			t.Errorf("%s of the other property: %d to %q: %s", path, a.status, a.moved, a.text)
		}
	}
	for path, text := range map[string]string{"/app/spaces": "Attic", "/app/settings/people": "eve@example.com"} {
		if a := s.do(http.MethodGet, path, nil); a.status != http.StatusOK || strings.Contains(a.text, text) || !strings.Contains(a.text, `data-property="`+second+`"`) {
			t.Errorf("%s after a form of the other property: %d %s", path, a.status, a.text)
		}
	}
	form := posts["/app/spaces/new"]
	form.Set("pageProperty", second)
	if a := s.do(http.MethodPost, "/app/spaces/new", form); a.moved != "/app/spaces?done=created" {
		t.Errorf("a form of this property: %d to %q: %s", a.status, a.moved, a.text)
	}
	if a := s.do(http.MethodPost, "/app/account/sessions", url.Values{"all": {"yes"}, "pageProperty": {w.PropertyID}}); a.status != http.StatusSeeOther {
		t.Errorf("a form about the person: %d %s", a.status, a.text)
	}
}

// What a person typed before the second factor was asked for comes back on the page of the same property alone.
func TestTypedAtAnotherProperty(t *testing.T) {
	t.Parallel()
	now := &e2etest.Offset{}
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Options.Clock = now })
	ada, s := signUp(t, w, "ada@example.com"), newSurfer(t, w)
	second, secret := createProperty(t, w)
	if _, err := propertyv1.NewSessionServiceClient(w.Public).CreateFirstOwner(t.Context(), &propertyv1.CreateFirstOwnerRequest{Secret: secret, Email: ada.email, Name: "Ada", Password: password}); err != nil {
		t.Fatal(err)
	}
	token, _, _ := addApp(t, w, ada, now.Now)
	s.setCookie("lk-staff", token)
	open := func(id string) {
		t.Helper()
		if a := s.do(http.MethodPost, "/app/property", url.Values{"property": {id}}); a.moved != "/app/" {
			t.Fatalf("open %s: %d %s", id, a.status, a.text)
		}
	}
	open(w.PropertyID)
	now.Set(15 * time.Minute)
	if a := s.do(http.MethodPost, "/app/settings/people", url.Values{"email": {"eve@example.com"}, "role": {"manager"}}); !strings.HasPrefix(a.moved, "/app/confirm") {
		t.Fatalf("no second factor is asked for: %d to %q", a.status, a.moved)
	}
	for _, at := range []struct {
		id    string
		shown bool
	}{{second, false}, {w.PropertyID, true}} {
		open(at.id)
		if a := s.do(http.MethodGet, "/app/settings/people", nil); a.status != http.StatusOK || strings.Contains(a.text, "eve@example.com") != at.shown {
			t.Errorf("%s shows what was typed: want %v; %d", at.id, at.shown, a.status)
		}
	}
}
