package staff

import (
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// InvitationPath is the path of the page on which an invited person joins a property. The secret of the link follows it.
const InvitationPath = "/app/invite/"

// inviteInputs returns the form fields with which a person accepts an invitation. They depend on whether the person has an account. code
// adds the field of the second factor.
func inviteInputs(i *propertyv1.InvitationForPerson, code bool) (inputs []kit.Input) {
	if i.GetKnown() {
		inputs = append(inputs, kit.Input{Name: "password", Label: "staff.password", Type: "password", Autocomplete: "current-password"})
	} else {
		inputs = append(inputs, kit.Input{Name: "name", Label: "staff.name", Autocomplete: "name"},
			kit.Input{Name: "password", Label: "staff.password", Hint: "staff.password.hint", Type: "password", Autocomplete: "new-password"})
	}
	if code {
		inputs = append(inputs, codeInputs()...)
	}
	return inputs
}

// invitation loads the invitation of the link with this secret. It fails if the invitation has expired or does not exist: see
// renderInvitationError.
func (x *exchange) invitation(secret string) (*propertyv1.InvitationForPerson, error) {
	found, err := x.site.api.Sessions.GetInvitation(x.anonymous(), &propertyv1.GetInvitationRequest{Secret: secret})
	return found.GetData(), err
}

// invitePage renders an invitation with the form to accept it. secret is that of the link. code adds the field of the second factor.
func (x *exchange) invitePage(status int, p *page, secret string, i *propertyv1.InvitationForPerson, code bool) error {
	v := formView{Text: "staff.invite.new", Inputs: x.Posted(inviteInputs(i, code)), Button: "staff.invite.do", Action: InvitationPath + secret, About: p.T("staff.invite.text", "email", i.GetEmail(), "role", p.Or("staff.role."+i.GetRole(), "staff.role"))}
	if i.GetKnown() {
		v.Text = "staff.invite.known"
	}
	provider, err := x.provider()
	if err != nil {
		return err
	}
	if provider != nil {
		v.Provider = &providerView{Label: provider.GetLabel()}
	}
	return x.form(status, p, v)
}

// showInvite handles the link of an invitation. It only shows a form, because mail scanners open links.
func (s *site) showInvite(x *exchange) error {
	i, err := x.invitation(x.R.PathValue("secret"))
	if err != nil {
		return x.renderInvitationError(err)
	}
	return x.invitePage(http.StatusOK, x.newPage("staff.invite.title", "property", i.GetPropertyName()), x.R.PathValue("secret"), i, false)
}

// renderInvitationError shows that the invitation has expired or does not exist. It returns other errors unchanged.
func (x *exchange) renderInvitationError(err error) error {
	if k := x.site.Fault(err).Kind; k == fault.NotFound || k == fault.Invalid {
		return x.problem(http.StatusNotFound, "staff.invite.ended")
	}
	return err
}

// acceptInvite handles the form that accepts an invitation. It makes the person a member of the property and signs them in there; a former
// session of the browser ends. If the account needs the code of a second factor, it shows the form again with a field for it. The button of
// the identity provider calls beginJoin instead. A POST without the key of the page's form changes nothing, because some mail scanners post
// to links.
func (s *site) acceptInvite(x *exchange) error {
	if x.Key() == "" {
		return s.showInvite(x)
	}
	i, err := x.invitation(x.R.PathValue("secret"))
	if err != nil {
		return x.renderInvitationError(err)
	}
	if x.Value("do") == "provider" {
		return x.beginJoin(i)
	}
	made, err := s.api.Sessions.AcceptInvitation(x.anonymous(), &propertyv1.AcceptInvitationRequest{
		Secret: x.R.PathValue("secret"), Name: x.Value("name"), Password: x.passwordOf("password"), Code: x.Value("code"), Device: kit.DeviceOf(x.R.UserAgent()),
	})
	if err == nil {
		x.endFormerSession()
		x.openProperty(made.GetPropertyId())
		return x.proceed(made.GetData(), "")
	}
	p, f, code := x.newPage("staff.invite.title", "property", i.GetPropertyName()), s.Fault(err), x.R.PostForm.Has("code")
	switch {
	case f.Reason == fault.SecondFactorRequired:
		code = true
		p.Wrong = []kit.Wrong{{ID: "f-code", Label: p.T("staff.code"), Text: p.T("staff.code.hint")}}
	case f.Kind == fault.Unauthenticated:
		p.Wrong = []kit.Wrong{{ID: "f-password", Label: p.T("staff.password"), Text: p.T("staff.first.known")}}
	case f.Kind != fault.Invalid || !p.Refuse(f, inviteInputs(i, code)):
		return err
	}
	return x.invitePage(http.StatusUnprocessableEntity, p, x.R.PathValue("secret"), i, code)
}
