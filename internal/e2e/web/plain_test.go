package web_test

import (
	"strings"
	"testing"

	"latchkey.dev/internal/test/browser"
)

// Browsers name the site of a form by Sec-Fetch-Site only over TLS, and old ones never. The forms of the pages work without it.
func TestFormsWithoutTLS(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("X1", "X-1", "R101", nil)
	p := browser.Open(t, browser.Tolerate("Cross-Origin-Opener-Policy header has been ignored"))
	p.Visit(strings.Replace(w.link(), "127.0.0.1", browser.PlainHost, 1))
	p.Next("Open my stay", "Your stay")
	if !strings.Contains(p.Address(), "http://"+browser.PlainHost) {
		t.Errorf("the page is at %s", p.Address())
	}
}
