package staff

import (
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

// integrationRow is one connected app.
type integrationRow struct {
	*propertyv1.Integration
	Invitations *propertyv1.Invitations // how many bookers would get a mail; nil if the mails are already on
}

// StateChip returns the chip that shows whether the calls to an endpoint or webhook of the PMS succeed. state is its state in the API.
func (integrationRow) StateChip(state string) chip {
	switch state {
	case "ok":
		return chip{"ok", "●", "staff.endpoint.ok"}
	case "failing":
		return chip{"bad", "✕", "staff.endpoint.failing"}
	case "disabled":
		return chip{"bad", "✕", "staff.endpoint.disabled"}
	}
	return chip{"unknown", "○", "staff.endpoint.unknown"}
}

// shownSecret is a new secret that a page shows only once. Name and Text are message kinds.
type shownSecret struct{ Name, Text, Value string }

// endpointResult is the result of the test of an endpoint. Action is the name of the endpoint, such as getSpaces.
type endpointResult struct {
	*propertyv1.EndpointTest
	Integration, Action string
}

type integrationsView struct {
	List       []integrationRow
	Tested     *endpointResult   // the result of a test, or nil
	Apps       []*propertyv1.App // apps that can be connected
	Secret     *shownSecret      // a new token or signing secret to show once, or nil
	MayConnect bool              // the person may connect apps and replace credentials
	MayRead    bool              // the person may test endpoints and read the spaces of the PMS
}

// showIntegrations handles the list of connected apps.
func (s *site) showIntegrations(x *exchange) error { return x.integrationsPage(nil, nil) }

// integrationsPage renders the connected apps and those that can be connected. It leaves out integrations without an app. secret is a new
// secret to show, and tested the result of a test; both may be nil.
func (x *exchange) integrationsPage(secret *shownSecret, tested *endpointResult) error {
	api := x.site.api
	found, err := api.Integrations.ListIntegrations(x.call(), &propertyv1.ListIntegrationsRequest{})
	if err != nil {
		return err
	}
	apps, err := api.Integrations.ListApps(x.call(), &propertyv1.ListAppsRequest{})
	if err != nil {
		return err
	}
	v := integrationsView{Secret: secret, Tested: tested, MayConnect: x.may("manageCredentials"), MayRead: x.may("manageSpaces")}
	for _, i := range found.GetData().GetList() {
		if i.AppId == nil { // an integration without an app is for scripts of the property
			continue
		}
		row := integrationRow{Integration: i}
		if !i.GetInvitationsEnabled() { // only if they are off, because counting the guests is slow
			preview, err := api.Mails.PreviewInvitations(x.call(), &propertyv1.PreviewInvitationsRequest{IntegrationId: i.GetId()})
			if err != nil {
				return err
			}
			row.Invitations = preview.GetData()
		}
		v.List = append(v.List, row)
	}
	for _, a := range apps.GetData().GetList() {
		if a.IntegrationId == nil {
			v.Apps = append(v.Apps, a)
		}
	}
	p := x.settingsPage("integrations")
	p.Data, p.secret = v, secret != nil
	return x.render(http.StatusOK, "integrations", p)
}

// connectApp handles the form that connects an app. The response shows its access token once. For an unknown app, or one that is connected
// already, it redirects to the list without an error.
func (s *site) connectApp(x *exchange) error {
	made, err := s.api.Integrations.ConnectApp(x.call(), &propertyv1.ConnectAppRequest{AppId: x.Value("app")})
	if err != nil {
		if f := s.Fault(err); f.Kind == fault.Invalid || f.Reason == fault.AlreadyExists {
			return x.Redirect("/app/settings/integrations")
		}
		return err
	}
	return x.integrationsPage(&shownSecret{"staff.token.access", "staff.token.access.text", made.GetAccessToken()}, nil)
}

// changeIntegration handles the forms of an integration. They replace the access token or the signing secret by a new one, which is shown
// once, or revoke the access. A replaced token ends at once. A replaced secret still signs calls, together with the new one.
func (s *site) changeIntegration(x *exchange) error {
	id, api := x.R.PathValue("id"), s.api.Integrations
	switch x.Value("do") {
	case "token":
		made, err := api.RotateAccessToken(x.call(), &propertyv1.RotateAccessTokenRequest{Id: id})
		if err != nil {
			return err
		}
		return x.integrationsPage(&shownSecret{"staff.token.access", "staff.token.access.text", made.GetAccessToken()}, nil)
	case "signing":
		made, err := api.RotateSigningSecret(x.call(), &propertyv1.RotateSigningSecretRequest{Id: id})
		if err != nil {
			return err
		}
		return x.integrationsPage(&shownSecret{"staff.token.signing", "staff.token.signing.text", made.GetSigningSecret()}, nil)
	case "revoke":
		if _, err := api.RevokeAccessToken(x.call(), &propertyv1.RevokeAccessTokenRequest{Id: id}); err != nil {
			return err
		}
		return x.Redirect("/app/settings/integrations?done=revoked")
	}
	return x.Redirect("/app/settings/integrations")
}

// testEndpoint handles the button that calls an endpoint of the PMS as a test. The page then shows what is wrong with the PMS's answer. For
// an endpoint that no longer exists, it redirects to the list without an error.
func (s *site) testEndpoint(x *exchange) error {
	integrationID, action := x.R.PathValue("id"), x.Value("action")
	found, err := s.api.Integrations.TestEndpoint(x.call(), &propertyv1.TestEndpointRequest{Id: integrationID, Action: action})
	if err != nil {
		if f := s.Fault(err); f.Kind == fault.Invalid || f.Reason == fault.EndpointNotFound {
			return x.Redirect("/app/settings/integrations") // the PMS removed the endpoint
		}
		return err
	}
	return x.integrationsPage(nil, &endpointResult{found.GetData(), integrationID, action})
}

// switchInvitations handles the switch that turns invitation mails to the guests of an integration on or off.
func (s *site) switchInvitations(x *exchange) error {
	if x.Value("do") == "" {
		return x.Redirect("/app/settings/integrations")
	}
	if _, err := s.api.Mails.SetInvitations(x.call(), &propertyv1.SetInvitationsRequest{IntegrationId: x.R.PathValue("id"), Enabled: x.Value("do") == "on"}); err != nil {
		return err
	}
	return x.Redirect("/app/settings/integrations?done=saved")
}
