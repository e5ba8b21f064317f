package web_test

import (
	"strings"
	"testing"

	"latchkey.dev/internal/test/browser"
)

// countLinks counts the links that the page asks for.
const countLinks = `{
	const fetched = window.fetch;
	window.linksAsked = 0;
	window.fetch = (to, ...more) => { if (String(to).endsWith("/key/link")) linksAsked++; return fetched(to, ...more); };
}`

// A browser that keeps no key says why, shows the PIN, and uses no link up. A browser that gets stuck does not leave dead buttons.
func TestBrowserThatKeepsNoKey(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	link := w.link()
	first := browser.Open(t, browser.WithSize(browser.Phone), browser.WithoutScript)
	first.Visit(link)
	first.Next("Open my stay", "Your stay")
	path := strings.TrimPrefix(first.Address(), w.Base)
	w.book("B-1", "1001", "R101", map[string]any{"state": "started"})

	const storage, unable, insecure = "This browser cannot keep a key, for example", "This browser cannot make a key.", "no secure connection (https)"
	for _, c := range []struct{ name, host, script, says string }{
		{"refuses keys", "", `IDBObjectStore.prototype.put = () => { throw new DOMException("not cloned", "DataCloneError"); };`, storage},
		{"loses keys", "", `IDBObjectStore.prototype.put = function (value, key) { return this.get(key); };`, storage},
		{"has no database", "", `Object.defineProperty(window, "indexedDB", { get() { throw new DOMException("no database", "SecurityError"); } });`, storage},
		{"gets stuck opening", "", `IDBFactory.prototype.open = () => ({});`, storage},
		{"gets stuck storing", "", `IDBDatabase.prototype.transaction = () => ({ objectStore: () => ({ get: () => ({}), put: () => ({}), delete: () => ({}) }) });`, storage},
		{"is blocked", "", `IDBFactory.prototype.open = () => { const r = {}; setTimeout(() => r.onblocked(), 0); return r; };`, storage},
		{"cannot sign", "", `Object.defineProperty(Crypto.prototype, "subtle", { value: undefined });`, unable},
		{"has no TLS", browser.PlainHost, ``, insecure},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := browser.Open(t, browser.WithSize(browser.Narrow), browser.WithClock, browser.WithScript(countLinks), browser.WithScript(c.script),
				browser.Tolerate("Cross-Origin-Opener-Policy header has been ignored"))
			base := w.Base
			if c.host != "" {
				base = strings.Replace(base, "127.0.0.1", c.host, 1)
			}
			for _, cookie := range first.Cookies() {
				p.SetCookie(base, cookie.Name, cookie.Value)
			}
			p.Visit(base + path)
			for range 3 {
				p.Pass(7) // each step of a browser that is stuck ends
			}
			p.WaitText(c.says)
			if p.Has("#open button") || !p.Holds(`linksAsked === 0`) {
				t.Errorf("the page has a button, or asked for a link: %s", p.Text())
			}
			p.Axe()
			p.Fits()
			p.Screenshot("nokey-" + strings.ReplaceAll(c.name, " ", "-"))
			p.Next("Show my code", "Your code")
			w.pinOn(p)
		})
	}

	p := browser.Open(t, browser.WithSize(browser.Phone), browser.WithScript(countLinks))
	p.CopyCookies(first)
	p.Visit(w.Base + path)
	p.Wait("#open [data-said]")
	if !p.Holds(`linksAsked === 1`) {
		t.Error("a browser that keeps keys asked for another number of links than one")
	}
}

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
