package staff

import (
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/web/kit"
)

// beginJoin begins to accept an invitation at the identity provider. The answer to a form cannot move the browser to the provider, so its page has
// a link.
func (x *exchange) beginJoin(i *propertyv1.InvitationForPerson) error {
	secret, name := x.R.PathValue("secret"), x.Value("name")
	p := x.newPage("staff.invite.title", "property", i.GetPropertyName())
	if _, err := staff.PersonName("name", name); err != nil && !i.GetKnown() { // before the person goes to the provider, and not after
		p.Refuse(x.site.Fault(err), inviteInputs(i, false))
		return x.invitePage(http.StatusUnprocessableEntity, p, secret, i, false)
	}
	begun, err := x.site.api.Identities.BeginIdentitySignIn(x.anonymous(), &propertyv1.BeginIdentitySignInRequest{Invitation: secret})
	if err != nil {
		return x.joinRefused(err, secret, i)
	}
	provider, err := x.provider()
	if err != nil {
		return err
	}
	x.keepIdentity(begun.GetData(), toJoin, staff.InvitationPath+secret, name)
	p.Data = providerView{Label: provider.GetLabel(), URL: begun.GetData().GetUrl()}
	return x.render(http.StatusOK, "go", p)
}

// finishJoin accepts an invitation with what the identity provider answered.
func (x *exchange) finishJoin(state, secret, name string, answer *propertyv1.IdentityAnswer) error {
	i, err := x.invitation(secret)
	if err != nil {
		return x.inviteRefused(err)
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

// joinRefused answers with the page of the invitation, and why the person did not join.
func (x *exchange) joinRefused(err error, secret string, i *propertyv1.InvitationForPerson) error {
	text := x.identityProblem(err)
	switch x.site.Fault(err).Reason {
	case fault.IdentityUnknown:
		text = "staff.invite.password"
	case fault.SecondFactorRequired:
		text = "staff.invite.app"
	}
	if text == "" {
		return err
	}
	p := x.newPage("staff.invite.title", "property", i.GetPropertyName())
	p.Wrong = []kit.Wrong{{Title: p.T("staff.login.wrong"), Text: p.T(text)}}
	return x.invitePage(http.StatusUnprocessableEntity, p, secret, i, false)
}
