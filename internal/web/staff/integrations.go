package staff

import (
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

// integrationRow is one connected app.
type integrationRow struct {
	*propertyv1.Integration
	Invitations *propertyv1.Invitations // whom they would reach; nil while they are on
}

// StateChip says whether calls reach an endpoint or a webhook of the PMS.
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

// shownSecret is a secret that a page shows once. Its name and its text are messages.
type shownSecret struct{ Name, Text, Value string }

type integrationsView struct {
	List       []integrationRow
	Apps       []*propertyv1.App // those that are not connected
	Secret     *shownSecret
	MayConnect bool
	MayRead    bool
}

func (s *site) showIntegrations(x *exchange) error { return x.integrationsPage(nil) }

// integrationsPage shows the connected apps and those that can be connected, with a secret that was just made, if there is one.
func (x *exchange) integrationsPage(secret *shownSecret) error {
	api := x.site.api
	found, err := api.Integrations.ListIntegrations(x.call(), &propertyv1.ListIntegrationsRequest{})
	if err != nil {
		return err
	}
	apps, err := api.Integrations.ListApps(x.call(), &propertyv1.ListAppsRequest{})
	if err != nil {
		return err
	}
	v := integrationsView{Secret: secret, MayConnect: x.may("manageCredentials"), MayRead: x.may("manageSpaces")}
	for _, i := range found.GetData().GetList() {
		if i.AppId == nil { // the property's own scripts
			continue
		}
		row := integrationRow{Integration: i}
		if !i.GetInvitationsEnabled() { // counting reads every booker
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

// connectApp connects an app, and shows its access token once.
func (s *site) connectApp(x *exchange) error {
	made, err := s.api.Integrations.ConnectApp(x.call(), &propertyv1.ConnectAppRequest{AppId: x.Value("app")})
	if err != nil {
		if f := s.Fault(err); f.Kind == fault.Invalid || f.Reason == fault.AlreadyExists {
			return x.Redirect("/app/settings/integrations")
		}
		return err
	}
	return x.integrationsPage(&shownSecret{"staff.token.access", "staff.token.access.text", made.GetAccessToken()})
}

// changeIntegration makes new credentials of an integration, each shown once, or revokes its access.
func (s *site) changeIntegration(x *exchange) error {
	id, api := x.R.PathValue("id"), s.api.Integrations
	switch x.Value("do") {
	case "token":
		made, err := api.RotateAccessToken(x.call(), &propertyv1.RotateAccessTokenRequest{Id: id})
		if err != nil {
			return err
		}
		return x.integrationsPage(&shownSecret{"staff.token.access", "staff.token.access.text", made.GetAccessToken()})
	case "signing":
		made, err := api.RotateSigningSecret(x.call(), &propertyv1.RotateSigningSecretRequest{Id: id})
		if err != nil {
			return err
		}
		return x.integrationsPage(&shownSecret{"staff.token.signing", "staff.token.signing.text", made.GetSigningSecret()})
	case "revoke":
		if _, err := api.RevokeAccessToken(x.call(), &propertyv1.RevokeAccessTokenRequest{Id: id}); err != nil {
			return err
		}
		return x.Redirect("/app/settings/integrations?done=revoked")
	}
	return x.Redirect("/app/settings/integrations")
}

// switchInvitations switches the mails to guests of an integration on or off.
func (s *site) switchInvitations(x *exchange) error {
	if x.Value("do") == "" {
		return x.Redirect("/app/settings/integrations")
	}
	if _, err := s.api.Mails.SetInvitations(x.call(), &propertyv1.SetInvitationsRequest{IntegrationId: x.R.PathValue("id"), Enabled: x.Value("do") == "on"}); err != nil {
		return err
	}
	return x.Redirect("/app/settings/integrations?done=saved")
}
