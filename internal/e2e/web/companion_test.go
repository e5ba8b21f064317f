package web_test

import (
	"testing"

	"latchkey.dev/internal/test/browser"
)

// A companion gets a link from the main guest's page, reads the same code, and opens the door with a SmartKey of their own. After the check-out each
// phone says that the stay has ended. A companion who is removed reads that the device no longer opens the stay.
func TestTwoPhonesOfOneRoom(t *testing.T) {
	t.Parallel()
	w := open(t)
	two := map[string]any{"adultCount": 2}
	w.book("B-1", "1001", "R101", two)
	main := browser.Open(t, browser.WithSize(browser.Phone), browser.WithScript(`
		Object.defineProperty(navigator, "clipboard", {value: {writeText: async (text) => { window.copied = text; }}});
		navigator.share = async (data) => { window.shared = data.url; };`))
	main.Visit(w.link())
	main.Next("Open my stay", "Your stay")
	stay := main.Address()
	main.Next("Your companions To do", "Who stays with you")
	main.Next("Show a link to pass on", "A link for this guest")
	main.Axe()
	link := main.QR()
	main.Click("Copy the link")
	main.WaitText("Copied.")
	main.Click("Share")
	if !main.Holds(`copied === "` + link + `" && shared === copied`) {
		t.Error("the page copies or shares another link than that of its QR code")
	}
	main.Fits()
	main.Screenshot("passed")

	companion := browser.Open(t, browser.WithSize(browser.Phone))
	companion.Visit(link)
	companion.Next("Open my stay", "Your stay")
	companion.Next("House rules", "House rules")
	if companion.Has("main form") {
		t.Error("a companion can accept the house rules for the party")
	}
	companion.Screenshot("companion-rules")
	companion.Next("Back", "Your stay")

	two["state"] = "started"
	w.book("B-1", "1001", "R101", two)
	phones := []*browser.Page{main, companion}
	var pins []string
	for _, p := range phones {
		p.Visit(stay)
		p.Next("Show my code", "Your code")
		pins = append(pins, w.pinOn(p))
		p.Next("Back", "Your stay")
		p.Wait("#open [data-said]")
		p.Hold("Hold to open Room 101", "Open. Push the door now.")
	}
	if pins[0] != pins[1] {
		t.Errorf("the phones show the codes %v", pins)
	}

	two["state"] = "processed"
	w.book("B-1", "1001", "R101", two)
	for _, p := range phones {
		p.Reload()
		p.WaitText("Your stay has ended")
		if p.Has("#open") || p.Has(".code-card") {
			t.Errorf("the page of an ended stay offers a door: %s", p.Text())
		}
		p.Axe()
	}
}

// A companion who is removed reads that the device no longer opens the stay, and nothing of it.
func TestRemovedCompanion(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", map[string]any{"adultCount": 2})
	main := browser.Open(t, browser.WithSize(browser.Phone), browser.WithoutScript)
	main.Visit(w.link())
	main.Next("Open my stay", "Your stay")
	main.Next("Your companions To do", "Who stays with you")
	main.Next("Show a link to pass on", "A link for this guest")
	companion := browser.Open(t, browser.WithSize(browser.Phone))
	companion.Visit(main.QR())
	companion.Next("Open my stay", "Your stay")
	main.Next("Back", "Who stays with you")
	main.Click("Remove this guest")
	main.Click("Remove and delete")
	main.WaitUntil("the companion is removed", `!document.body.innerText.includes("Remove this guest")`)
	companion.Tolerate("status of 410")
	companion.Reload()
	companion.WaitHeading("This device no longer opens the stay")
}

// A companion has the data erased on one device. The other device says that the stay is no longer open and what can be the reason, and forgets the stay.
func TestErasedCompanion(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", map[string]any{"adultCount": 2})
	main := browser.Open(t, browser.WithSize(browser.Phone), browser.WithoutScript)
	main.Visit(w.link())
	main.Next("Open my stay", "Your stay")
	main.Next("Your companions To do", "Who stays with you")
	main.Next("Show a link to pass on", "A link for this guest")
	companion := browser.Open(t, browser.WithSize(browser.Phone))
	companion.Visit(main.QR())
	companion.Next("Open my stay", "Your stay")
	stay := companion.Address()
	second := browser.Open(t, browser.WithSize(browser.Phone))
	second.CopyCookies(companion)
	second.Visit(stay)
	second.WaitHeading("Your stay")
	second.WaitUntil("the service worker", workerIsActive)
	companion.Next("My data", "My data")
	companion.ClickAt("#f-sure")
	companion.Click("Erase my data")
	companion.WaitHeading("Your data are erased")
	second.Tolerate("status of 404")
	second.Reload()
	second.WaitHeading("Your stay is no longer open on this device")
	second.Axe()
	second.Fits()
	second.Screenshot("erased-companion")
	second.WaitUntil("the token is forgotten", `fetch(location.pathname).then((r) => r.text()).then((text) => !text.includes("no longer open"))`)
}
