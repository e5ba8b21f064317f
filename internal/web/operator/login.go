package operator

import (
	"net/http"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// sessionCookie is the name of the cookie with the token of the operator's session.
const sessionCookie = "lk-operator"

// loginInputs returns the form fields of the sign-in.
func loginInputs() []kit.Input {
	return []kit.Input{{Name: "token", Label: "operator.token", Hint: "operator.token.hint", Type: "password", Autocomplete: "off"}}
}

// showLogin handles GET /operator/login. An operator with a valid session goes to the overview instead.
func (s *site) showLogin(x *exchange) error {
	if x.token != "" && x.load() == nil {
		return x.Redirect("/operator/")
	}
	x.session = nil
	return x.loginPage(http.StatusOK, x.newPage("operator.login.title"))
}

// loginPage renders the sign-in form on p, which may already contain the errors of a refused sign-in.
func (x *exchange) loginPage(status int, p *page) error {
	p.Data = loginInputs()
	return x.render(status, "login", p)
}

// login handles the sign-in form. It exchanges an operator token for a session, and ends the browser's former session, so that a stolen
// cookie of it is useless. A refused token shows the form again.
func (s *site) login(x *exchange) error {
	made, err := s.api.Sessions.SignInOperator(x.CallContext(kit.Credential{Language: x.Words(kit.Locale{}).Lang}), &adminv1.SignInOperatorRequest{
		Token: x.Value("token"), Device: kit.DeviceOf(x.R.UserAgent()),
	})
	if err != nil {
		p := x.newPage("operator.login.title")
		switch f := s.Fault(err); f.Kind {
		case fault.Unauthenticated, fault.Invalid:
			p.Wrong = []kit.Wrong{{ID: "f-token", Label: p.T("operator.token"), Text: p.T("operator.login.wrong")}}
		case fault.Exhausted:
			p.Wrong = []kit.Wrong{{Title: p.T("staff.problem.tooMany"), Text: p.T("staff.problem.tooMany.text")}}
		default:
			return err
		}
		return x.loginPage(http.StatusUnprocessableEntity, p)
	}
	_ = x.endSession() // if this fails, the old session still expires by itself
	x.SetCookie(sessionCookie, made.GetToken(), made.GetData().GetEndsAt().AsTime())
	return x.Redirect("/operator/")
}

// endSession ends the session of the cookie on the server. It does not delete the cookie. A missing session or cookie is no error.
func (x *exchange) endSession() error {
	if x.token == "" {
		return nil
	}
	_, err := x.site.api.Sessions.EndOperatorSession(x.call(), &adminv1.EndOperatorSessionRequest{})
	if f := x.site.Fault(err); err != nil && f.Kind != fault.Unauthenticated && f.Kind != fault.NotFound {
		return err
	}
	return nil
}

// logout handles the sign-out. It ends the session on the server, and deletes the cookie and the browser's cache. If it cannot end the
// session, it deletes neither and returns the error.
func (s *site) logout(x *exchange) error {
	if err := x.endSession(); err != nil {
		return err // show an error, because the operator is still signed in
	}
	x.DropCookie(sessionCookie)
	x.W.Header().Set("Clear-Site-Data", `"cache"`)
	return x.Redirect("/operator/login")
}

// showSession handles the page about the operator's own session, which has the button to sign out.
func (s *site) showSession(x *exchange) error {
	p := x.newPage("operator.session.title")
	p.Here = "session"
	return x.render(http.StatusOK, "session", p)
}
