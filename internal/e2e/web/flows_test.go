package web_test

import (
	"slices"
	"strings"
	"testing"

	"latchkey.dev/internal/test/browser"
)

// scripts are the settings of a flow with and without JavaScript.
func scripts() []setting {
	return matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Phone}, {size: browser.Tablet, dark: true}})
}

// A guest opens the link of the mail, fills in the form, checks in on arrival and opens the door, all on the own phone.
func TestGuestChecksInByPhone(t *testing.T) {
	t.Parallel()
	for _, m := range scripts() {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R101", nil)
			link := w.link()
			w.scan(link)
			p := browser.Open(t, m.options()...)
			p.Visit(link)
			p.Axe()
			p.Next("Open my stay", "Your stay")
			if strings.Contains(p.Address()+p.HTML(), strings.TrimPrefix(link, w.Base+"/g/l/")) {
				t.Error("the page of the stay has the secret of the link")
			}
			fillName(p, "Ada", "Lovelace")
			p.Next("Arrival time To do", "When do you arrive?")
			p.Choose("When do you arrive?", "16:00")
			p.Next("Continue", "Your stay")
			p.WaitText("Done")
			p.Click("I am here: check in")
			walkTo(p, "Your code")
			p.Axe()
			pin := w.pinOn(p)
			w.opens("Room 101", pin)
			w.opensOnly("Room 102", pin, false)
			if n := w.PMS.CheckInCount("B-1"); n != 1 {
				t.Errorf("the PMS checked the guest in %d times", n)
			}

			second := browser.Open(t, m.options()...)
			second.Tolerate("status of 404")
			second.Visit(link)
			second.WaitText("opened on another device")
			second.Visit(p.Address())
			second.WaitHeading("Open your stay")
			if strings.Contains(second.HTML(), pin) {
				t.Error("another device sees the code")
			}
		})
	}
}

// fillName answers the form of a property without a country's rule.
func fillName(p *browser.Page, given, family string) {
	p.Next("You To do", "What is your name?")
	p.Click("Continue")
	p.Tolerate("status of 422")
	p.Wait("#errors")
	p.Axe()
	p.Fill("Given names", given)
	p.Fill("Family name", family)
	p.Next("Continue", "Check your answers")
	p.Next("All of this is right", "Your stay")
}

// walkTo presses the button of each step of the check-in until a page has this heading.
func walkTo(p *browser.Page, heading string) {
	steps := []struct{ heading, button string }{
		{"Check in", "Check in"}, {"Is this still right?", "Yes, all of this is right"}, {"House rules", "I accept the house rules"}, {"All is ready", "Check in now"},
	}
	const again = `(document.querySelector("noscript a")?.checkVisibility() ?? false)` // without script, a waiting page has a link to itself
	for taken := 0; taken < 2*len(steps); {
		p.WaitUntil("a step of the check-in or "+heading, `document.readyState === "complete" && (`+again+` || `+oneOf(heading, "Check in", "Is this still right?", "House rules", "All is ready")+`)`)
		now := p.Heading()
		if p.Holds(again) {
			p.Click("Look again")
			continue
		}
		if strings.Contains(now, heading) {
			return
		}
		taken++
		for _, s := range steps {
			if s.heading == now {
				p.Click(s.button)
				p.WaitUntil("the step after "+now, `document.readyState === "complete" && !`+oneOf(now))
			}
		}
	}
	p.WaitHeading(heading)
}

// oneOf is true if the heading contains one of the texts; for a single text, if it is this text.
func oneOf(headings ...string) string {
	var parts []string
	for i, h := range headings {
		if i == 0 && len(headings) > 1 {
			parts = append(parts, `(document.querySelector("h1")?.innerText ?? "").includes("`+h+`")`)
			continue
		}
		parts = append(parts, `(document.querySelector("h1")?.innerText ?? "").trim() === "`+h+`"`)
	}
	return "(" + strings.Join(parts, " || ") + ")"
}

