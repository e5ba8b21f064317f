package operator

import (
	"context"
	"net/http"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// exchange is one request for a page, and its answer.
type exchange struct {
	*kit.Exchange
	site    *site
	token   string                   // of the session, or ""
	session *adminv1.OperatorSession // nil without one
}

// handler answers one request. Its error becomes a page.
type handler func(x *exchange) error

// httpHandler adapts a page handler to net/http: it parses the posted form, and renders the error as a page.
func (s *site) httpHandler(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{Exchange: s.NewExchange(w, r), site: s}
		x.token = x.Cookie(sessionCookie)
		err := error(nil)
		if x.ParseForm() {
			err = h(x)
		} else {
			err = x.problem(http.StatusBadRequest, "staff.problem.form")
		}
		if err != nil {
			x.renderError(err)
		}
	})
}

// call returns the context of an API call with the session of the operator.
func (x *exchange) call() context.Context {
	return x.CallContext(kit.Credential{Token: x.token, Language: x.Words(kit.Place{}).Lang})
}

// requireSession runs a handler for an operator who is signed in. The API checks that again at each call.
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

// load reads the session.
func (x *exchange) load() error {
	found, err := x.site.api.Sessions.GetOperatorSession(x.call(), &adminv1.GetOperatorSessionRequest{})
	if err != nil {
		return err
	}
	if found.GetData().Id == nil { // the cookie has a token of another kind
		return fault.New(fault.Unauthenticated, fault.InvalidCredentials, "sign in")
	}
	x.session = found.GetData()
	return nil
}

// problem answers with a page that says what is wrong.
func (x *exchange) problem(status int, kind string) error {
	p := x.newPage(kind)
	p.Data = problemView{Text: kind + ".text"}
	return x.render(status, "problem", p)
}

type problemView struct{ Text string }

func (s *site) showUnknown(x *exchange) error {
	if x.token != "" {
		_ = x.load() // the page shows the rail if that works
	}
	return x.problem(http.StatusNotFound, "staff.problem.unknown")
}

// renderError answers with the page of an error.
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

// saveLook keeps a choice of the look on the device.
func (s *site) saveLook(x *exchange) error {
	return x.SaveLook(s.Now().Add(kit.LookAge), func(string) {})
}
