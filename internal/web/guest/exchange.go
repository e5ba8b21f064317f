package guest

import (
	"context"
	"net/http"
	"strings"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// exchange is one request for a page, and its answer.
type exchange struct {
	*kit.Exchange
	site  *site
	token string // the guest's session, or the tablet's token before there is one
	flow  flow
}

// handler answers one request. Its error becomes a page.
type handler func(x *exchange) error

// httpHandler adapts a page handler to net/http: it parses the posted form, and renders the error as a page.
func (s *site) httpHandler(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{Exchange: s.NewExchange(w, r), site: s}
		if strings.HasPrefix(r.URL.Path, "/k/") {
			w.Header().Set("Permissions-Policy", kit.Permissions(kit.KeepScreenOn))
		}
		if !x.ParseForm() {
			x.renderProblem(http.StatusBadRequest, "web.problem.form")
			return
		}
		if err := h(x); err != nil {
			x.renderError(err)
		}
	})
}

// callContext returns the context for an API call as the session of the exchange.
func (x *exchange) callContext() context.Context { return x.callContextOf(x.token) }

func (x *exchange) callContextOf(token string) context.Context {
	return x.CallContext(kit.Credential{Token: token, Language: x.pageLanguage()})
}

// renderProblem answers with a page that says what is wrong.
func (x *exchange) renderProblem(status int, kind string) {
	p := x.newPage(x.flow.Stay.GetProperty(), kind)
	v := problemView{Text: p.T(kind + ".text")}
	v.URL, v.Label = x.wayOn(status)
	p.Data = v
	if err := x.render(status, "problem", p); err != nil {
		x.site.Logger.ErrorContext(x.R.Context(), "a page could not be rendered", "error", err)
		http.Error(x.W, "", http.StatusInternalServerError)
	}
}

type problemView struct {
	Text       any
	URL, Label string // where the guest can go on; "" if nowhere
}

// wayOn returns the address and the message of the link on a page that says what is wrong.
func (x *exchange) wayOn(status int) (url, label string) {
	path := x.R.URL.Path
	switch {
	case x.flow.Kiosk || strings.HasPrefix(path, "/k/"):
		return "/k/", "web.problem.start"
	case x.flow.Stay != nil:
		return x.flow.Home(), "web.problem.stay"
	case status == http.StatusGone && x.R.PathValue("id") == "":
		return "", "" // a device's session of the same stay has ended, too
	case status != http.StatusNotFound && (strings.HasPrefix(path, "/g/l/") || strings.HasPrefix(path, "/q/")):
		return strings.TrimSuffix(path, "/renew"), "web.problem.load"
	}
	if id := x.keptStay(x.R.PathValue("id")); id != "" {
		return "/g/stays/" + id, "web.problem.stay"
	}
	return "", ""
}

// notFound answers like for every stay, link or page that does not exist or is another's.
func (x *exchange) notFound() error {
	kind := "web.problem.unknown"
	switch path := x.R.URL.Path; {
	case strings.HasPrefix(path, "/g/l/"):
		kind = "web.problem.link"
	case strings.HasPrefix(path, "/q/"):
		kind = "web.problem.door"
	}
	x.renderProblem(http.StatusNotFound, kind)
	return nil
}

// renderError answers with the page of an error.
func (x *exchange) renderError(err error) {
	f := x.site.Fault(err)
	kind := f.Kind
	if kind == fault.Invalid && x.R.Method != http.MethodPost {
		kind = fault.NotFound // only the address can be wrong, such as that of a link with a part of the mail's text
	}
	switch kind {
	case fault.Unauthenticated, fault.Denied, fault.NotFound:
		if x.flow.Kiosk {
			_ = x.Redirect("/k/")
			return
		}
		_ = x.notFound()
	case fault.Exhausted:
		x.renderProblem(http.StatusTooManyRequests, "web.problem.tooMany")
	case fault.Invalid, fault.Precondition, fault.Aborted, fault.Exists:
		x.renderProblem(http.StatusConflict, "web.problem.changed")
	case fault.Unavailable, fault.Deadline, fault.Canceled:
		x.renderProblem(http.StatusServiceUnavailable, "web.problem.away")
	default:
		x.site.Logger.ErrorContext(x.R.Context(), "a page failed", "kind", f.Kind.String(), "reason", f.Reason)
		x.renderProblem(http.StatusInternalServerError, "web.problem.away")
	}
}
