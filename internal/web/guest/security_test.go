package guest

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/logtest"
)

// Every answer has the headers that keep scripts, frames, referrers and caches out, also an error.
func TestHeaders(t *testing.T) {
	f := newFake()
	b := f.client(t)
	nonces := map[string]bool{}
	for _, path := range []string{"/g/l/" + linkSecret, "/g/stays/rsv_1", "/g/elsewhere", "/k/", "/k/enrol", "/q/door_1"} {
		a := b.get(path)
		policy := a.header.Get("Content-Security-Policy")
		nonce := regexp.MustCompile(`'nonce-([A-Z2-7]+)'`).FindStringSubmatch(policy)
		if nonce == nil || nonces[nonce[1]] {
			t.Fatalf("%s: the nonce is missing or old: %s", path, policy)
		}
		nonces[nonce[1]] = true
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "require-trusted-types-for 'script'", "trusted-types latchkey"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy lacks %s", path, part)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %s", path, policy)
		}
		for name, want := range map[string]string{
			"Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if got := a.header.Get("Permissions-Policy"); !strings.Contains(got, "camera=()") || strings.Contains(got, "screen-wake-lock=(self)") != strings.HasPrefix(path, "/k/") {
			t.Errorf("%s: Permissions-Policy is %q", path, got)
		}
		for _, script := range regexp.MustCompile(`<script[^>]*>`).FindAllString(a.body, -1) {
			if !strings.Contains(script, `nonce="`+nonce[1]+`"`) {
				t.Errorf("%s: %s has no nonce", path, script)
			}
		}
	}
}

// The size of a compressed page could tell another site what is in it: see mayCompress.
func TestSecretsAreNotCompressed(t *testing.T) {
	f := newFake()
	f.start("verified")
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for _, c := range []struct {
		path, from string
		compressed bool
	}{
		{"/g/stays/rsv_1", "", true}, {"/g/stays/rsv_1", "none", true}, {"/g/stays/rsv_1/people?sent=gst_2", "same-origin", true},
		{"/g/stays/rsv_1", "cross-site", false}, {"/g/stays/rsv_1/form/check", "cross-site", false}, {"/g/stays/rsv_1/people?sent=gst_2", "same-site", false},
		{"/g/l/" + linkSecret, "cross-site", false}, {"/g/elsewhere", "cross-site", false},
		{"/g/stays/rsv_1/key", "", false}, {"/g/stays/rsv_1/key", "same-origin", false}, {"/g/stays/rsv_1/key", "cross-site", false},
	} {
		b.headers = map[string]string{"Accept-Encoding": "gzip"}
		if c.from != "" {
			b.headers["Sec-Fetch-Site"] = c.from
		}
		a := b.get(c.path)
		if got := a.header.Get("Content-Encoding"); (got == "gzip") != c.compressed || !c.compressed && got != "" {
			t.Errorf("%s, loaded by %q: Content-Encoding %q", c.path, c.from, got)
		}
		if strings.HasSuffix(c.path, "/key") && !strings.Contains(a.body, thePin) && !strings.Contains(plain(a.body), "4 8 0") {
			t.Errorf("the page has no code: %s", plain(a.body))
		}
	}
}

// The key of a form is another in each answer, so that answers of different sizes do not give it away.
func TestFormKeysAreFresh(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	seen := map[string]bool{}
	for range 3 {
		key := regexp.MustCompile(`name="key" value="([A-Z2-7]{26})"`).FindStringSubmatch(b.get("/g/stays/rsv_1/form/rules").body)
		if key == nil || seen[key[1]] {
			t.Fatalf("the key of the form: %v", key)
		}
		seen[key[1]] = true
	}
}

