package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/test/browser"
)

// clockOff is a script that sets the clock of a phone wrong by some days.
func clockOff(days int) browser.Option {
	return browser.WithScript(fmt.Sprintf(`{
		const Right = Date, off = %d * 24 * 3600 * 1000;
		window.Date = class extends Right {
			constructor(...given) { given.length ? super(...given) : super(Right.now() + off); }
			static now() { return Right.now() + off; }
		};
	}`, days))
}

// workerIsActive is true once the next page is loaded through the service worker, which is registered after the page is kept. It need not
// control this page: one that loads again while the worker starts is not claimed.
const workerIsActive = `navigator.serviceWorker.getRegistration("/g/").then((r) => r?.active)`

// keptPhone opens the stay of a guest who is checked in on a phone, and waits until the phone keeps what it shows without internet.
func (w *world) keptPhone(options ...browser.Option) (*browser.Page, *internet) {
	w.t.Helper()
	w.book("B-1", "1001", "R101", nil)
	link := w.link()
	w.book("B-1", "1001", "R101", map[string]any{"state": "started"})
	net := w.newInternet()
	p := browser.Open(w.t, append(options, browser.WithSize(browser.Phone))...)
	p.Visit(strings.Replace(link, w.Base, net.base, 1))
	p.Next("Open my stay", "Your stay")
	p.Wait("#open [data-said]")
	p.WaitUntil("the service worker", workerIsActive)
	return p, net
}

const showsKept = `/Kept on this phone: .*\d/.test(document.body.innerText) && document.body.innerText.includes("Room 101")`

// A phone whose clock is a day or more off keeps the stay until it ends, shows it with the time at which it was kept, and renews its key when the
// server's clock says so, not at each visit.
func TestPhoneWithAWrongClock(t *testing.T) {
	t.Parallel()
	for _, days := range []int{1, -1, 3} {
		t.Run(fmt.Sprint(days, " days"), func(t *testing.T) {
			w := open(t)
			p, net := w.keptPhone(clockOff(days), browser.WithScript(`{
				const fetched = window.fetch;
				window.renewals = 0;
				window.fetch = (to, ...more) => { if (String(to).endsWith("/renewal")) renewals++; return fetched(to, ...more); };
			}`))
			p.Reload()
			p.Wait("#open [data-said]")
			if !p.Holds(`renewals === 0`) {
				t.Error("the phone renews a key that is fresh")
			}
			p.WaitUntil("a key that is due", dueKey(p.Address()[strings.LastIndex(p.Address(), "/")+1:]))
			p.Reload()
			p.Wait("#open [data-said]")
			if !p.Holds(`renewals === 1`) {
				t.Error("the phone does not renew a key that is due by the server's clock")
			}
			p.Hold("Hold to open Room 101", "Open. Push the door now.")
			net.cut.Store(true)
			p.Tolerate("ERR_EMPTY_RESPONSE")
			p.Reload()
			p.WaitHeading("Your stay cannot be reached")
			p.WaitUntil("what the phone kept", showsKept)
			p.Click("Show my code")
			w.pinOn(p)
		})
	}
}

// dueKey is a script that makes the key of a stay due a minute ago, by the right clock.
func dueKey(stay string) string {
	return changedKey(stay, `key.renewAfter = "`+time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)+`"`)
}

// changedKey is a script that changes what the browser keeps of a stay's SmartKey: key, or got.result.
func changedKey(stay, script string) string {
	return `new Promise((done) => {
		const request = indexedDB.open("latchkey-guest", 1);
		request.onsuccess = () => {
			const change = request.result.transaction("smartkeys", "readwrite");
			const got = change.objectStore("smartkeys").get("` + stay + `");
			got.onsuccess = () => {
				const key = got.result.key;
				` + script + `;
				change.objectStore("smartkeys").put(got.result, "` + stay + `");
			};
			change.oncomplete = () => (request.result.close(), done(true));
		};
	})`
}

