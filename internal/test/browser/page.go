package browser

import (
	"context"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// Visit opens an address and waits until the page is loaded.
func (p *Page) Visit(address string) {
	p.t.Helper()
	p.do(chromedp.Navigate(address))
	p.settle()
}

// Reload loads the page again. Chromium refuses that while the page replaces itself, as pages do after a change of their stay.
func (p *Page) Reload() {
	p.t.Helper()
	p.await("reload", func(ctx context.Context) (bool, error) {
		err := chromedp.Do(ctx, chromedp.Reload())
		return err == nil, err
	})
	p.settle()
}

// Back presses the browser's back button. It returns false if there is no page to go back to.
func (p *Page) Back() bool {
	p.t.Helper()
	h := call(p, page.GetNavigationHistory, cdp.Empty{})
	if h.CurrentIndex == 0 {
		return false
	}
	call(p, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: h.Entries[h.CurrentIndex-1].ID})
	p.settle()
	return true
}

// History returns the addresses that the back and forward buttons reach, and the current one.
func (p *Page) History() (addresses []string) {
	p.t.Helper()
	for _, e := range call(p, page.GetNavigationHistory, cdp.Empty{}).Entries {
		addresses = append(addresses, e.URL)
	}
	return addresses
}

// Address returns the address of the page.
func (p *Page) Address() string {
	p.t.Helper()
	return evaluate[string](p, `location.href`)
}

// Heading returns the text of the page's first h1.
func (p *Page) Heading() string {
	p.t.Helper()
	return evaluate[string](p, `(document.querySelector("h1")?.innerText ?? "").trim()`)
}

// Text returns the visible text of the page.
func (p *Page) Text() string {
	p.t.Helper()
	return evaluate[string](p, `document.body?.innerText ?? ""`)
}

// HTML returns the document with all attributes and the present values of its inputs.
func (p *Page) HTML() string {
	p.t.Helper()
	return evaluate[string](p, `document.documentElement.outerHTML + "\n" +
		[...document.querySelectorAll("input, textarea, select")].map(e => e.value).join("\n")`)
}

// Has reports whether an element matches the CSS selector.
func (p *Page) Has(selector string) bool {
	p.t.Helper()
	return evaluate[bool](p, `document.querySelector(`+quote(selector)+`) !== null`)
}

// Holds reports whether a JavaScript expression is true now.
func (p *Page) Holds(expression string) bool {
	p.t.Helper()
	return evaluate[bool](p, expression)
}

// Wait waits until an element matches the CSS selector.
func (p *Page) Wait(selector string) {
	p.t.Helper()
	p.WaitUntil("an element "+selector, `document.querySelector(`+quote(selector)+`) !== null`)
}

// WaitText waits until the page shows a text.
func (p *Page) WaitText(text string) {
	p.t.Helper()
	p.WaitUntil("the text "+quote(text), `(document.body?.innerText ?? "").includes(`+quote(text)+`)`)
}

// WaitHeading waits until the first h1 contains a text, and the page is loaded.
func (p *Page) WaitHeading(text string) {
	p.t.Helper()
	p.WaitUntil("the heading "+quote(text), `document.readyState === "complete" &&
		(document.querySelector("h1")?.innerText ?? "").includes(`+quote(text)+`)`)
}

// WaitUntil waits until a JavaScript expression is true. what describes it for the failure. An error while the page is replaced counts as
// false.
func (p *Page) WaitUntil(what, expression string) {
	p.t.Helper()
	p.await(what, func(ctx context.Context) (bool, error) {
		return chromedp.Run(ctx, chromedp.Evaluate[bool](`Promise.resolve(`+expression+`).then(Boolean)`, chromedp.EvalAwaitPromise))
	})
}

// Cookies returns the cookies of the page's device.
func (p *Page) Cookies() []*network.Cookie {
	p.t.Helper()
	id := chromedp.FromContext(p.ctx).BrowserContextID
	r, err := chromedp.CallBrowser(p.ctx, storage.GetCookies, storage.GetCookiesParams{BrowserContextID: id})
	p.check(err)
	return r.Cookies
}

// CopyCookies copies the cookies of another page's device to this one.
func (p *Page) CopyCookies(from *Page) {
	p.t.Helper()
	var params []*network.CookieParam
	for _, c := range from.Cookies() {
		params = append(params, &network.CookieParam{
			Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Secure: c.Secure, HTTPOnly: c.HTTPOnly, SameSite: c.SameSite,
		})
	}
	id := chromedp.FromContext(p.ctx).BrowserContextID
	_, err := chromedp.CallBrowser(p.ctx, storage.SetCookies, storage.SetCookiesParams{Cookies: params, BrowserContextID: id})
	p.check(err)
}

