package staff

import (
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// beginJoin starts to accept an invitation with an account of the identity provider. Because of the policy form-action, the response to a
// form cannot redirect to the provider. It is a page with a link to the provider or, for an invalid name, the form again.
func (x *exchange) beginJoin(i *propertyv1.InvitationForPerson) error {
	secret, name := x.R.PathValue("secret"), x.Value("name")
	p := x.newPage("staff.invite.title", "property", i.GetPropertyName())
	// The API checks the name now, so that the person does not visit the provider without success.
	begun, err := x.site.api.Identities.BeginIdentitySignIn(x.anonymous(), &propertyv1.BeginIdentitySignInRequest{Invitation: secret, Name: &name})
	if err != nil {
		if f := x.site.Fault(err); f.Kind == fault.Invalid && p.Refuse(f, inviteInputs(i, false)) {
			return x.invitePage(http.StatusUnprocessableEntity, p, secret, i, false)
		}
		return x.joinRefused(err, secret, i)
	}
	provider, err := x.provider()
	if err != nil {
		return err
	}
	x.keepIdentity(begun.GetData(), toJoin, InvitationPath+secret, name)
	p.Data = providerView{Label: provider.GetLabel(), URL: begun.GetData().GetUrl()}
	return x.render(http.StatusOK, "go", p)
}

// finishJoin accepts an invitation after the return from the identity provider. It signs the person in at the property of the invitation,
// and ends the former session of the browser. state, secret and name are from the cookie.
func (x *exchange) finishJoin(state, secret, name string, answer *propertyv1.IdentityAnswer) error {
	i, err := x.invitation(secret)
	if err != nil {
		return x.renderInvitationError(err)
	}
	if answer.Code == "" {
		return x.joinRefused(fault.New(fault.Unauthenticated, fault.IdentityRefused, "the answer has no code"), secret, i)
	}
	made, err := x.site.api.Identities.FinishIdentitySignIn(x.anonymous(), &propertyv1.FinishIdentitySignInRequest{
		State: state, Answer: answer, Device: kit.DeviceOf(x.R.UserAgent()), Invitation: secret, Name: name,
	})
	if err != nil {
		return x.joinRefused(err, secret, i)
	}
	x.endFormerSession()
	x.openProperty(made.GetPropertyId())
	return x.proceed(made.GetData(), "")
}

// joinRefused shows the invitation with the reason why it was not accepted. It returns other errors unchanged.
func (x *exchange) joinRefused(err error, secret string, i *propertyv1.InvitationForPerson) error {
	text := x.identityProblem(err)
	switch x.site.Fault(err).Reason {
	case fault.IdentityUnknown:
		text = "staff.invite.password"
	case fault.SecondFactorRequired:
		text = "staff.invite.app"
	case fault.IdentityTaken:
		text = "staff.invite.elsewhere"
	}
	if text == "" {
		return err
	}
	p := x.newPage("staff.invite.title", "property", i.GetPropertyName())
	p.Wrong = []kit.Wrong{{Title: p.T("staff.login.wrong"), Text: p.T(text)}}
	return x.invitePage(http.StatusUnprocessableEntity, p, secret, i, false)
}