// A guest finds the booking at the tablet, is stopped by an open amount, pays, checks in, and leaves nothing behind.
func TestGuestChecksInAtTheTablet(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	if _, err := w.PMS.SetOwing(t.Context(), "B-1", 84); err != nil {
		t.Fatal(err)
	}
	k := w.enrol()
	entries := k.History()

	k.Next("Check in", "Find your booking")
	wrongName, unknown := w.refused(k, "1001", "Byron"), w.refused(k, "4711", "Lovelace")
	if wrongName != unknown {
		t.Errorf("a wrong name reads\n%s\nand an unknown number\n%s", wrongName, unknown)
	}
	w.findAt(k, "1001", " LOVELACE")
	k.WaitHeading("Is this your booking?")
	k.WaitText("Room 101")
	k.Click("Yes, check in")
	k.WaitText("84.00 EUR")
	k.Axe()
	if _, err := w.PMS.SetOwing(t.Context(), "B-1", 0); err != nil {
		t.Fatal(err)
	}
	k.Click("Try again")
	w.fillAtKiosk(k, "Ada", "Lovelace")
	walkTo(k, "You are checked in")
	k.WaitUntil("a code that counts down", `document.querySelector("[data-closes]:not([hidden])") !== null`)
	k.Axe()
	pin := w.pinOn(k)
	w.opens("Room 101", pin)

	k.Next("I am done", "Check in here")
	if now := k.History(); len(now) > len(entries)+1 {
		t.Errorf("the history of the tablet has %v, and had %v", now, entries)
	}
	w.leavesNothing(k, "Lovelace", pin, "1001")
	for k.Back() {
		w.leavesNothing(k, "Lovelace", pin, "1001")
	}
}

// refused searches a booking that is not found, and returns what the page says.
func (w *world) refused(k *browser.Page, number, name string) string {
	w.t.Helper()
	k.Tolerate("status of 422")
	w.findAt(k, number, name)
	k.Wait("#errors")
	text := k.Text()
	k.Visit(w.Base + "/k/find")
	return text
}

func (w *world) findAt(p *browser.Page, number, name string) {
	w.t.Helper()
	p.Fill("Booking number", number)
	p.Fill("Family name", name)
	p.Click("Continue")
}

// fillAtKiosk answers the form at the tablet, if the tablet asks.
func (w *world) fillAtKiosk(k *browser.Page, given, family string) {
	w.t.Helper()
	k.WaitHeading("What is your name?")
	k.Fill("Given names", given)
	k.Fill("Family name", family)
	k.Click("Continue")
}

// leavesNothing fails the test if the browser still has one of the texts, or the session of the guest.
func (w *world) leavesNothing(k *browser.Page, texts ...string) {
	w.t.Helper()
	w.leavesNoText(k, texts...)
	for _, c := range k.Cookies() {
		if strings.HasSuffix(c.Name, "lk-visit") {
			w.t.Errorf("%s: the tablet still has the cookie of its last guest", k.Address())
		}
	}
}

// leavesNoText fails the test if the page, the storage or a cache of the browser has one of the texts.
func (w *world) leavesNoText(k *browser.Page, texts ...string) {
	w.t.Helper()
	kept := k.HTML() + k.Kept()
	for _, text := range texts {
		if strings.Contains(kept, text) {
			w.t.Errorf("%s: the tablet still has %q", k.Address(), text)
		}
	}
}

// A copied cookie finds nothing without the tablet's key.
func TestCopiedTablet(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	k := w.enrol()
	thief := browser.Open(t, browser.WithSize(browser.Kiosk))
	thief.CopyCookies(k)
	thief.Tolerate("status of 422")
	thief.Visit(w.Base + "/k/find")
	w.findAt(thief, "1001", "Lovelace")
	thief.WaitHeading("Set up this tablet")
	k.Next("Check in", "Find your booking")
	w.findAt(k, "1001", "Lovelace")
	k.WaitHeading("Is this your booking?")
}

