package staff

import (
	"net/http"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// Cookies: the session, a sign-in that waits for the second factor, and the property that the person chose last on the device.
const (
	sessionCookie   = "lk-staff"
	challengeCookie = "lk-staff-second"
	propertyCookie  = "lk-staff-property"
)

// passwordOf returns a posted password: spaces around it belong to it.
func (x *exchange) passwordOf(name string) string { return x.R.PostForm.Get(name) }

// openSession keeps a new session in place of the former one. Its token is another after each sign-in and each step that proves more, so a
// token that was known before opens nothing.
func (x *exchange) openSession(s *propertyv1.SessionToken) {
	x.DropCookie(challengeCookie)
	x.token = s.GetToken()
	x.SetCookie(sessionCookie, s.GetToken(), s.GetEndsAt().AsTime())
}

func loginInputs() []kit.Input {
	return []kit.Input{
		{Name: "email", Label: "staff.email", Type: "email", Autocomplete: "username"},
		{Name: "password", Label: "staff.password", Type: "password", Autocomplete: "current-password"},
	}
}

func (s *site) showLogin(x *exchange) error {
	if x.token != "" && x.load() == nil {
		return x.Redirect("/app/")
	}
	x.session, x.role = nil, nil
	return x.loginPage(http.StatusOK, x.newPage("staff.login.title"), loginInputs(), localPage(x.R.URL.Query().Get("to")))
}

// loginPage answers with the form of the sign-in and its other ways: a passkey and, if the server has one, the identity provider.
func (x *exchange) loginPage(status int, p *page, inputs []kit.Input, to string) error {
	provider, err := x.provider()
	if err != nil {
		return err
	}
	v := formView{Inputs: inputs, Button: "staff.login.do", Action: listURL("/app/login", "to", to), Passkey: loginPasskey(to)}
	if provider != nil {
		v.Provider = &providerView{Label: provider.GetLabel(), URL: listURL("/app/login/oidc", "to", to)}
	}
	return x.form(status, p, v)
}

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

// endFormerSession ends the session that the browser had before another person, or the same one, signed in. A session that cannot be ended now ends by
// itself.
func (x *exchange) endFormerSession() { _ = x.endSession() }

// endSession ends the session of the browser, if there is one.
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

// proceed goes on after a password: to the second factor if the person has one, otherwise to a page.
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

func codeInputs() []kit.Input {
	return []kit.Input{{Name: "code", Label: "staff.code", Hint: "staff.code.hint", Autocomplete: "one-time-code"}}
}

func (x *exchange) secondForm() formView {
	return formView{Text: "staff.second.text", Inputs: codeInputs(), Button: "staff.continue", Links: []link{{"/app/login", "staff.second.again"}},
		Passkey: loginPasskey(localPage(x.R.URL.Query().Get("to")))}
}

func (s *site) showSecond(x *exchange) error {
	if x.Cookie(challengeCookie) == "" {
		return x.Redirect("/app/login")
	}
	return x.form(http.StatusOK, x.newPage("staff.second.title"), x.secondForm())
}

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

// wrongCode returns a page whose code was wrong or used.
func (x *exchange) wrongCode(title string) *page {
	p := x.newPage(title)
	p.Wrong = []kit.Wrong{{ID: "f-code", Label: p.T("staff.code"), Text: p.T("staff.code.wrong")}}
	return p
}

// logout ends the session, on the server and on the device.
func (s *site) logout(x *exchange) error {
	if err := x.endSession(); err != nil {
		return err // the session goes on, so the person must know
	}
	x.DropCookie(propertyCookie)
	x.W.Header().Set("Clear-Site-Data", `"cache"`)
	return x.Redirect("/app/login")
}

// showHome moves to the set-up while a part of it is left that the person may change, and else to the first area that the person may use.
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

// propertyAge is how long browsers keep which property a person chose.
const propertyAge = 400 * 24 * time.Hour

// chooseProperty changes the property that the pages show.
func (s *site) chooseProperty(x *exchange) error {
	for _, p := range x.session.GetProperties() {
		if p.GetPropertyId() == x.Value("property") {
			x.openProperty(p.GetPropertyId())
		}
	}
	return x.Redirect("/app/")
}

// openProperty makes the device show a property to a person of several.
func (x *exchange) openProperty(id string) {
	x.SetCookie(propertyCookie, id, x.site.Now().Add(propertyAge))
}
