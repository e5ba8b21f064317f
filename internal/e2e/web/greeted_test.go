package web_test

import (
	"strings"
	"testing"

	"latchkey.dev/internal/test/browser"
)

// The phone answers the QR code of a kiosk for the door that the guest chooses, and the bridge opens it with the answer. A browser without a key
// says so and leads to the code.
func TestPhoneAnswersAGreeting(t *testing.T) {
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	link := w.link()
	w.book("B-1", "1001", "R101", map[string]any{"state": "started"})
	p := browser.Open(t, browser.WithSize(browser.Phone), browser.WithClock, browser.WithScript(`{
		const fetched = window.fetch;
		window.fetch = (to, request, ...more) => { if (to === "/g/k") window.answered = request.body.get("answer"); return fetched(to, request, ...more); };
	}`))
	p.Visit(link)
	p.Next("Open my stay", "Your stay")
	p.Wait("#open [data-said]")
	stay := p.Address()[strings.LastIndex(p.Address(), "/")+1:]

	// A kiosk gets its greeting from the bridge. Here the page asks for it, over the relay.
	p.Script(`window.ask = (name, request) => fetch("/v1/guest/smartkey/" + name, { method: "POST", body: JSON.stringify(request), headers: { "Content-Type": "application/json" } }).then((a) => a.json())`)
	p.WaitUntil("a greeting", smartKeyOf(stay)+`.then((has) => ask("greeting", { token: has.key.token, door: has.key.doors.find((d) => d.name === "Room 101").door }))
		.then((answer) => location.assign("/g/k#" + answer.greeting.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")) ?? true)`)
	p.WaitHeading("Open with your key")
	p.WaitText("Which door do you want to open?")
	if strings.Contains(p.Address(), "#") {
		t.Errorf("the greeting stays in the address %s", p.Address())
	}
	p.Axe()
	p.Fits()
	p.Screenshot("greeted-choose")
	p.Click("Room 101")
	p.WaitText("Hold this code in front of the reader.")
	p.Axe()
	p.Fits()
	p.Screenshot("greeted-answer")
	p.WaitUntil("the bridge opens the door", `(async () => {
		const characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
		const digits = [...answered.slice(4)].map((c) => characters.indexOf(c));
		let bytes = "";
		for (let i = 0; i < digits.length; i += 3) {
			const n = digits[i] + 45 * digits[i + 1] + 2025 * (digits[i + 2] ?? 0);
			bytes += i + 2 < digits.length ? String.fromCharCode(n >> 8, n & 255) : String.fromCharCode(n);
		}
		const request = { method: "POST", body: JSON.stringify({ presentation: btoa(bytes) }), headers: { "Content-Type": "application/json" } };
		window.outcome ??= await fetch("/v1/guest/smartkey/presentation", request).then((a) => a.json());
		return outcome.result === "opened";
	})()`)
	p.Pass(31)
	p.WaitText("The code has ended.")
	if p.Has("svg.qr") {
		t.Error("the page still shows the answer")
	}
	p.Next("Go to my stay and my code", "Your stay")

	other := browser.Open(t, browser.WithSize(browser.Narrow))
	other.Visit(w.Base + "/g/k#ogFhYQJQAAAAAAAAAAAAAAAAAAAAAA")
	other.WaitText("This browser has no key for this door.")
	other.Next("Go to my stay and my code", "Open your stay")
}
