package staff

import (
	"net/http"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/staff"
)

// The page of integrations offers below only what is there, and otherwise says who adds a system.
func TestIntegrationsSayWhatCanBeConnected(t *testing.T) {
	const below, first, other = "Connect one below.", "first adds it at /operator/apps", "No other system can be connected."
	app := &propertyv1.App{Id: "app_1", Name: "Mews"}
	mews := &propertyv1.Integration{Id: "int_1", AppId: new("app_1"), Name: "Mews", InvitationsEnabled: true}
	for name, c := range map[string]struct {
		role         staff.Role
		apps         []*propertyv1.App
		integrations []*propertyv1.Integration
		want         string
	}{
		"nothing":                {staff.Owner, nil, nil, first},
		"an app":                 {staff.Owner, []*propertyv1.App{app}, nil, below},
		"an app that others add": {staff.Manager, []*propertyv1.App{app}, nil, ""},
		"an integration":         {staff.Owner, nil, []*propertyv1.Integration{mews}, other},
		"an integration, an app": {staff.Owner, []*propertyv1.App{app}, []*propertyv1.Integration{mews}, ""},
	} {
		f := &fakeAPI{role: c.role, apps: c.apps, integrations: c.integrations}
		status, body := f.get(t, "/app/settings/integrations", "en")
		if status != http.StatusOK {
			t.Fatalf("%s: %d: %s", name, status, body)
		}
		for _, text := range []string{below, first, other} {
			if strings.Contains(body, text) != (text == c.want) {
				t.Errorf("%s: %q is on the page: %t", name, text, text != c.want)
			}
		}
	}
}

// What is wrong with an endpoint is in the language of the page.
func TestProblemsOfEndpointsAreTranslated(t *testing.T) {
	const english, german = "the partner's getSpaces could not be reached", "Der Name des Servers ist nicht bekannt"
	problem := &propertyv1.EndpointProblem{Kind: "lookup", Text: german}
	f := &fakeAPI{role: staff.Owner, integrations: []*propertyv1.Integration{{
		Id: "int_1", AppId: new("app_1"), Name: "Mews", InvitationsEnabled: true,
		Endpoints: []*propertyv1.Endpoint{{Action: "getSpaces", LastError: new(english), LastProblem: problem}}, Webhooks: []*propertyv1.Webhook{{Host: "pms.example", LastError: new(english), LastProblem: problem}},
	}}}
	_, body := f.get(t, "/app/settings/integrations", "de")
	if strings.Contains(body, english) || strings.Count(body, german) != 2 {
		t.Error(body)
	}
}
