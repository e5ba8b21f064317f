package web_test

import (
	"context"
	"strings"
	"testing"

	"latchkey.dev/internal/test/browser"
)

// An owner tries an arrival before any guest comes: the guest's link on a phone, the check-in, the code, the door, and the end.
func TestOwnerTriesAnArrival(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			p := browser.Open(t, m.options()...)
			w.signUp(p)
			p.Visit(w.Base + "/app/setup")
			p.Click("A test arrival Book a test stay here, check in with its link, and type the code at the door. If you like")
			p.WaitHeading("A test arrival")
			p.Axe()
			p.Fits()
			p.Screenshot("test-stay")
			p.Choose("Room or bed", "Room 101")
			p.Click("Book the test stay")
			p.Wait("code.secret")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("test-stay-link")
			_, link, _ := strings.Cut(p.HTML(), `<code class="secret">`)
			link, _, _ = strings.Cut(link, "<")

			phone := browser.Open(t, browser.WithSize(browser.Phone))
			phone.Visit(link)
			phone.Next("Open my stay", "Your stay")
			stay := phone.Address()
			fillName(phone, "Test", "Guest")
			phone.Click("I am here: check in")
			walkTo(phone, "What is your email address?")
			phone.Click("Not now")
			walkTo(phone, "Please go to the desk")
			p.Visit(w.Base + "/app/setup/arrival")
			p.Click("Check the guest in")
			p.WaitText("The guest is checked in.")
			phone.Visit(stay + "/key")
			w.opens("Room 101", w.pinOn(phone))
			if m.scriptOff {
				w.Await("the door's event", func(context.Context) (bool, error) {
					p.Visit(w.Base + "/app/setup/arrival")
					return strings.Contains(p.Text(), "Opened the door"), nil
				})
			}
			p.WaitText("Opened the door")
			p.Axe()
			p.Fits()
			p.Screenshot("test-stay-open")
			p.Visit(w.Base + "/app/setup")
			p.WaitUntil("the step is done", `/A test arrival\s+Done/.test(document.body.innerText)`)
			p.Visit(w.Base + "/app/setup/arrival")
			p.Click("End the test")
			p.WaitText("Book the test stay")
		})
	}
}