// While a proxy does not reach the server, the phone shows what it kept, and goes on when the server is back. Only a browser without a network
// says that the internet is missing.
func TestServerAway(t *testing.T) {
	t.Parallel()
	w := open(t)
	p, net := w.keptPhone()
	net.away.Store(true)
	p.Tolerate("status of 502")
	p.Hold("Hold to open Room 101", "The service cannot be reached. Use your code.")
	p.Reload()
	p.WaitHeading("Your stay cannot be reached")
	p.WaitUntil("what the phone kept", showsKept)
	p.Axe()
	p.Fits()
	p.Screenshot("away")
	p.Click("Show my code")
	w.pinOn(p)
	net.away.Store(false)
	p.Next("Try again", "Your stay")

	cut := browser.Open(t, browser.SameDevice(p), browser.WithSize(browser.Phone), browser.WithScript(`Object.defineProperty(Navigator.prototype, "onLine", { value: false });`))
	net.away.Store(true)
	cut.Tolerate("status of 502")
	cut.Visit(p.Address())
	cut.WaitHeading("No internet")
	cut.WaitUntil("what the phone kept", showsKept)
}

// A form that is sent while the server is away shows what the phone kept, and that it was not sent. It is sent when the guest tries again.
func TestFormWhileServerAway(t *testing.T) {
	t.Parallel()
	w := open(t)
	p, net := w.keptPhone()
	p.Next("House rules To do", "House rules")
	for i, fault := range []struct {
		set   func(bool)
		error string
	}{{net.away.Store, "status of 502"}, {net.cut.Store, "ERR_EMPTY_RESPONSE"}} {
		fault.set(true)
		p.Tolerate(fault.error)
		p.Click([]string{"I accept the house rules", "Try again"}[i])
		p.WaitHeading("Your stay cannot be reached")
		p.WaitText("What you entered was not sent")
		p.WaitUntil("what the phone kept", showsKept)
		p.Axe()
		p.Fits()
		p.Screenshot(fmt.Sprint("away-form-", i))
		fault.set(false)
		if i == 0 {
			net.cut.Store(true)
		}
	}
	p.Next("Try again", "Your stay")
	p.WaitText("House rules")
	p.Next("House rules", "House rules")
	p.WaitText("You accepted these rules")
}

// The house rules are among what a phone shows without internet, and stay within reach after the guest accepted them.
func TestHouseRulesStayWithinReach(t *testing.T) {
	t.Parallel()
	w := open(t)
	p, net := w.keptPhone()
	p.Next("House rules To do", "House rules")
	p.Next("I accept the house rules", "Your stay")
	p.Next("House rules", "House rules")
	p.WaitText("You accepted these rules")
	p.Next("Continue", "Your stay")
	net.cut.Store(true)
	p.Tolerate("ERR_EMPTY_RESPONSE")
	p.Reload()
	p.WaitHeading("Your stay cannot be reached")
	p.WaitUntil("what the phone kept", showsKept)
	p.Click("House rules")
	p.WaitUntil("the rules", `[...document.querySelectorAll("details[open] p")].some((p) => p.innerText.length > 10)`)
}

// What a phone keeps of the code follows the language that the guest chooses.
func TestKeptCodeFollowsTheLanguage(t *testing.T) {
	t.Parallel()
	w := open(t)
	p, net := w.keptPhone()
	p.Click("Language: English")
	p.Next("Deutsch", "Ihr Aufenthalt")
	p.WaitUntil("what the phone keeps", `document.querySelector("#kept:not([data-pending])")`)
	net.cut.Store(true)
	p.Tolerate("ERR_EMPTY_RESPONSE")
	p.Reload()
	p.WaitUntil("the code in the guest's language", `document.querySelector('#offline [data-kept="code"] [data-part]')?.innerHTML.includes("Ihr Code: ")`)
}
