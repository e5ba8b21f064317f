package staff

import (
	"net/http"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// Names of cookies: the session, a sign-in that waits for the second factor, and the property that the person last chose.
const (
	sessionCookie   = "lk-staff"
	challengeCookie = "lk-staff-second"
	propertyCookie  = "lk-staff-property"
)

// passwordOf returns a posted password. Unlike Value it keeps spaces at the ends, because they are part of the password.
func (x *exchange) passwordOf(name string) string { return x.R.PostForm.Get(name) }

// openSession stores the token of a new session in x.token and the browser's cookie, in place of the old one, and drops the cookie of the
// begun sign-in. Each sign-in and each proof of the second factor creates a new token, so a token that leaked before is useless.
func (x *exchange) openSession(s *propertyv1.SessionToken) {
	x.DropCookie(challengeCookie)
	x.token = s.GetToken()
	x.SetCookie(sessionCookie, s.GetToken(), s.GetEndsAt().AsTime())
}

// loginInputs returns the form fields of the sign-in with a password.
func loginInputs() []kit.Input {
	return []kit.Input{
		{Name: "email", Label: "staff.email", Type: "email", Autocomplete: "username"},
		{Name: "password", Label: "staff.password", Type: "password", Autocomplete: "current-password"},
	}
}

// loginAgain returns the address of the sign-in page for a person who must sign in again. to is the page to return to.
func loginAgain(to string) string { return listURL("/app/login", "again", "yes", "to", to) }

// signsInAgain reports whether the person must sign in again, although the browser has a session. Either the URL says so (see loginAgain),
// or that was the purpose of the visit to the identity provider.
func (x *exchange) signsInAgain() bool { return x.proves || x.R.URL.Query().Get("again") != "" }

// showLogin handles the sign-in page. A person with a valid session goes to the dashboard instead, unless they must sign in again.
func (s *site) showLogin(x *exchange) error {
	if x.token != "" && x.load() == nil && !x.signsInAgain() {
		return x.Redirect("/app/")
	}
	x.session, x.role = nil, nil
	p := x.newPage("staff.login.title")
	if x.R.URL.Query().Get("ended") != "" {
		p.Wrong = []kit.Wrong{{Title: p.T("staff.login.ended"), Text: p.T("staff.login.ended.text")}}
	}
	return x.loginPage(http.StatusOK, p, loginInputs(), localPage(x.R.URL.Query().Get("to")))
}

// loginPage renders the sign-in form, with a passkey and the identity provider as other ways. to is the page to return to.
func (x *exchange) loginPage(status int, p *page, inputs []kit.Input, to string) error {
	provider, err := x.provider()
	if err != nil {
		return err
	}
	v, again := formView{Inputs: inputs, Button: "staff.login.do", Action: listURL("/app/login", "to", to), Passkey: loginPasskey(to)}, ""
	if x.signsInAgain() {
		v.Text, v.Action, again = "staff.login.again", loginAgain(to), "yes"
	}
	if provider != nil {
		v.Provider = &providerView{Label: provider.GetLabel(), URL: listURL("/app/login/oidc", "again", again, "to", to)}
	}
	return x.form(status, p, v)
}

// login handles the form of the sign-in with a password. It ends the former session of the browser. If the API refuses the sign-in, it
// shows the form again.
func (s *site) login(x *exchange) error {
	inputs := x.Posted(loginInputs())
	made, err := s.api.Sessions.SignIn(x.anonymous(), &propertyv1.SignInRequest{
		Email: x.Value("email"), Password: x.passwordOf("password"), Device: kit.DeviceOf(x.R.UserAgent()),
	})
	if err != nil {
		p := x.newPage("staff.login.title")
		f := s.Fault(err)
		switch {
		case f.Kind == fault.Unauthenticated:
			p.Wrong = []kit.Wrong{{Title: p.T("staff.login.wrong"), Text: p.T("staff.login.wrong.text")}}
		case f.Kind == fault.Exhausted:
			p.Wrong = []kit.Wrong{{Title: p.T("staff.problem.tooMany"), Text: p.T("staff.problem.tooMany.text")}}
		case f.Kind != fault.Invalid || !p.Refuse(f, inputs):
			return err
		}
		return x.loginPage(http.StatusUnprocessableEntity, p, inputs, localPage(x.R.URL.Query().Get("to")))
	}
	x.endFormerSession()
	return x.proceed(made.GetData(), localPage(x.R.URL.Query().Get("to")))
}

// endFormerSession ends the session that the browser had before a sign-in. Errors are ignored, because the old session expires by itself.
func (x *exchange) endFormerSession() { _ = x.endSession() }

// endSession ends the session of the cookie on the server and then deletes the cookie. A session that no longer exists is no error. After
// an error the cookie remains.
func (x *exchange) endSession() error {
	if x.token == "" {
		return nil
	}
	found, err := x.site.api.Sessions.GetSession(x.call(), &propertyv1.GetSessionRequest{})
	if err == nil {
		_, err = x.site.api.Sessions.EndSession(x.call(), &propertyv1.EndSessionRequest{Id: found.GetData().GetSession().GetId()})
	}
	if err != nil && x.site.Fault(err).Kind != fault.Unauthenticated {
		return err
	}
	x.DropCookie(sessionCookie)
	return nil
}

// proceed continues a sign-in. If the API requires the second factor, the browser goes to the page that asks for it. Otherwise proceed
// stores the session in the cookie and redirects to the URL to, or to the dashboard if to is "".
func (x *exchange) proceed(s *propertyv1.SessionToken, to string) error {
	if s.GetChallenge() != "" {
		x.SetCookie(challengeCookie, s.GetChallenge(), s.GetEndsAt().AsTime())
		return x.Redirect(listURL("/app/login/second", "to", to))
	}
	x.openSession(s)
	if to == "" {
		to = "/app/"
	}
	return x.Redirect(to)
}

// codeInputs returns the form field of a second-factor code.
func codeInputs() []kit.Input {
	return []kit.Input{{Name: "code", Label: "staff.code", Hint: "staff.code.hint", Autocomplete: "one-time-code"}}
}

// secondForm returns the form that asks for the second factor during a sign-in.
func (x *exchange) secondForm() formView {
	return formView{Text: "staff.second.text", Inputs: codeInputs(), Button: "staff.continue", Links: []link{{"/app/login", "staff.second.again"}},
		Passkey: loginPasskey(localPage(x.R.URL.Query().Get("to")))}
}

// showSecond handles the page that asks for the second factor during a sign-in. Without a begun sign-in it goes to the sign-in page.
func (s *site) showSecond(x *exchange) error {
	if x.Cookie(challengeCookie) == "" {
		return x.Redirect("/app/login")
	}
	return x.form(http.StatusOK, x.newPage("staff.second.title"), x.secondForm())
}

// finishLogin handles the form that asks for the second factor during a sign-in, and completes the sign-in. A wrong code shows the form
// again. If the sign-in has expired, the browser goes to the sign-in page.
func (s *site) finishLogin(x *exchange) error {
	made, err := s.api.Sessions.FinishSignIn(x.anonymous(), &propertyv1.FinishSignInRequest{Challenge: x.Cookie(challengeCookie), Code: x.Value("code")})
	if err == nil {
		return x.proceed(made.GetData(), localPage(x.R.URL.Query().Get("to")))
	}
	switch f := s.Fault(err); f.Kind {
	case fault.Unauthenticated:
		x.DropCookie(challengeCookie)
		return x.Redirect("/app/login")
	case fault.Invalid:
		return x.form(http.StatusUnprocessableEntity, x.wrongCode("staff.second.title"), x.secondForm())
	}
	return err
}

// wrongCode returns the data of a page with the error that the posted code of the second factor is wrong or was used before. title is a
// message kind.
func (x *exchange) wrongCode(title string) *page {
	p := x.newPage(title)
	p.Wrong = []kit.Wrong{{ID: "f-code", Label: p.T("staff.code"), Text: p.T("staff.code.wrong")}}
	return p
}

// logout handles the sign-out. It ends the session on the server, and deletes the cookies of the session and the property and the browser's
// cache. If it cannot end the session, it deletes none of these and returns the error.
func (s *site) logout(x *exchange) error {
	if err := x.endSession(); err != nil {
		return err // show an error, because the person is still signed in
	}
	x.DropCookie(propertyCookie)
	x.W.Header().Set("Clear-Site-Data", `"cache"`)
	return x.Redirect("/app/login")
}

// showHome handles /app/. It redirects to the set-up until its required steps are done, if the person may manage settings. Otherwise it
// redirects to the first page of the menu that the person's role may see, or to the account.
func (s *site) showHome(x *exchange) error {
	if x.may("manageSettings") {
		steps, err := x.setup()
		if err != nil {
			return err
		}
		if setupLeft(steps) > 0 {
			return x.Redirect("/app/setup")
		}
	}
	for _, a := range areas {
		if x.may(a.right) {
			return x.Redirect(a.URL)
		}
	}
	return x.Redirect("/app/account")
}

// propertyAge is how long browsers store which property a person chose.
const propertyAge = 400 * 24 * time.Hour

// chooseProperty handles the form that switches to another property of the person. It ignores the id of any other property.
func (s *site) chooseProperty(x *exchange) error {
	for _, p := range x.session.GetProperties() {
		if p.GetPropertyId() == x.Value("property") {
			x.openProperty(p.GetPropertyId())
		}
	}
	return x.Redirect("/app/")
}

// openProperty stores in a cookie which property the dashboard shows.
func (x *exchange) openProperty(id string) {
	x.SetCookie(propertyCookie, id, x.site.Now().Add(propertyAge))
}