// A tablet whose internet is cut shows a page of its own, and goes on when it is back.
func TestTabletWithoutInternet(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	way := w.newInternet()
	k := w.enrolAt(way.base)
	k.WaitUntil("a service worker", `navigator.serviceWorker.controller !== null`)
	k.Reload()
	k.WaitUntil("pages that are kept", `caches.match("/k/closed").then(Boolean)`)
	k.Tolerate("ERR_EMPTY_RESPONSE")
	k.Tolerate("Failed to fetch")

	k.Next("Check in", "Find your booking")
	k.Fill("Booking number", "1001")
	way.cut.Store(true)
	k.Fill("Family name", "Lovelace")
	k.Click("Continue")
	k.WaitHeading("The connection was cut")
	k.Screenshot("cut")
	k.Visit(way.base + "/k/")
	k.WaitHeading("Check-in here is closed for the moment")
	k.Screenshot("closed")
	way.cut.Store(false)
	k.WaitHeading("Check in here") // without a touch
}

// A tablet whose internet answers nothing any more, not even with an error, keeps no code on its screen.
func TestTabletWithSilentInternet(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	way := w.newInternet()
	k := w.enrolAt(way.base)
	k.WaitUntil("a service worker", `navigator.serviceWorker.controller !== null`)
	k.Reload()
	k.WaitUntil("pages that are kept", `caches.match("/k/closed").then(Boolean)`)
	k.Tolerate("ERR_EMPTY_RESPONSE")
	k.Tolerate("Failed to fetch")

	k.Next("Check in", "Find your booking")
	w.findAt(k, "1001", "Lovelace")
	k.WaitHeading("Is this your booking?")
	k.Click("Yes, check in")
	w.fillAtKiosk(k, "Ada", "Lovelace")
	walkTo(k, "You are checked in")
	pin := w.pinOn(k)
	way.lost.Store(true)
	k.Click("I am done")
	k.WaitUntil("a page without the code", `document.querySelector(".pin") === null`)
	w.leavesNoText(k, pin, "Lovelace")
	k.WaitHeading("The connection was cut")
	k.Visit(way.base + "/k/") // the page does so after half a minute
	k.WaitHeading("Check-in here is closed for the moment")
	way.lost.Store(false)
	k.WaitHeading("Check in here")
	w.leavesNothing(k, "Lovelace", pin, "1001")
}

// A guest scans the QR code at the tablet and goes on with the own phone.
func TestGuestChecksInByQR(t *testing.T) {
	t.Parallel()
	for _, m := range scripts() {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R102", nil)
			k := w.enrol()
			_, rest, _ := strings.Cut(k.Text(), w.Base+"/q/")
			p := browser.Open(t, m.options()...)
			p.Visit(w.Base + "/q/" + strings.Fields(rest)[0])
			p.WaitHeading("Find your booking")
			w.findAt(p, "1001", "lovelace")
			p.WaitHeading("Your stay")
			fillName(p, "Ada", "Lovelace")
			p.Click("I am here: check in")
			walkTo(p, "Your code")
			w.opens("Room 102", w.pinOn(p))
		})
	}
}

// Three rooms of one booking check in one by one, each with a code of its own.
func TestGroupOfThreeRooms(t *testing.T) {
	t.Parallel()
	w := open(t)
	rooms := []string{"Room 101", "Room 102", "Room 103"}
	for i, room := range []string{"R101", "R102", "R103"} {
		w.book("B-"+room, "100"+string(rune('1'+i)), room, map[string]any{"channelNumber": "GROUP-7"})
	}
	k := w.enrol()
	var pins []string
	for _, room := range rooms {
		k.Next("Check in", "Find your booking")
		w.findAt(k, "group-7", "Lovelace")
		k.WaitHeading("Which room is yours?")
		k.Click(room + " A. L.")
		k.WaitHeading("Is this your booking?")
		k.WaitText(room)
		k.Click("Yes, check in")
		w.fillAtKiosk(k, "Ada", "Lovelace")
		walkTo(k, "You are checked in")
		k.WaitUntil("the code", `document.querySelector(".pin") !== null`)
		pin := w.pinOn(k)
		w.opens(room, pin)
		if slices.Contains(pins, pin) {
			t.Errorf("two rooms have the PIN of %s", room)
		}
		pins = append(pins, pin)
		k.Next("I am done", "Check in here")
	}
	w.opensOnly("Room 101", pins[1], false)
}
