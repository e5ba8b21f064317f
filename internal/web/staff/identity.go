package staff

import (
	"encoding/base64"
	"net/http"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// IdentityPath is the path of the page to which the identity provider (OpenID Connect) redirects people after the sign-in there.
const IdentityPath = "/app/login/oidc/callback"

// identityCookie is the name of the cookie about a visit to the identity provider: its purpose, its state, the page to return to, and for an
// invitation the name of the person. The secret state is only in this cookie and not in the URL to which the provider returns, so that no
// other browser can finish the sign-in.
const identityCookie = "lk-staff-identity"

// Purposes of a visit to the identity provider: to sign in, to sign in again, to link an account, and to accept an invitation.
const (
	toSignIn = "login"
	toProve  = "again"
	toLink   = "link"
	toJoin   = "join"
)

// providerView is the identity provider as pages show it.
type providerView struct {
	Label string
	URL   string // URL of the next step; "": a button of the page's form begins it
	On    bool   // the person's account is linked to the provider
}

// provider returns the identity provider of the server, or nil without an error if the server has none.
func (x *exchange) provider() (*propertyv1.IdentityProvider, error) {
	found, err := x.site.api.Identities.GetIdentityProvider(x.anonymous(), &propertyv1.GetIdentityProviderRequest{})
	if err != nil || found.GetData().GetIssuer() == "" {
		return nil, err
	}
	return found.GetData(), nil
}

// keepIdentity stores a visit to the identity provider in the cookie. use is its purpose, to the page to return to, and name the name that
// an invited person entered.
func (x *exchange) keepIdentity(c *propertyv1.IdentityCeremony, use, to, name string) {
	x.SetCookie(identityCookie, strings.Join([]string{use, c.GetState(), url64(to), url64(name)}, "."), c.GetEndsAt().AsTime())
}

// identityCeremony returns what keepIdentity stored, and deletes the cookie, so that it is used once. Without the cookie, all values are
// "". to is also "" if it is no page of the dashboard.
func (x *exchange) identityCeremony() (use, state, to, name string) {
	parts := append(strings.Split(x.Cookie(identityCookie), "."), "", "", "")
	x.DropCookie(identityCookie)
	return parts[0], parts[1], localPage(fromURL64(parts[2])), fromURL64(parts[3])
}

// beginIdentityLogin handles the link that starts a sign-in at the identity provider. It is a link and not a form, because browsers apply the
// policy form-action also to the redirect after a form. Requests from other sites are sent to the sign-in page.
func (s *site) beginIdentityLogin(x *exchange) error {
	to := localPage(x.R.URL.Query().Get("to"))
	if x.R.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return x.Redirect(listURL("/app/login", "again", x.R.URL.Query().Get("again"), "to", to))
	}
	use := toSignIn
	if x.signsInAgain() {
		use = toProve
	}
	begun, err := s.api.Identities.BeginIdentitySignIn(x.anonymous(), &propertyv1.BeginIdentitySignInRequest{Fresh: use == toProve})
	if err != nil {
		return x.identityRefused(err, to)
	}
	x.keepIdentity(begun.GetData(), use, to, "")
	return x.Redirect(begun.GetData().GetUrl())
}

