package rest_test

import (
	"io"
	"strings"
	"testing"

	"latchkey.dev/internal/api/chain"
)

// Browsers get a page or a redirect to one; programs get JSON.
func TestBrowsersGetPages(t *testing.T) {
	s := newStack(t, chain.Limits{})
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct {
		method, path, accept string
		status               int
		kind, holds          string
	}{
		{"GET", "/", browser, 302, "", ""},
		{"GET", "/", "", 200, "application/json", `"/openapi.yaml"`},
		{"GET", "/", "application/json", 200, "application/json", `"/docs"`},
		{"POST", "/", "", 404, "application/json", "routeNotFound"},
		{"GET", "/rooms", browser, 404, "text/html; charset=utf-8", `<a href="/docs">`},
		{"GET", "/rooms", "text/html", 404, "text/html; charset=utf-8", `Guests <a href="/g/">open their stay</a>. Staff <a href="/app">sign in</a>.`},
		{"GET", "/docs/", browser, 404, "text/html; charset=utf-8", `<a href="/docs">`},
		{"GET", "/rooms", "*/*", 404, "application/json", "routeNotFound"},
		{"GET", "/rooms", "text/plain", 404, "application/json", "routeNotFound"},
		{"POST", "/rooms", browser, 404, "application/json", "routeNotFound"},
		{"GET", "/v1/spaces", browser, 200, "application/json", ""},
		{"GET", "/v1/spaces", "text/html", 406, "application/json", "notAcceptable"},
	} {
		res := s.call(c.method, c.path, "", "Accept", c.accept)
		raw, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != c.status || res.Header.Get("Content-Type") != c.kind || !strings.Contains(string(raw), c.holds) || res.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s for %q: %d %v %.200s", c.method, c.path, c.accept, res.StatusCode, res.Header, raw)
		}
		if c.status == 302 && res.Header.Get("Location") != "/guide" {
			t.Errorf("it leads to %q", res.Header.Get("Location"))
		}
		if html := strings.HasPrefix(c.kind, "text/html"); html != strings.Contains(res.Header.Get("Content-Security-Policy"), "style-src 'self'") {
			t.Errorf("%s %s: policy %q", c.method, c.path, res.Header.Get("Content-Security-Policy"))
		}
	}
}
