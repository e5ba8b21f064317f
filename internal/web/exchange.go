package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// exchange is one request for a page, and its answer.
type exchange struct {
	site   *site
	w      http.ResponseWriter
	r      *http.Request
	nonce  string
	prefix string // of input names in a posted form
	token  string // the guest's session, or the tablet's token before there is one
	flow   flow
	// ownLanguage means that the page does not follow the language that a guest chose.
	ownLanguage bool
}

// maxForm is the most bytes of a posted form.
const maxForm = 64 << 10

// httpHandler adapts a page handler to net/http: it parses the posted form, and renders the error as a page.
func (s *site) httpHandler(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{site: s, w: w, r: r, nonce: rand.Text()}
		x.setHeaders()
		if r.Method == http.MethodPost {
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			if err := r.ParseForm(); err != nil {
				x.renderProblem(http.StatusBadRequest, "web.problem.form")
				return
			}
		}
		if err := h(x); err != nil {
			x.renderError(err)
		}
	})
}

// callContext returns the context for an API call as the session of the exchange.
func (x *exchange) callContext() context.Context { return x.callContextOf(x.token) }

func (x *exchange) callContextOf(token string) context.Context {
	return x.site.api.As(x.r.Context(), x.r, token, x.callKey())
}

// formKey is the form of the key that a page puts into its forms.
var formKey = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// key returns the key of the posted form, or "".
func (x *exchange) key() string {
	if key := x.r.PostForm.Get("key"); formKey.MatchString(key) {
		return key
	}
	return ""
}

// callKey returns the idempotency key of a call for the posted form, or "". The same form sent twice has the same key. A guest who goes
// back, changes an answer and sends the page again makes another request, which needs another key.
func (x *exchange) callKey() string {
	key := x.key()
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key + "\n" + x.r.PostForm.Encode()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// value returns the posted value of an input without spaces around it. A kiosk's inputs have a random prefix that ends in "~".
func (x *exchange) value(name string) string {
	for full, values := range x.r.PostForm {
		if plain := full[strings.LastIndexByte(full, '~')+1:]; plain == name && len(values) > 0 {
			return strings.TrimSpace(values[0])
		}
	}
	return ""
}

// scripted reports whether the page's script sent the request. It follows the header Latchkey-Location in place of a redirect: a fetch
// that follows a redirect would load the next page twice, and a kiosk shows a code only once.
func (x *exchange) scripted() bool { return x.r.Header.Get("Latchkey-Script") != "" }

// redirect sends the browser to another page. The script of a page follows a header in place of a redirect, see [exchange.scripted].
func (x *exchange) redirect(url string) error {
	if x.scripted() {
		x.w.Header().Set("Latchkey-Location", url)
		x.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	x.w.Header().Set("Location", url)
	x.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// newPage returns a page for the exchange. Its title is a message.
func (x *exchange) newPage(face *guestv1.PropertyFace, title string, kv ...any) *page {
	p := &page{Nonce: x.nonce, Kiosk: x.flow.Kiosk, Property: face, Flow: x.flow, Key: rand.Text(), Path: x.r.URL.Path, files: x.site.files, now: x.site.now(),
		Look: x.theme(), LookURL: x.lookURL(), Languages: x.site.languages.names}
	if p.Kiosk {
		p.Idle = "guest"
		p.prefix = strings.ToLower(rand.Text()[:6]) + "~"
	}
	p.words = x.words(face)
	p.Title = p.T(title, kv...)
	return p
}

// render answers with a page.
func (x *exchange) render(status int, name string, p *page) error {
	p.Gone = p.Gone || status == http.StatusNotFound || status == http.StatusGone
	var b bytes.Buffer
	if err := x.site.pages[name].ExecuteTemplate(&b, "layout", p); err != nil {
		return err
	}
	x.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	x.write(status, b.Bytes(), mayCompress(x.r, name))
	return nil
}

// renderProblem answers with a page that says what is wrong.
func (x *exchange) renderProblem(status int, kind string) {
	p := x.newPage(x.flow.Stay.GetProperty(), kind)
	v := problemView{Text: p.T(kind + ".text")}
	v.URL, v.Label = x.wayOn(status)
	p.Data = v
	if err := x.render(status, "problem", p); err != nil {
		x.site.log.ErrorContext(x.r.Context(), "a page could not be rendered", "error", err)
		http.Error(x.w, "", http.StatusInternalServerError)
	}
}

type problemView struct {
	Text       any
	URL, Label string // where the guest can go on; "" if nowhere
}

// wayOn returns the address and the message of the link on a page that says what is wrong.
func (x *exchange) wayOn(status int) (url, label string) {
	path := x.r.URL.Path
	switch {
	case x.flow.Kiosk || strings.HasPrefix(path, "/k/"):
		return "/k/", "web.problem.start"
	case x.flow.Stay != nil:
		return x.flow.Home(), "web.problem.stay"
	case status == http.StatusGone && x.r.PathValue("id") == "":
		return "", "" // a device's session of the same stay has ended, too
	case status != http.StatusNotFound && (strings.HasPrefix(path, "/g/l/") || strings.HasPrefix(path, "/q/")):
		return strings.TrimSuffix(path, "/renew"), "web.problem.load"
	}
	if id := x.keptStay(x.r.PathValue("id")); id != "" {
		return "/g/stays/" + id, "web.problem.stay"
	}
	return "", ""
}

// notFound answers like for every stay, link or page that does not exist or is another's.
func (x *exchange) notFound() error {
	kind := "web.problem.unknown"
	switch path := x.r.URL.Path; {
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
	f := x.site.api.Fault(err)
	kind := f.Kind
	if kind == fault.Invalid && x.r.Method != http.MethodPost {
		kind = fault.NotFound // only the address can be wrong, such as that of a link with a part of the mail's text
	}
	switch kind {
	case fault.Unauthenticated, fault.Denied, fault.NotFound:
		if x.flow.Kiosk {
			_ = x.redirect("/k/")
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
		x.site.log.ErrorContext(x.r.Context(), "a page failed", "kind", f.Kind.String(), "reason", f.Reason)
		x.renderProblem(http.StatusInternalServerError, "web.problem.away")
	}
}