// finishIdentity handles the return from the identity provider. It finishes the sign-in, the link or the invitation, by the purpose in the
// cookie.
func (s *site) finishIdentity(x *exchange) error {
	use, state, to, name := x.identityCeremony()
	x.proves = use == toProve
	q := x.R.URL.Query()
	answer := &propertyv1.IdentityAnswer{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss")}
	switch use {
	case toLink:
		return x.finishLink(state, answer)
	case toJoin:
		return x.finishJoin(state, strings.TrimPrefix(to, InvitationPath), name, answer)
	}
	if state == "" || answer.Code == "" {
		// The provider refused, the person opened the URL again, or another browser began the sign-in.
		return x.identityRefused(fault.New(fault.Unauthenticated, fault.IdentityRefused, "the answer has no code, or this browser began no sign-in"), to)
	}
	made, err := s.api.Identities.FinishIdentitySignIn(x.anonymous(), &propertyv1.FinishIdentitySignInRequest{
		State: state, Answer: answer, Device: kit.DeviceOf(x.R.UserAgent()), Fresh: x.proves,
	})
	if err != nil {
		return x.identityRefused(err, to)
	}
	x.endFormerSession()
	return x.proceed(made.GetData(), to)
}

// identityProblem returns the kind of the message about an error of the identity provider, or "" for other errors.
func (x *exchange) identityProblem(err error) string {
	f := x.site.Fault(err)
	switch f.Reason {
	case fault.IdentityUnknown:
		return "staff.identity.unknown"
	case fault.AccountDisabled:
		return "staff.identity.disabled"
	case fault.IdentityNotFresh:
		return "staff.identity.notFresh"
	case fault.IdentityTaken:
		return "staff.identity.taken"
	case fault.IdentityAddress:
		return "staff.identity.address"
	case fault.ProviderUnavailable:
		return "staff.identity.down"
	case fault.IdentityRefused:
		return "staff.identity.refused"
	case fault.TooManyAttempts:
		return "staff.problem.tooMany.text"
	}
	if f.Kind == fault.Invalid { // the browser sent a parameter that no provider sends
		return "staff.identity.refused"
	}
	return ""
}

// identityRefused renders the sign-in page with the reason why the sign-in at the provider failed. to is the page to return to. It returns
// an err that is not about the provider unchanged.
func (x *exchange) identityRefused(err error, to string) error {
	text := x.identityProblem(err)
	if text == "" {
		return err
	}
	p := x.newPage("staff.login.title")
	p.Wrong = []kit.Wrong{{Title: p.T("staff.login.wrong"), Text: p.T(text)}}
	return x.loginPage(http.StatusUnprocessableEntity, p, loginInputs(), to)
}

// showIdentity handles the page that links the person's account to the identity provider.
func (s *site) showIdentity(x *exchange) error { return x.identityPage(http.StatusOK, "", nil) }

// identityPage renders the page that links the account to the identity provider. address is the URL of the provider, or "" until the person
// presses the button. wrong are errors to show. Without a provider, it redirects to the account.
func (x *exchange) identityPage(status int, address string, wrong []kit.Wrong) error {
	provider, err := x.provider()
	if err != nil {
		return err
	}
	if provider == nil {
		return x.Redirect("/app/account")
	}
	p := x.newPage("staff.identity.title", "provider", provider.GetLabel())
	p.Back, p.Here, p.Wrong = "/app/account", "account", wrong
	p.Data = providerView{Label: provider.GetLabel(), URL: address, On: x.session.GetHasIdentityLink()}
	return x.render(status, "identity", p)
}

// changeIdentity handles the forms of the page that links the account to the identity provider. One form begins to link it, the other
// removes the link. The policy form-action forbids a redirect from a form to the provider, so the response is a page with a link to it.
func (s *site) changeIdentity(x *exchange) error {
	if x.Value("do") == "unlink" {
		if _, err := s.api.Identities.DeleteIdentityLink(x.call(), &propertyv1.DeleteIdentityLinkRequest{}); err != nil {
			return x.notUnlinked(err)
		}
		return x.Redirect("/app/account/identity?done=unlinked")
	}
	begun, err := s.api.Identities.BeginIdentityLink(x.call(), &propertyv1.BeginIdentityLinkRequest{})
	if err != nil {
		return x.notLinked(err)
	}
	x.keepIdentity(begun.GetData(), toLink, "", "")
	return x.identityPage(http.StatusOK, begun.GetData().GetUrl(), nil)
}

// finishLink links the account of the signed-in person after the return from the provider. state is from the cookie. Without a session, the
// browser goes to the sign-in page.
func (x *exchange) finishLink(state string, answer *propertyv1.IdentityAnswer) error {
	if x.token == "" || x.load() != nil {
		return x.Redirect("/app/login?to=/app/account/identity")
	}
	if answer.Code == "" {
		return x.notLinked(fault.New(fault.Unauthenticated, fault.IdentityRefused, "the answer has no code"))
	}
	if _, err := x.site.api.Identities.FinishIdentityLink(x.call(), &propertyv1.FinishIdentityLinkRequest{State: state, Answer: answer}); err != nil {
		return x.notLinked(err)
	}
	return x.Redirect("/app/account/identity?done=linked")
}

// notUnlinked shows the page with the reason why the link cannot be removed: the person has no password. It returns other errors unchanged.
func (x *exchange) notUnlinked(err error) error {
	if x.site.Fault(err).Reason != fault.PasswordMissing {
		return err
	}
	return x.identityPage(http.StatusConflict, "", []kit.Wrong{{Title: x.words().T("staff.identity.kept"), Text: x.words().T("staff.identity.only")}})
}

// notLinked shows the page with the reason why the account was not linked. If the person must sign in again, the browser goes to the
// sign-in page. It returns other errors unchanged.
func (x *exchange) notLinked(err error) error {
	if x.site.Fault(err).Reason == fault.SignInAgain {
		return x.Redirect(loginAgain("/app/account/identity")) // not to the URL of the return from the provider, whose answer is used up
	}
	if text := x.identityProblem(err); text != "" {
		return x.identityPage(http.StatusUnprocessableEntity, "", []kit.Wrong{{Title: x.words().T("staff.identity.failed"), Text: x.words().T(text)}})
	}
	return err
}

// url64 encodes a text for a cookie.
func url64(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// fromURL64 decodes a text that url64 encoded. It returns "" for other texts.
func fromURL64(text string) string {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(raw)
}
