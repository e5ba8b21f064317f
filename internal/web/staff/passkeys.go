package staff

import (
	"net/http"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// passkeyCookie is the name of the cookie with the state of a passkey ceremony, that is, of one registration or proof of a passkey. So only
// the browser that began a ceremony can finish it.
const passkeyCookie = "lk-staff-passkey"

// ceremonyAge is how long a browser stores the state of a ceremony. The API checks its expiry, too.
const ceremonyAge = 5 * time.Minute

// passkeyForm is a form that the page's script fills with the browser's answer in a ceremony and posts. It is hidden without a script.
type passkeyForm struct {
	Create bool   // create a passkey; otherwise use one
	Begin  string // URL that begins the ceremony
	Action string // URL that finishes the ceremony
	Inputs []kit.Input
	Button string // message kind
}

// begin stores the state of a new ceremony in the cookie, and sends the ceremony's options (JSON) to the page's script.
func (x *exchange) begin(c *propertyv1.PasskeyCeremony) error {
	x.SetCookie(passkeyCookie, c.GetState(), x.site.Now().Add(ceremonyAge))
	x.W.Header().Set("Content-Type", "application/json")
	_, err := x.W.Write([]byte(c.GetOptions()))
	return err
}

// ceremony returns the state of the browser's ceremony, or "", and deletes the cookie, so that it is used once.
func (x *exchange) ceremony() string {
	state := x.Cookie(passkeyCookie)
	x.DropCookie(passkeyCookie)
	return state
}

// notBegun answers the page's script if a ceremony could not begin: 409 if the server has no passkeys, or a header with the URL of the page
// on which the person confirms the second factor or signs in again. page is the URL to return to from there. It returns other errors
// unchanged.
func (x *exchange) notBegun(err error, page string) error {
	switch f := x.site.Fault(err); {
	case f.Reason == fault.PasskeysUnavailable:
		x.W.WriteHeader(http.StatusConflict)
		return nil
	case f.Reason == fault.SecondFactorRequired:
		return x.Redirect(listURL("/app/confirm", "to", page))
	case f.Reason == fault.SignInAgain:
		return x.Redirect(loginAgain(page))
	}
	return err
}

// loginPasskey returns the form that signs in with a passkey. to is the page to return to.
func loginPasskey(to string) *passkeyForm {
	return &passkeyForm{Begin: "/app/login/passkey/begin", Action: listURL("/app/login/passkey", "to", to), Button: "staff.passkey.login"}
}

// beginPasskeyLogin handles the script's request to begin a sign-in with a passkey.
func (s *site) beginPasskeyLogin(x *exchange) error {
	begun, err := s.api.Passkeys.BeginPasskeySignIn(x.anonymous(), &propertyv1.BeginPasskeySignInRequest{})
	if err != nil {
		return x.notBegun(err, "/app/login")
	}
	return x.begin(begun.GetData())
}

// passkeyLogin handles the form that finishes a sign-in with a passkey. It ends the former session of the browser.
func (s *site) passkeyLogin(x *exchange) error {
	to := localPage(x.R.URL.Query().Get("to"))
	made, err := s.api.Passkeys.FinishPasskeySignIn(x.anonymous(), &propertyv1.FinishPasskeySignInRequest{
		State: x.ceremony(), Credential: x.Value("credential"), Device: kit.DeviceOf(x.R.UserAgent()),
	})
	if err != nil {
		if f := s.Fault(err); f.Kind != fault.Unauthenticated && f.Kind != fault.Invalid {
			return err
		}
		p := x.newPage("staff.login.title")
		p.Wrong = []kit.Wrong{{Title: p.T("staff.login.wrong"), Text: p.T("staff.passkey.refused")}}
		return x.loginPage(http.StatusUnprocessableEntity, p, loginInputs(), to)
	}
	x.endFormerSession()
	return x.proceed(made.GetData(), to)
}

// beginPasskeyConfirm handles the script's request to begin a proof of the second factor with a passkey.
func (s *site) beginPasskeyConfirm(x *exchange) error {
	begun, err := s.api.Passkeys.BeginPasskeyConfirmation(x.call(), &propertyv1.BeginPasskeyConfirmationRequest{})
	if err != nil {
		return x.notBegun(err, "/app/confirm")
	}
	return x.begin(begun.GetData())
}

// passkeyConfirm handles the form that finishes a proof of the second factor with a passkey. It continues to the page in the query "to".
func (s *site) passkeyConfirm(x *exchange) error {
	made, err := s.api.Passkeys.FinishPasskeyConfirmation(x.call(), &propertyv1.FinishPasskeyConfirmationRequest{State: x.ceremony(), Credential: x.Value("credential")})
	if err != nil {
		if s.Fault(err).Kind != fault.Invalid {
			return err
		}
		return x.passkeyRefused("staff.confirm.title", x.confirmForm())
	}
	return x.proceed(made.GetData(), localPage(x.R.URL.Query().Get("to")))
}

// passkeyRefused renders form again with the error that the passkey was refused. title is a message kind.
func (x *exchange) passkeyRefused(title string, form formView) error {
	p := x.newPage(title)
	p.Wrong = []kit.Wrong{{Title: p.T("staff.passkey.title"), Text: p.T("staff.passkey.refused")}}
	return x.form(http.StatusUnprocessableEntity, p, form)
}

// passkeysView is the list of the person's passkeys, with the form that adds one.
type passkeysView struct {
	Passkeys []*propertyv1.Passkey
	Add      *passkeyForm
}

// showPasskeys handles the list of the person's passkeys.
func (s *site) showPasskeys(x *exchange) error { return x.passkeysPage(http.StatusOK, nil) }

// passkeysPage renders the list of the person's passkeys. wrong are errors to show.
func (x *exchange) passkeysPage(status int, wrong []kit.Wrong) error {
	found, err := x.site.api.Passkeys.ListPasskeys(x.call(), &propertyv1.ListPasskeysRequest{})
	if err != nil {
		return err
	}
	p := x.newPage("staff.passkey.title")
	p.Back, p.Here, p.Wrong = "/app/account", "account", wrong
	p.Data = passkeysView{Passkeys: found.GetData().GetList(), Add: &passkeyForm{
		Create: true, Begin: "/app/account/passkeys/begin", Action: "/app/account/passkeys", Button: "staff.passkey.add",
		Inputs: []kit.Input{{Name: "name", Label: "staff.passkey.name", Hint: "staff.passkey.name.hint", Value: kit.DeviceOf(x.R.UserAgent())}},
	}}
	return x.render(status, "passkeys", p)
}

// beginPasskey handles the script's request to begin the registration of a passkey.
func (s *site) beginPasskey(x *exchange) error {
	begun, err := s.api.Passkeys.BeginPasskeyRegistration(x.call(), &propertyv1.BeginPasskeyRegistrationRequest{})
	if err != nil {
		return x.notBegun(err, "/app/account/passkeys")
	}
	return x.begin(begun.GetData())
}

// changePasskeys handles the forms of the list of passkeys. They rename or delete a passkey, or finish the registration of a new one. A
// registration replaces the session, and its response shows new recovery codes if the person had none.
func (s *site) changePasskeys(x *exchange) error {
	api, id := s.api.Passkeys, x.Value("id")
	switch x.Value("do") {
	case "rename":
		if _, err := api.RenamePasskey(x.call(), &propertyv1.RenamePasskeyRequest{Id: id, Name: x.Value("name")}); err != nil {
			return x.passkeyNotChanged(err)
		}
		return x.Redirect("/app/account/passkeys?done=saved")
	case "delete":
		if _, err := api.DeletePasskey(x.call(), &propertyv1.DeletePasskeyRequest{Id: id}); err != nil && s.Fault(err).Kind != fault.NotFound {
			return err
		}
		return x.Redirect("/app/account/passkeys?done=deleted")
	}
	made, err := api.FinishPasskeyRegistration(x.call(), &propertyv1.FinishPasskeyRegistrationRequest{State: x.ceremony(), Credential: x.Value("credential"), Name: x.Value("name")})
	if err != nil {
		return x.passkeyNotChanged(err)
	}
	x.openSession(made.GetSession())
	if codes := made.GetRecoveryCodes(); len(codes) > 0 {
		return x.secondPage(http.StatusOK, secondView{Codes: codes})
	}
	return x.Redirect("/app/account/passkeys?done=saved")
}

// passkeyNotChanged shows the list with the reason if the API found too many passkeys, a wrong name, or another invalid value, such as a
// refused answer of the browser. It returns all other errors unchanged, also other faults of the API, such as not-found.
func (x *exchange) passkeyNotChanged(err error) error {
	f := x.site.Fault(err)
	text := "staff.passkey.refused"
	switch {
	case f.Reason == fault.TooManyPasskeys:
		text = "staff.passkey.many"
	case f.Kind == fault.Invalid && len(f.Fields) > 0 && f.Fields[0].Path == "name":
		text = "staff.passkey.name.wrong"
	case f.Kind != fault.Invalid:
		return err
	}
	return x.passkeysPage(http.StatusUnprocessableEntity, []kit.Wrong{{Title: x.words().T("staff.passkey.title"), Text: x.words().T(text)}})
}
