package operator

import (
	"net/http"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

type staffTokensView struct {
	ID, Property string
	Rows         []tokenRow
	Inputs       []kit.Input
	Secret       *shownSecret // a new staff token, or nil
}

// staffTokenRoles are the roles that a staff token can have, the weakest first.
var staffTokenRoles = []kit.Option{
	{Value: "viewer", Kind: "operator.staffToken.role.viewer"}, {Value: "operator", Kind: "operator.staffToken.role.operator"}, {Value: "owner", Kind: "operator.staffToken.role.owner"},
}

// staffTokenInputs returns the form fields of a new staff token.
func staffTokenInputs() []kit.Input {
	return []kit.Input{
		{Name: "name", Label: "operator.token.who", Hint: "operator.staffToken.who.hint", Autocomplete: "off"},
		{Name: "role", Label: "operator.staffToken.role", Options: staffTokenRoles, Value: "viewer"},
		{Name: "days", Label: "operator.token.days", Options: lifetimes, Value: "30"},
	}
}

// showStaffTokens handles the page with the API tokens for staff of one property.
func (s *site) showStaffTokens(x *exchange) error {
	return x.staffTokensPage(http.StatusOK, staffTokensView{Inputs: staffTokenInputs()}, nil)
}

// staffTokensPage renders the staff tokens of the property in the path. f is why the API refused the posted form, or nil. An f that is not
// about the form is returned.
func (x *exchange) staffTokensPage(status int, v staffTokensView, f *fault.Fault) error {
	v.ID = x.R.PathValue("id")
	property, err := x.site.api.Properties.GetProperty(x.call(), &adminv1.GetPropertyRequest{Id: v.ID})
	if err != nil {
		return err
	}
	found, err := x.site.api.Tokens.ListStaffTokens(x.call(), &adminv1.ListStaffTokensRequest{PropertyId: v.ID})
	if err != nil {
		return err
	}
	v.Property = property.GetData().GetName()
	v.Rows = tokenRows(found.GetData().GetList(), "/operator/properties/"+v.ID+"/tokens", "operator.staffToken.revoke.text")
	p := x.newPage("operator.staffTokens.title")
	p.Here, p.Back, p.Data, p.secret = "properties", "/operator/properties/"+v.ID, v, v.Secret != nil
	if f != nil && !refuse(p, f, v.Inputs) {
		return f
	}
	return x.render(status, "stafftokens", p)
}

// changeStaffTokens handles the forms of the page. They create a staff token, which is shown once, or revoke one. For an invalid lifetime
// it shows an error page and creates none.
func (s *site) changeStaffTokens(x *exchange) error {
	id := x.R.PathValue("id")
	switch x.Value("do") {
	case "create":
		minutes, ok := x.lifetime()
		if !ok {
			return x.problem(http.StatusBadRequest, "staff.problem.form")
		}
		made, err := s.api.Tokens.CreateStaffToken(x.call(), &adminv1.CreateStaffTokenRequest{
			PropertyId: id, Name: x.Value("name"), Role: x.Value("role"), TtlMinutes: minutes,
		})
		if err != nil {
			return x.staffTokensPage(http.StatusUnprocessableEntity, staffTokensView{Inputs: x.Posted(staffTokenInputs())}, s.Fault(err))
		}
		return x.staffTokensPage(http.StatusOK, staffTokensView{Inputs: staffTokenInputs(), Secret: &shownSecret{"operator.staffToken", "operator.staffToken.text", made.GetToken()}}, nil)
	case "revoke":
		if _, err := s.api.Tokens.RevokeStaffToken(x.call(), &adminv1.RevokeStaffTokenRequest{PropertyId: id, Id: x.Value("token")}); err != nil {
			return err
		}
		return x.Redirect("/operator/properties/" + id + "/tokens?done=revoked")
	}
	return x.Redirect("/operator/properties/" + id + "/tokens")
}
