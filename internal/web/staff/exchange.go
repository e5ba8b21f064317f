package staff

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// exchange is one request for a page and its response.
type exchange struct {
	*kit.Exchange
	site     *site
	token    string                     // token of the session from the cookie, or ""
	session  *propertyv1.CurrentSession // nil until load has read it
	role     *propertyv1.PersonProperty // the property that the page shows and the person's role there; nil before load, or if the person has no property
	property *propertyv1.Property       // settings of the property in role; nil if role is nil
	proves   bool                       // the browser came back from the identity provider, where the person had to sign in again
	typed    *typedForm                 // form values from before the person confirmed the second factor or signed in again, or nil
}

// handler answers one request. httpHandler renders a returned error as a page.
type handler func(x *exchange) error

// httpHandler adapts a page handler to net/http. It parses the posted form first: a form that is invalid or too large gets an error page,
// and the handler does not run. It renders the handler's error as a page.
func (s *site) httpHandler(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{Exchange: s.NewExchange(w, r), site: s}
		w.Header().Set("Permissions-Policy", kit.Permissions(kit.UsePasskeys))
		x.token = x.Cookie(sessionCookie)
		err := x.parseForm()
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

// maxSheetForm is the maximum size in bytes of the form with a file of rooms.
const maxSheetForm = 1 << 20

// parseForm parses the posted form: see [kit.Exchange.ParseForm]. Only the upload of a file of rooms can be large. So its session is checked
// first, and without a valid one the file is discarded.
func (x *exchange) parseForm() error {
	if x.R.URL.Path != "/app/spaces/import" || x.R.Method != http.MethodPost || x.token == "" {
		return x.ParseForm()
	}
	if _, err := x.site.api.Sessions.GetSession(x.call(), &propertyv1.GetSessionRequest{}); err != nil {
		_, _ = io.Copy(io.Discard, http.MaxBytesReader(x.W, x.R.Body, maxSheetForm)) // so that the browser reads the answer
		return err
	}
	return x.ParseFormOf(maxSheetForm)
}

// call returns the context for an API call. It carries the session of the signed-in person, the property of the page, the language, the
// idempotency key of the posted form, and whether the request is automatic.
func (x *exchange) call() context.Context {
	return x.CallContext(kit.Credential{Token: x.token, Property: x.role.GetPropertyId(), Language: x.words().Lang, Automatic: x.automatic()})
}

// feedPath is the URL of the event stream of changes.
const feedPath = "/app/live"

// automatic reports whether the page's script sent the request by itself, to update the page. Such requests do not extend the session: the
// person possibly has left.
func (x *exchange) automatic() bool {
	return x.R.Method == http.MethodGet && (x.R.URL.Path == feedPath || x.R.Header.Get("Latchkey-Automatic") != "")
}

// anonymous returns the context for an API call without a session. It carries the language, and the idempotency key of the posted form.
func (x *exchange) anonymous() context.Context {
	return x.CallContext(kit.Credential{Language: x.words().Lang})
}

// words returns the renderer of texts for the page, in the language that the person or the browser chose, and with times in the time zone
// of the property (UTC before load).
func (x *exchange) words() kit.Words {
	return x.Words(kit.Locale{TimeZone: x.property.GetTimeZone()})
}

// may reports whether the person's role at the property has a right, such as "manageLocks". Every signed-in person has the right [Self].
// Before load it is false.
func (x *exchange) may(right string) bool {
	return right == Self && x.session != nil || slices.Contains(x.role.GetRights(), right)
}

// require wraps a handler of a page that needs a right. A page for [Anyone] needs no session, and its handler runs without load. Otherwise,
// without a session cookie, the browser goes to the sign-in. Without the right, or for a form posted from the page of another property
// (unless right is [Self]), it gets an error page. The handler runs after load and restoreTyped. The API checks the right again at each
// call.
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
		if right != Self && x.ofOtherProperty() {
			return x.problem(http.StatusConflict, "staff.problem.property")
		}
		if !x.may(right) {
			return x.problem(http.StatusForbidden, "staff.problem.role")
		}
		x.restoreTyped()
		return h(x)
	}
}

// ofOtherProperty reports whether the posted form is from a page of another property. All tabs of a browser share the cookie with the
// chosen property, so the page in a tab may be older than the choice.
func (x *exchange) ofOtherProperty() bool {
	of := x.Value("pageProperty")
	return x.R.Method == http.MethodPost && of != "" && of != x.role.GetPropertyId()
}

// load reads the session, and the settings of the property in the cookie or, if the cookie names none of the person's, of their first
// property. If the person has no property, x.role and x.property stay nil. It fails with Unauthenticated if the session has ended.
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

// toLogin redirects a browser without a session to the sign-in page, which later returns to the requested page. If the request posted a
// form, the sign-in page says that nothing was saved, and returns to the page of the form.
func (x *exchange) toLogin() error {
	switch {
	case x.R.Method != http.MethodGet:
		return x.Redirect(listURL("/app/login", "ended", "yes", "to", x.formPage()))
	case x.R.URL.Path == "/app/":
		return x.Redirect("/app/login")
	}
	return x.Redirect(listURL("/app/login", "to", x.R.URL.RequestURI()))
}

// formPage returns the URL path of the page that contained the posted form: the path that it was posted to, or the nearest parent path that
// has a page. It returns "" if there is none.
func (x *exchange) formPage() string {
	for at := x.R.URL.Path; len(at) > len("/app"); at = path.Dir(at) {
		_, pattern := x.site.Mux.Handler(&http.Request{Method: http.MethodGet, Host: x.R.Host, URL: &url.URL{Path: at}})
		if strings.HasPrefix(pattern, http.MethodGet+" ") {
			return at
		}
	}
	return ""
}

// localPage returns address if it is a URL path below /app/ without escapes in the path, with or without a query, and "" otherwise. It does
// not check that the page exists. It prevents redirects to other sites.
func localPage(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(address, "/app/") || strings.ContainsAny(address, "\\\r\n") || u.Path != u.EscapedPath() || strings.Contains(u.Path, "..") {
		return ""
	}
	return address
}

// problem renders an error page. kind is the message kind of its title, and the message kind.text is its text.
func (x *exchange) problem(status int, kind string) error {
	p := x.newPage(kind)
	p.Data = problemView{Text: kind + ".text", Home: x.session != nil}
	return x.render(status, "problem", p)
}

type problemView struct {
	Text string
	Home bool // the page links to the first page of the dashboard
}

// showUnknown answers paths that no page has.
func (s *site) showUnknown(x *exchange) error {
	if x.token != "" {
		_ = x.load() // with a session, the page shows the menu
	}
	return x.problem(http.StatusNotFound, "staff.problem.unknown")
}

// renderError answers with the error page for err, and logs an unexpected one. If the call needs the second factor, a newer sign-in or a
// session, the browser goes to the page that asks for it. In the first two cases keepTyped stores the posted values, and in the last one
// the session cookie is deleted.
func (x *exchange) renderError(err error) {
	f := x.site.Fault(err)
	switch {
	case f.Reason == fault.SecondFactorRequired:
		x.keepTyped()
		_ = x.Redirect("/app/confirm?to=" + url.QueryEscape(x.R.URL.RequestURI()))
	case f.Reason == fault.SignInAgain:
		x.keepTyped()
		_ = x.Redirect(loginAgain(x.R.URL.RequestURI()))
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

// saveLook handles the form that chooses colors, language or the number of rows of lists. The choice is stored in cookies.
func (s *site) saveLook(x *exchange) error {
	x.savePageSize()
	return x.SaveLook(s.Now().Add(kit.LookAge), func(string) {})
}
