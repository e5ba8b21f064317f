package guest

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/test/logtest"
	"latchkey.dev/internal/web/kit"
)

// client is a browser with cookies that follows no redirect.
type client struct {
	t     *testing.T
	base  string
	http  *http.Client
	log   *logtest.Buffer
	moved []string // every Location
	// headers are sent with each request.
	headers map[string]string
}

func (f *fakeAPI) handler(t *testing.T, log io.Writer) http.Handler {
	t.Helper()
	k := f.kit(t, log)
	pages, err := New(k, API{Links: fakeLinks{f}, Stays: f, Messages: f, Privacy: f, Forms: f, CheckIns: f, Kiosks: fakeKiosks{f}})
	if err != nil {
		t.Fatal(err)
	}
	return k.WithFiles(pages)
}

func (f *fakeAPI) kit(t *testing.T, log io.Writer) *kit.Kit {
	t.Helper()
	k, err := kit.New(kit.Options{Logger: slog.New(slog.NewTextHandler(log, nil)), Secure: func(r *http.Request) bool { return r.TLS != nil },
		Now: func() time.Time { return f.now }, As: fakeAs, Fault: fakeFault})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// exchange returns a request for a page that no handler answers, in a language or, for "", in English.
func (f *fakeAPI) exchange(t *testing.T, language string, kiosk bool) *exchange {
	t.Helper()
	area, err := f.kit(t, t.Output()).NewArea(files, functions)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/x", nil)
	r.Header.Set("Accept-Language", language)
	return &exchange{Exchange: area.NewExchange(httptest.NewRecorder(), r), site: &site{Area: area}, flow: flow{Kiosk: kiosk}}
}

// rendered returns a page.
func (x *exchange) rendered(t *testing.T, name string, p *page) string {
	t.Helper()
	if err := x.render(http.StatusOK, name, p); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	w, _ := x.W.(*httptest.ResponseRecorder)
	return w.Body.String()
}

func (f *fakeAPI) client(t *testing.T) *client {
	t.Helper()
	log := &logtest.Buffer{}
	server := httptest.NewServer(f.handler(t, log))
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, base: server.URL, log: log, http: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// setCookie gives the browser a cookie.
func (b *client) setCookie(name, value string) {
	b.t.Helper()
	at, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	b.http.Jar.SetCookies(at, []*http.Cookie{{Name: name, Value: value}})
}

// answer is an answer that was read.
type answer struct {
	status int
	header http.Header
	body   string
	moved  string
}

func (b *client) do(method, path string, form url.Values) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", b.base)
	}
	for name, value := range b.headers {
		req.Header.Set(name, value)
	}
	res, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if to := res.Header.Get("Location"); to != "" {
		b.moved = append(b.moved, to)
	}
	return answer{res.StatusCode, res.Header, string(body), res.Header.Get("Location")}
}

func (b *client) get(path string) answer { b.t.Helper(); return b.do(http.MethodGet, path, nil) }

// shows reads a page that must be there and contain some texts.
func (b *client) shows(path string, texts ...string) answer {
	b.t.Helper()
	a := b.get(path)
	if a.status != http.StatusOK {
		b.t.Fatalf("GET %s: status %d, to %q: %s", path, a.status, a.moved, plain(a.body))
	}
	a.contains(b.t, texts...)
	return a
}

func (a answer) contains(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(plain(a.body), text) {
			t.Errorf("the page lacks %q:\n%s", text, plain(a.body))
		}
	}
}

// moves posts a form and expects to be moved.
func (b *client) moves(path string, form url.Values, to string) {
	b.t.Helper()
	if a := b.do(http.MethodPost, path, form); a.moved != to || a.status != http.StatusSeeOther {
		b.t.Fatalf("POST %s: status %d to %q, want to %q: %s", path, a.status, a.moved, to, plain(a.body))
	}
}

var tags = regexp.MustCompile(`(?s)<(script|style|svg).*?</(script|style|svg)>|<[^>]*>`)

var times = regexp.MustCompile(`<time[^>]*>(.*?)</time>`)

// plain is the text of a page.
func plain(html string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("&#39;", "'", "&#34;", `"`, "&amp;", "&", "&#43;", "+").Replace(tags.ReplaceAllString(times.ReplaceAllString(html, "$1"), " "))), " ")
}

// formOfLink is the form on the page of a mail's link.
func formOfLink() url.Values { return form("key", pageKey) }

// pageKey is a key as pages put it into their forms.
const pageKey = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

func form(kv ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(kv); i += 2 {
		v.Set(kv[i], kv[i+1])
	}
	return v
}
