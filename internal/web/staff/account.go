package staff

import (
	"net/http"

	"github.com/boombuler/barcode/qr"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// showConfirm handles the page that asks for the second factor again. The API requires it before a sensitive action, such as showing a PIN.
func (s *site) showConfirm(x *exchange) error {
	return x.form(http.StatusOK, x.newPage("staff.confirm.title"), x.confirmForm())
}

// confirmForm returns the form that asks for the second factor again before a sensitive action. The query "to" has the page to return to.
func (x *exchange) confirmForm() formView {
	return formView{Text: "staff.confirm.text", Inputs: codeInputs(), Button: "staff.continue", Passkey: &passkeyForm{
		Begin: "/app/confirm/passkey/begin", Action: listURL("/app/confirm/passkey", "to", localPage(x.R.URL.Query().Get("to"))), Button: "staff.passkey.confirm",
	}}
}

// confirm handles the form that showConfirm renders. With the right code it stores the session's new token in the cookie and continues to
// the page in the query "to". A wrong code shows the form again.
func (s *site) confirm(x *exchange) error {
	made, err := s.api.Sessions.ConfirmSecondFactor(x.call(), &propertyv1.ConfirmSecondFactorRequest{Code: x.Value("code")})
	if err != nil {
		if s.Fault(err).Kind != fault.Invalid {
			return err
		}
		return x.form(http.StatusUnprocessableEntity, x.wrongCode("staff.confirm.title"), x.confirmForm())
	}
	return x.proceed(made.GetData(), localPage(x.R.URL.Query().Get("to")))
}

type accountView struct {
	Sessions    []*propertyv1.Session
	HasPasskeys bool
	Notices     bool          // the person's role may read notices
	Provider    *providerView // the identity provider, or nil if the server has none
}

// showAccount handles the page of the signed-in person: how they sign in, and their open sessions.
func (s *site) showAccount(x *exchange) error {
	found, err := s.api.Sessions.ListSessions(x.call(), &propertyv1.ListSessionsRequest{})
	if err != nil {
		return err
	}
	passkeys, err := s.api.Passkeys.ListPasskeys(x.call(), &propertyv1.ListPasskeysRequest{})
	if err != nil {
		return err
	}
	provider, err := x.provider()
	if err != nil {
		return err
	}
	p, v := x.newPage("staff.account.title"), accountView{Sessions: found.GetData().GetList(), Notices: x.may("readNotices"), HasPasskeys: len(passkeys.GetData().GetList()) > 0}
	if provider != nil {
		v.Provider = &providerView{Label: provider.GetLabel(), URL: "/app/account/identity", On: x.session.GetHasIdentityLink()}
	}
	p.Here, p.Data = "account", v
	return x.render(http.StatusOK, "account", p)
}

// endSessions handles the buttons that end one other session of the person, or all sessions including this one. Another session that has
// ended already is no error.
func (s *site) endSessions(x *exchange) error {
	if x.Value("all") == "yes" {
		if _, err := s.api.Sessions.SignOutEverywhere(x.call(), &propertyv1.SignOutEverywhereRequest{}); err != nil {
			return err
		}
		x.DropCookie(sessionCookie)
		return x.Redirect("/app/login")
	}
	_, err := s.api.Sessions.EndSession(x.call(), &propertyv1.EndSessionRequest{Id: x.Value("session")})
	if err != nil && s.Fault(err).Kind != fault.NotFound { // NotFound: the session has already ended
		return err
	}
	return x.Redirect("/app/account?done=sessionEnded")
}

// passwordPage renders the form that changes the password, or sets the first one. f is why the API refused the posted form, or nil. An f
// that is not about the form is returned.
func (x *exchange) passwordPage(status int, f *fault.Fault) error {
	title, v := "staff.password.title", formView{Text: "staff.password.text", Button: "staff.password.do", Inputs: []kit.Input{
		{Name: "password", Label: "staff.password.now", Type: "password", Autocomplete: "current-password"},
		{Name: "newPassword", Label: "staff.password.new", Hint: "staff.password.hint", Type: "password", Autocomplete: "new-password"},
	}}
	if !x.session.GetHasPassword() {
		title, v = "staff.password.first.title", formView{Text: "staff.password.first.text", Button: "staff.password.first.do", Inputs: v.Inputs[1:]}
	}
	p := x.newPage(title)
	p.Back, p.Here = "/app/account", "account"
	if f != nil && !p.Refuse(f, v.Inputs) {
		return f
	}
	return x.form(status, p, v)
}

// showPassword handles the page that changes or sets the password.
func (s *site) showPassword(x *exchange) error { return x.passwordPage(http.StatusOK, nil) }

// changePassword handles the form that changes or sets the password. The API ends all sessions of the person, and this browser gets a new
// one. If the API refuses the former or the new password, the form is shown again.
func (s *site) changePassword(x *exchange) error {
	made, err := s.api.Sessions.ChangePassword(x.call(), &propertyv1.ChangePasswordRequest{Password: x.passwordOf("password"), NewPassword: x.passwordOf("newPassword")})
	if err != nil {
		if f := s.Fault(err); f.Kind == fault.Invalid && len(f.Fields) > 0 {
			return x.passwordPage(http.StatusUnprocessableEntity, f)
		}
		return err
	}
	done := "password"
	if !x.session.GetHasPassword() {
		done = "firstPassword"
	}
	return x.proceed(made.GetData(), "/app/account?done="+done)
}

// secondView is the page that sets up an authenticator app as the second factor. It shows one step of the set-up, or new recovery codes.
type secondView struct {
	On     bool // the person uses an authenticator app already
	QR     kit.QR
	Secret string   // secret of a new app, to type instead of scanning QR
	Codes  []string // new recovery codes, shown only once
	Inputs []kit.Input
	Begun  bool // the set-up has begun: the page asks for the first code of the app
}

// secondPage renders the set-up of the second factor. A status other than 200 means that the posted code was wrong.
func (x *exchange) secondPage(status int, v secondView) error {
	p := x.newPage("staff.factor.title")
	if len(v.Codes) > 0 {
		p = x.newPage("staff.recovery.title")
	}
	p.Back, p.Here, p.secret = "/app/account", "account", true
	if v.Begun {
		v.Inputs = []kit.Input{{Name: "code", Label: "staff.factor.code", Autocomplete: "one-time-code", Mode: "numeric"}}
		if status != http.StatusOK {
			p.Wrong = []kit.Wrong{{ID: "f-code", Label: p.T("staff.factor.code"), Text: p.T("staff.code.wrong")}}
		}
	}
	p.Data = v
	return x.render(status, "second", p)
}

// showSecondFactor handles the page of the second factor.
func (s *site) showSecondFactor(x *exchange) error {
	return x.secondPage(http.StatusOK, secondView{On: x.session.GetHasAuthenticatorApp()})
}

// changeSecondFactor handles the forms of the page of the second factor. They begin the set-up of an authenticator app, confirm it with a
// code (which also replaces the session), replace the recovery codes, or end the use of the app. Secrets and recovery codes are shown only
// in the response to the form that creates them, not again after a wrong code.
func (s *site) changeSecondFactor(x *exchange) error {
	api := s.api.Sessions
	switch x.Value("do") {
	case "begin":
		begun, err := api.BeginTOTP(x.call(), &propertyv1.BeginTOTPRequest{})
		if err != nil {
			return err
		}
		e := begun.GetData()
		return x.secondPage(http.StatusOK, secondView{Begun: true, Secret: e.GetSecret(), QR: kit.DrawQR(e.GetUrl(), qr.M, qr.Auto)})
	case "confirm":
		made, err := api.ConfirmTOTP(x.call(), &propertyv1.ConfirmTOTPRequest{Code: x.Value("code")})
		if err != nil {
			if s.Fault(err).Kind != fault.Invalid {
				return err
			}
			return x.secondPage(http.StatusUnprocessableEntity, secondView{Begun: true})
		}
		x.openSession(made.GetData())
		return x.secondPage(http.StatusOK, secondView{On: true, Codes: made.GetRecoveryCodes()})
	case "codes":
		made, err := api.CreateRecoveryCodes(x.call(), &propertyv1.CreateRecoveryCodesRequest{})
		if err != nil {
			return err
		}
		return x.secondPage(http.StatusOK, secondView{On: true, Codes: made.GetData().GetCodes()})
	case "end":
		if _, err := api.DisableTOTP(x.call(), &propertyv1.DisableTOTPRequest{}); err != nil {
			return err
		}
		return x.Redirect("/app/account?done=secondEnded")
	}
	return x.Redirect("/app/account/second")
}
