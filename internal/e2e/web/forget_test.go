package web_test

import (
	"context"
	"strings"
	"testing"

	"latchkey.dev/internal/test/browser"
)

// smartKeyOf is a promise of what the browser keeps of a stay's SmartKey.
func smartKeyOf(stay string) string {
	return `new Promise((done) => {
		const request = indexedDB.open("latchkey-guest", 1);
		request.onsuccess = () => {
			const got = request.result.transaction("smartkeys").objectStore("smartkeys").get("` + stay + `");
			got.onsuccess = () => (request.result.close(), done(got.result));
		};
	})`
}

// A guest with two rooms forgets one of them on the phone. The other still opens, also without internet, and a copy of the forgotten SmartKey opens nothing.
func TestGuestForgetsOneOfTwoStays(t *testing.T) {
	t.Parallel()
	w := open(t)
	started := map[string]any{"state": "started"}
	w.book("B-1", "1001", "R101", nil)
	link := w.link()
	p := browser.Open(t, browser.WithSize(browser.Phone))
	p.Visit(link)
	p.Next("Open my stay", "Your stay")
	w.book("B-1", "1001", "R101", started)
	p.Reload()
	p.Wait("#open [data-said]")
	one := p.Address()
	stay := one[strings.LastIndex(one, "/")+1:]

	w.book("B-2", "1002", "R102", nil)
	other := browser.Open(t, browser.SameDevice(p), browser.WithSize(browser.Phone))
	other.Visit(w.linkOtherThan(link))
	other.Next("Open my stay", "Your stay")
	w.book("B-2", "1002", "R102", started)
	other.Reload()
	other.Wait("#open [data-said]")
	other.WaitUntil("the service worker", workerIsActive)

	p.Hold("Hold to open Room 101", "Open. Push the door now.")
	second := browser.Open(t, browser.SameDevice(p), browser.WithSize(browser.Phone))
	second.Visit(one)
	second.Wait("#open [data-said]")
	second.WaitUntil("a copy of the key", smartKeyOf(stay)+`.then((key) => window.copied = key)`)

	p.Click("Forget this device")
	p.Next("Forget my stay on this device", "This device has forgotten your stay")
	p.WaitUntil("the key is forgotten", smartKeyOf(stay)+`.then((key) => key === undefined)`)
	second.Hold("Hold to open Room 101", "This phone has no key any more.")
	second.WaitUntil("the copy is back", `new Promise((done) => {
		const request = indexedDB.open("latchkey-guest", 1);
		request.onsuccess = () => {
			const t = request.result.transaction("smartkeys", "readwrite");
			t.objectStore("smartkeys").put(window.copied, "`+stay+`");
			t.oncomplete = () => (request.result.close(), done(true));
		};
	})`)
	second.Tolerate("status of 4")
	second.Script(`document.querySelector("#open [data-said]").hidden = true`)
	second.Hold("Hold to open Room 101", "This phone has no key any more.")

	other.Hold("Hold to open Room 102", "Open. Push the door now.")
	other.Reload()
	other.Wait("#open [data-said]")
	other.Hold("Hold to open Room 102", "Open. Push the door now.")
}

// linkOtherThan waits for an invitation with another link.
func (w *world) linkOtherThan(former string) (link string) {
	w.t.Helper()
	w.Await("another invitation", func(context.Context) (bool, error) {
		link = w.link()
		return link != former, nil
	})
	return link
}