// isLoaded is true when the document and its style sheets are loaded.
const isLoaded = `document.readyState === "complete"`

// settle waits until the document and its style sheets are loaded.
func (p *Page) settle() {
	p.t.Helper()
	p.WaitUntil("a loaded page", isLoaded)
}

// attempt is how long one call of await's condition may take. The browser does not answer a call whose page it replaces meanwhile.
const attempt = 15 * time.Second

// await polls until holds returns true. After a timeout it fails the test with the description what and the last error of holds.
func (p *Page) await(what string, holds func(context.Context) (bool, error)) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	tick := time.NewTicker(15 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		if p.watcher.needsReload() {
			p.t.Logf("Chromium's process of the page crashed while the test waited for %s: the page is loaded again", what)
			call(p, page.Reload, page.ReloadParams{})
		}
		once, end := context.WithTimeout(ctx, attempt)
		p.watcher.attempt(end)
		ok, err := holds(once)
		end()
		if ok && err == nil {
			return
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.fatal("no %s within %v (last error: %v)", what, patience, last)
		}
	}
}

// fatal fails the test, with what the page shows now.
func (p *Page) fatal(format string, args ...any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	shown, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.title + "\n" + (document.body?.innerText ?? "")`))
	if err != nil {
		shown = "(" + err.Error() + ")"
	}
	if png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot()); err == nil {
		p.save("failure", png)
	}
	p.t.Fatalf(format+"\nThe page shows: %s\nIt reported: %s", append(args, shown, strings.Join(p.watcher.take(), "; "))...)
}

// do runs actions of chromedp on the page, and fails the test if one fails.
func (p *Page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	p.check(chromedp.Do(ctx, steps...))
}

// check fails the test if err, an error of the browser, is not nil.
func (p *Page) check(err error) {
	p.t.Helper()
	if err != nil {
		p.fatal("browser: %v", err)
	}
}

// evaluate returns the value of a JavaScript expression on the page. It waits for the value of a promise.
func evaluate[T any](p *Page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	p.check(err)
	return v
}

// call runs a command of the DevTools protocol on the page.
func call[P, R any](p *Page, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	r, err := chromedp.Call(ctx, command, params)
	p.check(err)
	return r
}

// Script runs a JavaScript expression on the page.
func (p *Page) Script(expression string) {
	p.t.Helper()
	evaluate[any](p, `(`+expression+`, true)`)
}

// Forget removes what the browser has stored for an address: files, workers and data. It is necessary because a test's server may get the
// port of an earlier one.
func (p *Page) Forget(address string) {
	p.t.Helper()
	call(p, network.ClearBrowserCache, cdp.Empty{})
	call(p, storage.ClearDataForOrigin, storage.ClearDataForOriginParams{Origin: address, StorageTypes: "all"})
}

// Installs fails the test if the browser cannot install the page as an app. It ignores that pages of tests are in a private window.
func (p *Page) Installs() {
	p.t.Helper()
	for _, e := range call(p, page.GetInstallabilityErrors, cdp.Empty{}).InstallabilityErrors {
		if e.ErrorID != "in-incognito" {
			p.t.Errorf("%s cannot be installed: %s", p.Address(), e.ErrorID)
		}
	}
	for _, e := range call(p, page.GetAppManifest, page.GetAppManifestParams{}).Errors {
		p.t.Errorf("%s has a manifest with a fault: %s", p.Address(), e.Message)
	}
}

// SetCookie stores a cookie for an address on the page's device.
func (p *Page) SetCookie(address, name, value string) {
	p.t.Helper()
	call(p, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: address})
}

// Kept returns everything that scripts can read in the page's storage and in the caches of its service workers.
func (p *Page) Kept() string {
	p.t.Helper()
	return evaluate[string](p, `(async () => {
		if (location.protocol === "about:") return "";
		const kept = [JSON.stringify(localStorage), JSON.stringify(sessionStorage)];
		for (const name of await caches.keys()) {
			const cache = await caches.open(name);
			for (const request of await cache.keys()) kept.push(request.url, await (await cache.match(request)).text());
		}
		return kept.join("\n");
	})()`)
}

// AddAuthenticator gives the browser a simulated authenticator that stores passkeys and confirms each use at once, without a person.
func (p *Page) AddAuthenticator() {
	p.t.Helper()
	call(p, webauthn.Enable, webauthn.EnableParams{})
	call(p, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true, DefaultBackupEligibility: true,
	}})
}
