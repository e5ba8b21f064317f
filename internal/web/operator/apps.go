package operator

import (
	"net/http"
	"slices"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

type appsView struct {
	List   []*adminv1.App
	Inputs []kit.Input
	Secret *shownSecret // the client token of a new app, or nil
}

// appInputs returns the form fields of a new app.
func appInputs() []kit.Input {
	return []kit.Input{{Name: "name", Label: "operator.app.name", Hint: "operator.app.name.hint", Autocomplete: "off"}}
}

// showApps handles GET /operator/apps: the list of apps and the form of a new app.
func (s *site) showApps(x *exchange) error {
	return x.appsPage(http.StatusOK, appsView{Inputs: appInputs()}, nil)
}

// appsPage renders the list of apps. f is why the API refused the posted form, or nil. An f that is not about the form is returned.
func (x *exchange) appsPage(status int, v appsView, f *fault.Fault) error {
	found, err := x.site.api.Apps.ListApps(x.call(), &adminv1.ListAppsRequest{})
	if err != nil {
		return err
	}
	v.List = found.GetData().GetList()
	p := x.areaPage("apps")
	p.Data, p.secret = v, v.Secret != nil
	if f != nil && !refuse(p, f, v.Inputs) {
		return f
	}
	return x.render(status, "apps", p)
}

// createApp handles the form of a new app (a PMS vendor). The response shows the app's first client token, which no later page shows. A
// refused form is shown again with its errors.
func (s *site) createApp(x *exchange) error {
	made, err := s.api.Apps.CreateApp(x.call(), &adminv1.CreateAppRequest{Name: x.Value("name")})
	if err != nil {
		return x.appsPage(http.StatusUnprocessableEntity, appsView{Inputs: x.Posted(appInputs())}, s.Fault(err))
	}
	return x.appsPage(http.StatusOK, appsView{Inputs: appInputs(), Secret: clientToken(made.GetClientToken())}, nil)
}

// clientToken returns the part of the page that shows a new client token once. secret is the token.
func clientToken(secret string) *shownSecret {
	return &shownSecret{"operator.app.token", "operator.app.token.text", secret}
}

type appView struct {
	*adminv1.App
	Rows   []tokenRow
	Inputs []kit.Input
	Secret *shownSecret // a new client token, or nil
}

// appTokenInputs returns the form fields of a new client token.
func appTokenInputs() []kit.Input {
	return []kit.Input{{Name: "name", Label: "operator.token.name", Hint: "operator.token.name.hint", Autocomplete: "off"}}
}

// showApp handles the page of one app with its client tokens. For an unknown app it shows a 404 page.
func (s *site) showApp(x *exchange) error {
	return x.appPage(http.StatusOK, appView{Inputs: appTokenInputs()}, nil)
}

// appPage renders the page of the app in the path, or a 404 page if there is no such app. f is why the API refused the posted form, or nil.
// An f that is not about the form is returned.
func (x *exchange) appPage(status int, v appView, f *fault.Fault) error {
	id, api := x.R.PathValue("id"), x.site.api.Apps
	tokens, err := api.ListClientTokens(x.call(), &adminv1.ListClientTokensRequest{AppId: id})
	if err != nil {
		return err
	}
	apps, err := api.ListApps(x.call(), &adminv1.ListAppsRequest{})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(apps.GetData().GetList(), func(a *adminv1.App) bool { return a.GetId() == id })
	if at < 0 {
		return x.problem(http.StatusNotFound, "staff.problem.unknown")
	}
	v.App, v.Rows = apps.GetData().GetList()[at], tokenRows(tokens.GetData().GetList(), "/operator/apps/"+id, "operator.app.revoke.text")
	p := x.newPage("operator.app.title")
	p.Here, p.Back, p.Data, p.secret = "apps", "/operator/apps", v, v.Secret != nil
	if f != nil && !refuse(p, f, v.Inputs) {
		return f
	}
	return x.render(status, "app", p)
}

// changeApp handles the forms of an app's page. They create a client token, which is shown once, replace all tokens by a new one (the old
// ones expire after rotateOverlap), or revoke one token at once.
func (s *site) changeApp(x *exchange) error {
	id := x.R.PathValue("id")
	switch x.Value("do") {
	case "create":
		made, err := s.api.Apps.CreateClientToken(x.call(), &adminv1.CreateClientTokenRequest{AppId: id, Name: x.Value("name")})
		if err != nil {
			return x.appPage(http.StatusUnprocessableEntity, appView{Inputs: x.Posted(appTokenInputs())}, s.Fault(err))
		}
		return x.appPage(http.StatusOK, appView{Inputs: appTokenInputs(), Secret: clientToken(made.GetClientToken())}, nil)
	case "rotate":
		made, err := s.api.Apps.RotateClientToken(x.call(), &adminv1.RotateClientTokenRequest{AppId: id, OverlapMinutes: rotateOverlap})
		if err != nil {
			return err
		}
		return x.appPage(http.StatusOK, appView{Inputs: appTokenInputs(), Secret: clientToken(made.GetClientToken())}, nil)
	case "revoke":
		if _, err := s.api.Apps.RevokeClientToken(x.call(), &adminv1.RevokeClientTokenRequest{AppId: id, Id: x.Value("token")}); err != nil {
			return err
		}
		return x.Redirect("/operator/apps/" + id + "?done=revoked")
	}
	return x.Redirect("/operator/apps/" + id)
}

// rotateOverlap is how many minutes the old client tokens of an app stay valid after "replace all": a day.
const rotateOverlap = 24 * 60