// Cookies are out of reach of scripts and of other sites. Over TLS they are bound to the host.
func TestCookies(t *testing.T) {
	f := newFake()
	h := f.handler(t, &logtest.Buffer{})
	for _, secure := range []bool{false, true} {
		f.bound = false
		r := httptest.NewRequest(http.MethodPost, "/g/l/"+linkSecret, strings.NewReader(formOfLink().Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if secure {
			r.TLS = &tls.ConnectionState{}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		cookies := w.Result().Cookies()
		if len(cookies) != 1 {
			t.Fatalf("cookies: %v", cookies)
		}
		c, want := cookies[0], "lk-stay-rsv_1"
		if secure {
			want = "__Host-" + want
		}
		if c.Name != want || c.Value != staySession || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.Secure != secure || c.Expires.IsZero() {
			t.Errorf("secure %v: %v", secure, c)
		}
	}
}

// A form of another site changes nothing.
func TestOtherSitesAreRefused(t *testing.T) {
	f := newFake()
	h := f.handler(t, &logtest.Buffer{})
	for _, header := range []http.Header{{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"https://evil.example"}}} {
		r := httptest.NewRequest(http.MethodPost, "/g/l/"+linkSecret, strings.NewReader(formOfLink().Encode()))
		r.Header = header
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusForbidden || f.bound {
			t.Errorf("%v: status %d, bound %v", header, w.Code, f.bound)
		}
	}
}

// The same form sent twice has the same idempotency key. Other answers have another key. A key that no page made is not passed on.
func TestFormKeys(t *testing.T) {
	f := newFake()
	b := f.client(t)
	page := b.shows("/g/l/" + linkSecret)
	found := regexp.MustCompile(`name="key" value="([^"]+)"`).FindStringSubmatch(page.body)
	if found == nil {
		t.Fatal("the form has no key")
	}
	key, arrival := found[1], "/g/stays/rsv_1/form/arrival"
	b.moves("/g/l/"+linkSecret, form("key", key), "/g/stays/rsv_1")
	keyOf := func(sent url.Values) string {
		f.keys = nil
		b.moves(arrival, sent, "/g/stays/rsv_1")
		return strings.Join(slices.Compact(f.keys), " ")
	}
	at15 := keyOf(form("key", key, "time", "15:00"))
	if again := keyOf(form("key", key, "time", "15:00")); at15 == "" || again != at15 {
		t.Errorf("the same form was sent with the keys %q and %q", at15, again)
	}
	if at16 := keyOf(form("key", key, "time", "16:00")); at16 == at15 {
		t.Errorf("other answers were sent with the same key %q", at16)
	}
	if guessed := keyOf(form("key", "short")); guessed != "" {
		t.Errorf("the key %q was sent", guessed)
	}
}

// A mail scanner that posts to the address of a link, without its form, neither binds the link nor asks for another.
func TestPostWithoutTheFormBindsNothing(t *testing.T) {
	f := newFake()
	b := f.client(t)
	for _, posted := range []url.Values{nil, form("key", "guess"), form("a", "b")} {
		bound, renewed := b.do(http.MethodPost, "/g/l/"+linkSecret, posted), b.do(http.MethodPost, "/g/l/"+linkSecret+"/renew", posted)
		if f.bound || bound.status != http.StatusOK || strings.Contains(renewed.body, "A new link is on its way") {
			t.Errorf("posting %v: bound %t, status %d; the link was renewed with\n%s", posted, f.bound, bound.status, renewed.body)
		}
	}
}

// A body that is too large, and one that is no form, get a page.
func TestBodiesAreBounded(t *testing.T) {
	f := newFake()
	b := f.client(t)
	if a := b.do(http.MethodPost, "/q/door_1", url.Values{"number": {strings.Repeat("a", 64<<10)}}); a.status != http.StatusBadRequest {
		t.Errorf("status %d", a.status)
	}
}

// The errors of the API have pages of their own, and none shows what the API says.
func TestFaults(t *testing.T) {
	f := newFake()
	b := f.client(t)
	for kind, want := range map[fault.Kind]int{
		fault.Unauthenticated: 404, fault.Denied: 404, fault.NotFound: 404, fault.Exhausted: 429, fault.Precondition: 409, fault.Aborted: 409,
		fault.Unavailable: 503, fault.Deadline: 503, fault.Internal: 500,
	} {
		f.fails, f.bound = nil, false
		b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1") // a session that ended is forgotten
		f.fails = fault.New(kind, "", "INTERNAL TEXT Silva")
		if a := b.get("/g/stays/rsv_1"); a.status != want || strings.Contains(a.body, "INTERNAL TEXT") {
			t.Errorf("%v: status %d: %s", kind, a.status, plain(a.body))
		}
	}
	b.checkSecrets()
}
