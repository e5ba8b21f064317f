package web_test

import (
	"testing"

	"latchkey.dev/internal/test/browser"
)

// A list stays up to date around a menu that a person has opened. The menu stays open and keeps the focus while its own row changes, and what the
// person types in it stays unchanged.
func TestOpenMenuIsLive(t *testing.T) {
	t.Parallel()
	w := open(t)
	owe := func(amount float64) {
		t.Helper()
		if _, err := w.PMS.SetOwing(t.Context(), "B-1", amount); err != nil {
			t.Fatal(err)
		}
	}
	w.book("B-1", "1001", "R101", nil)
	owe(84)
	k := w.enrol()
	k.Next("Check in", "Find your booking")
	w.findAt(k, "1001", "Lovelace")
	k.WaitHeading("Is this your booking?")
	k.Click("Yes, check in")
	k.WaitText("84.00 EUR")

	p := browser.Open(t, browser.WithSize(browser.Desktop))
	w.signUp(p)
	p.Visit(w.Base + "/app/today")
	p.WaitText("84.00 EUR")
	p.WaitUntil("a stream", `!document.querySelector(".live").hidden`)
	p.Click("Check in without payment Ada Lovelace")
	const onMenu = `document.activeElement.localName === "summary" && document.activeElement.parentElement.open && document.activeElement.isConnected`
	w.book("B-2", "1002", "R102", nil)
	p.WaitText("#1002")
	if !p.Holds(onMenu) {
		t.Error("another row closed the menu, or took the focus")
	}
	owe(90)
	k.Click("Try again")
	k.WaitText("90.00 EUR")
	p.WaitUntil("the new amount", `[...document.querySelectorAll("td.stage")].some(e => e.textContent.includes("open 90.00 EUR"))`)
	if !p.Holds(onMenu) {
		t.Error("the change of its row closed the menu, or took the focus")
	}
	p.Screenshot("open-menu")
	p.Fill("Reason", "invoice")
	owe(95)
	k.Click("Try again")
	k.WaitText("95.00 EUR")
	w.book("B-3", "1003", "R103", nil)
	p.WaitText("#1003")
	if !p.Holds(`document.activeElement.value === "invoice" && [...document.querySelectorAll("td.stage")].some(e => e.textContent.includes("open 90.00 EUR"))`) {
		t.Error("a refresh changed a form in which a person types")
	}
	p.Fill("Reason", "")
	p.Click("Check in without payment Ada Lovelace") // closes the menu
	p.WaitUntil("what the row missed", `[...document.querySelectorAll("td.stage")].some(e => e.textContent.includes("open 95.00 EUR"))`)

	p.Script(`(real => window.fetch = async (...request) => {
		const answer = await real(...request), text = answer.text.bind(answer);
		answer.text = async () => {
			const body = await text();
			if (!body.includes("97.00 EUR")) return body;
			window.isFetched = true;
			await new Promise(done => document.addEventListener("pointerdown", () => setTimeout(done), { once: true }));
			setTimeout(() => document.body.append("The page is loaded."));
			return body;
		};
		return answer;
	})(fetch)`)
	owe(97)
	k.Click("Try again")
	p.WaitUntil("the fetch", `window.isFetched === true`)
	release := p.PressDown("Check in without payment Ada Lovelace")
	p.WaitText("The page is loaded.")
	release() // the row changes afterwards: before, the click would be lost
	p.WaitUntil("the menu", onMenu)
	p.WaitUntil("the last amount", `document.activeElement.closest("td").textContent.includes("open 97.00 EUR")`)
}

// From a row of Today, a key leads to the doors of the stay, and another one to its messages. Without a row they do nothing.
func TestKeysOfARow(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	p := browser.Open(t, browser.WithSize(browser.Desktop))
	w.signUp(p)
	atRow := func() {
		t.Helper()
		p.Visit(w.Base + "/app/today")
		p.WaitText("#1001")
		p.Script(`[...document.querySelectorAll("tr[id] a")].find(a => a.closest("tr").textContent.includes("#1001")).focus()`)
	}
	p.Visit(w.Base + "/app/today")
	p.Press("o")
	p.Press("m")
	p.Press("?")
	p.WaitText("On Today: the messages of the stay in this row")
	p.Axe()
	p.Screenshot("keys")
	atRow()
	p.Press("o")
	p.WaitUntil("the doors", `location.pathname.startsWith("/app/reservations/rsv_") && location.hash === "#doors"`)
	atRow()
	p.Press("m")
	p.WaitUntil("the messages", `/^.app.reservations.rsv_[^/]+.messages$/.test(location.pathname)`)
}
