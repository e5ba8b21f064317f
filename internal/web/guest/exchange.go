package guest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// exchange is one request for a page and its response.
type exchange struct {
	*kit.Exchange
	site  *site
	token string // token of the session of a stay or profile, or ""; at a tablet without a guest, token of the tablet
	flow  flow
}

// handler answers one request. httpHandler renders a returned error as a page.
type handler func(x *exchange) error

// httpHandler adapts a page handler to net/http. It parses the posted form before the handler runs, and renders an error of it as a page.
func (s *site) httpHandler(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{Exchange: s.NewExchange(w, r), site: s}
		if strings.HasPrefix(r.URL.Path, "/k/") {
			w.Header().Set("Permissions-Policy", kit.Permissions(kit.KeepScreenOn))
		}
		err := x.ParseForm()
		if errors.Is(err, kit.ErrForm) {
			x.renderProblem(http.StatusBadRequest, "web.problem.form")
			return
		}
		if err == nil {
			err = h(x)
		}
		if err != nil {
			x.renderError(err)
		}
	})
}

// callContext returns the context for an API call with the token of the exchange.
func (x *exchange) callContext() context.Context { return x.callContextOf(x.token) }

// callContextOf returns the context for an API call with another token, or without one for "".
func (x *exchange) callContextOf(token string) context.Context {
	return x.CallContext(kit.Credential{Token: token, Language: x.pageLanguage()})
}

// renderProblem renders an error page. kind is the message kind of its title, and the message kind.text is its text. If it cannot be
// rendered, that is logged and the response is an empty status 500.
func (x *exchange) renderProblem(status int, kind string) {
	p := x.newPage(x.flow.Stay.GetProperty(), kind)
	v := problemView{Text: p.T(kind + ".text")}
	v.URL, v.Label = x.continueLink(status)
	p.Data = v
	if err := x.render(status, "problem", p); err != nil {
		x.site.Logger.ErrorContext(x.R.Context(), "a page could not be rendered", "error", err)
		http.Error(x.W, "", http.StatusInternalServerError)
	}
}

type problemView struct {
	Text       any    // the explanation, as HTML
	URL, Label string // link to continue, or ""
}

// continueLink returns the link with which the guest continues from an error page with this status: its URL and its label, a message kind.
// Both are "" if there is none.
func (x *exchange) continueLink(status int) (link, label string) {
	path := x.R.URL.Path
	switch {
	case x.flow.Kiosk || strings.HasPrefix(path, "/k/"):
		return "/k/", "web.problem.start"
	case x.flow.Stay != nil:
		return x.flow.Home(), "web.problem.stay"
	case status == http.StatusGone && x.R.PathValue("id") == "":
		return "", "" // the URL names no stay, so a session of this device may be of the ended stay itself
	case status != http.StatusNotFound && (strings.HasPrefix(path, "/g/l/") || strings.HasPrefix(path, "/q/")):
		return strings.TrimSuffix(path, "/renew"), "web.problem.load"
	}
	if door := x.Cookie(doorCookie + x.R.PathValue("id")); door != "" && status == http.StatusNotFound {
		return "/q/" + url.PathEscape(door), "web.find.title"
	}
	if id := x.keptStay(x.R.PathValue("id")); id != "" {
		return "/g/stays/" + id, "web.problem.stay"
	}
	if status == http.StatusNotFound {
		return "/g/", "web.first.title"
	}
	return "", ""
}

// notFound renders the page for an unknown stay, link or page. A stay of another guest gets the same page, so that the page does not reveal
// it. The result is always nil.
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

// renderError answers with the error page for err. A kiosk redirects to its start page instead if the session has ended or lacks a right,
// or if the page does not exist. Other devices then get the page for unknown URLs or, if a right is missing for a loaded stay, a page with
// status 403. Any other fault gets a page that fits its kind. An error that is no fault is logged, and gets a page with status 500.
func (x *exchange) renderError(err error) {
	f := x.site.Fault(err)
	kind := f.Kind
	if kind == fault.Invalid && x.R.Method != http.MethodPost {
		kind = fault.NotFound // in a GET only the URL can be invalid, such as a link copied with text of the mail
	}
	switch kind {
	case fault.Unauthenticated, fault.Denied, fault.NotFound:
		if x.flow.Kiosk {
			_ = x.Redirect("/k/")
			return
		}
		if kind == fault.Denied && x.flow.Stay.GetProperty() != nil {
			x.renderProblem(http.StatusForbidden, "web.problem.denied")
			return
		}
		_ = x.notFound()
	case fault.Exhausted:
		x.renderProblem(http.StatusTooManyRequests, "web.problem.tooMany")
	case fault.Precondition:
		if f.Reason == fault.StayEnded {
			x.renderProblem(http.StatusConflict, "web.problem.ended")
			return
		}
		x.renderProblem(http.StatusConflict, "web.problem.changed")
	case fault.Invalid, fault.Aborted, fault.Exists:
		x.renderProblem(http.StatusConflict, "web.problem.changed")
	case fault.Unavailable, fault.Deadline, fault.Canceled:
		x.renderProblem(http.StatusServiceUnavailable, "web.problem.away")
	default:
		x.site.Logger.ErrorContext(x.R.Context(), "a page failed", "kind", f.Kind.String(), "reason", f.Reason)
		x.renderProblem(http.StatusInternalServerError, "web.problem.away")
	}
}

// Names of cookies. On a guest's device, the id of a stay follows the name: stayCookie has the session of that stay. doorCookie has the
// door whose QR code the guest scanned to find the stay, so that the guest can search again after the session. A tablet has its own token
// in kioskCookie, and the session of its current guest in visitCookie.
const (
	stayCookie  = "lk-stay-"
	doorCookie  = "lk-door-"
	kioskCookie = "lk-kiosk"
	visitCookie = "lk-visit"
)

// kioskAge is how long a browser stores the token of a tablet. Staff can revoke the token earlier.
const kioskAge = 400 * 24 * time.Hour

// cookieID matches the ids that may be part of a cookie's name.
var cookieID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
