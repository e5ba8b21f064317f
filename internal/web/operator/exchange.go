package operator

import (
	"context"
	"errors"
	"net/http"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// exchange is one request for a page and its response.
type exchange struct {
	*kit.Exchange
	site    *site
	token   string                   // token of the operator's session from the cookie, or ""
	session *adminv1.OperatorSession // nil until load has read it
}

// handler answers one request. httpHandler renders a returned error as a page.
type handler func(x *exchange) error

// httpHandler adapts a page handler to net/http. It parses the posted form first: a form that is invalid or too large gets an error page,
// and the handler does not run. It renders the handler's error as a page.
func (s *site) httpHandler(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{Exchange: s.NewExchange(w, r), site: s}
		x.token = x.Cookie(sessionCookie)
		err := x.ParseForm()
		switch {
		case err == nil:
			err = h(x)
		case errors.Is(err, kit.ErrForm):
			err = x.problem(http.StatusBadRequest, "staff.problem.form")
		}
		if err != nil {
			x.renderError(err)
		}
	})
}

// call returns the context for an API call. It carries the operator's session token, the language, and the idempotency key of the posted
// form.
func (x *exchange) call() context.Context {
	return x.CallContext(kit.Credential{Token: x.token, Language: x.Words(kit.Locale{}).Lang})
}

// requireSession wraps a handler of a page that only signed-in operators see. Without a session cookie, or with one that has expired, the
// browser goes to the sign-in page.
func (s *site) requireSession(h handler) handler {
	return func(x *exchange) error {
		if x.token == "" {
			return x.Redirect("/operator/login")
		}
		if err := x.load(); err != nil {
			return err
		}
		return h(x)
	}
}

// load reads the operator's session from the API into x.session. It fails with Unauthenticated if the cookie's token has expired or is not
// an operator's.
func (x *exchange) load() error {
	found, err := x.site.api.Sessions.GetOperatorSession(x.call(), &adminv1.GetOperatorSessionRequest{})
	if err != nil {
		return err
	}
	if found.GetData().Id == nil { // the token in the cookie is not an operator's
		return fault.New(fault.Unauthenticated, fault.InvalidCredentials, "sign in")
	}
	x.session = found.GetData()
	return nil
}

// problem renders an error page. kind is the message kind of its title, and the message kind.text is its text.
func (x *exchange) problem(status int, kind string) error {
	p := x.newPage(kind)
	p.Data = problemView{Text: kind + ".text"}
	return x.render(status, "problem", p)
}

type problemView struct{ Text string }

// showUnknown answers paths that no page has, with a 404 page.
func (s *site) showUnknown(x *exchange) error {
	if x.token != "" {
		_ = x.load() // with a session, the page shows the menu
	}
	return x.problem(http.StatusNotFound, "staff.problem.unknown")
}

// renderError answers with the error page for err, and logs an unexpected one. If the session has expired, it deletes the cookie and
// redirects to the sign-in page instead.
func (x *exchange) renderError(err error) {
	f := x.site.Fault(err)
	switch {
	case f.Kind == fault.Unauthenticated:
		x.DropCookie(sessionCookie)
		_ = x.Redirect("/operator/login")
	default:
		status, message, known := kit.ProblemOf(f, x.R.Method)
		if !known {
			x.site.Logger.ErrorContext(x.R.Context(), "a page failed", "kind", f.Kind.String(), "reason", f.Reason)
		}
		if err := x.problem(status, message); err != nil {
			x.site.Logger.ErrorContext(x.R.Context(), "a page could not be rendered", "error", err)
			http.Error(x.W, "", http.StatusInternalServerError)
		}
	}
}

// saveLook handles the form that chooses colors or language. The choice is stored in cookies.
func (s *site) saveLook(x *exchange) error {
	return x.SaveLook(s.Now().Add(kit.LookAge), func(string) {})
}
