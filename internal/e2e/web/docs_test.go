package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"latchkey.dev/gen/site"
	"latchkey.dev/internal/api/rest"
	"latchkey.dev/internal/test/browser"
)

func TestDocumentation(t *testing.T) {
	t.Parallel()
	d, err := rest.NewDocs(site.Files)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, p := range d.Paths() {
		mux.Handle(p, d)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p := browser.Open(t, browser.WithSize(browser.Phone))
	paths := []string{"/guide", "/docs/quick-start", "/docs/kiosk"}
	if all {
		paths = nil
		for _, pattern := range d.Paths() {
			if path := strings.TrimPrefix(pattern, "GET "); strings.HasPrefix(path, "/docs") && !strings.Contains(path, ".") {
				paths = append(paths, path)
			}
		}
	}
	for _, path := range paths {
		p.Visit(server.URL + path)
		if p.Heading() == "" {
			t.Errorf("%s has no heading", path)
		}
		p.Axe()
		p.LayoutShift()
		p.Fits()
	}
	p.Visit(server.URL + "/docs/quick-start")
	p.KeyboardWalk()
	p.Visit(server.URL + "/docs/owner-guide")
	p.Script(`document.querySelectorAll(".guide img").forEach(i => { i.loading = "eager" })`)
	p.WaitUntil("all pictures", `document.querySelectorAll(".guide img").length > 8 && [...document.querySelectorAll(".guide img")].every(i => i.complete && i.naturalWidth > 0 && i.alt)`)
	p.LayoutShift()
	p.Fits()
	p.Screenshot("owner-guide")
}
