package staff

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// exchange is one request for a page, and its answer.
type exchange struct {
	*kit.Exchange
	site     *site
	token    string                     // of the session, or ""
	session  *propertyv1.CurrentSession // nil without one
	role     *propertyv1.PersonProperty // the property that the page shows, with the role there; nil: none
	property *propertyv1.Property       // its settings
	typed    *typedForm                 // what was typed into a form of the page before the person confirmed; nil: nothing
}

// handler answers one request. Its error becomes a page.
type handler func(x *exchange) error

// httpHandler adapts a page handler to net/http: it parses the posted form, and renders the error as a page.
func (s *site) httpHandler(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{Exchange: s.NewExchange(w, r), site: s}
		w.Header().Set("Permissions-Policy", kit.Permissions(kit.UsePasskeys))
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

// call returns the context of an API call as the signed-in person, for the property of the page.
func (x *exchange) call() context.Context {
	return x.CallContext(kit.Credential{Token: x.token, Property: x.role.GetPropertyId(), Language: x.words().Lang, Automatic: x.automatic()})
}

// feedPath is the address of the stream of changes.
const feedPath = "/app/live"

// automatic reports whether an open page loads by itself what changed. It must not keep the session of a person who is away.
func (x *exchange) automatic() bool {
	return x.R.Method == http.MethodGet && (x.R.URL.Path == feedPath || x.R.Header.Get("Latchkey-Automatic") != "")
}

// anonymous returns the context of an API call without a session.
func (x *exchange) anonymous() context.Context {
	return x.CallContext(kit.Credential{Language: x.words().Lang})
}

func (x *exchange) words() kit.Words {
	return x.Words(kit.Place{TimeZone: x.property.GetTimeZone()})
}

// may reports whether the person's role at the property includes a right.
func (x *exchange) may(right string) bool {
	return right == Self && x.session != nil || slices.Contains(x.role.GetRights(), right)
}

// require runs a handler for a person with a right. The API checks it again at each call.
func (s *site) require(right string, h handler) handler {
	if right == Anyone {
		return h
	}
	return func(x *exchange) error {
		if x.token == "" {
			return x.toLogin()
		}
		if err := x.load(); err != nil {
			return err
		}
		if !x.may(right) {
			return x.problem(http.StatusForbidden, "staff.problem.role")
		}
		x.restoreTyped()
		return h(x)
	}
}

// load reads the session, and the property that the device chose last or, without a choice, the first.
func (x *exchange) load() error {
	found, err := x.site.api.Sessions.GetSession(x.call(), &propertyv1.GetSessionRequest{})
	if err != nil {
		return err
	}
	x.session = found.GetData()
	all := x.session.GetProperties()
	if len(all) == 0 {
		return nil
	}
	chosen := x.Cookie(propertyCookie)
	x.role = all[max(0, slices.IndexFunc(all, func(p *propertyv1.PersonProperty) bool { return p.GetPropertyId() == chosen }))]
	settings, err := x.site.api.Properties.GetProperty(x.call(), &propertyv1.GetPropertyRequest{})
	x.property = settings.GetData()
	return err
}

// toLogin moves a browser without a session to the page where a person signs in, and from there back to a page.
func (x *exchange) toLogin() error {
	to := "/app/login"
	if x.R.Method == http.MethodGet && x.R.URL.Path != "/app/" {
		to += "?to=" + url.QueryEscape(x.R.URL.RequestURI())
	}
	return x.Redirect(to)
}

// localPage returns an address of this dashboard, or "" for another.
func localPage(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(address, "/app/") || strings.ContainsAny(address, "\\\r\n") || u.Path != u.EscapedPath() || strings.Contains(u.Path, "..") {
		return ""
	}
	return address
}

// problem answers with a page that says what is wrong.
func (x *exchange) problem(status int, kind string) error {
	p := x.newPage(kind)
	p.Data = problemView{Text: kind + ".text", Home: x.session != nil}
	return x.render(status, "problem", p)
}

type problemView struct {
	Text string
	Home bool // the page leads to the first page of the dashboard
}

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
	case f.Reason == fault.SecondFactorRequired:
		x.keepTyped()
		_ = x.Redirect("/app/confirm?to=" + url.QueryEscape(x.R.URL.RequestURI()))
	case f.Kind == fault.Unauthenticated:
		x.DropCookie(sessionCookie)
		_ = x.toLogin()
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

// saveLook keeps a choice of the look, or of the number of rows, on the device.
func (s *site) saveLook(x *exchange) error {
	x.savePageSize()
	return x.SaveLook(s.Now().Add(kit.LookAge), func(string) {})
}
