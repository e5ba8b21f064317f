package web_test

import (
	"testing"

	"latchkey.dev/internal/test/browser"
)

// A guest who is checked in opens the room from the page of the stay, with the SmartKey of the phone's browser.
func TestPhoneOpensTheDoor(t *testing.T) {
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	p := browser.Open(t, browser.WithSize(browser.Phone))
	p.Visit(w.link())
	p.Next("Open my stay", "Your stay")
	fillName(p, "Ada", "Lovelace")
	p.Next("Arrival time To do", "When do you arrive?")
	p.Next("Continue", "Your stay")
	p.Click("I am here: check in")
	walkTo(p, "Your code")
	w.opens("Room 101", w.pinOn(p))
	p.Next("Back", "Your stay")
	p.WaitText("Open with this phone")
	p.Axe()
	p.Click("Hold to open Room 101")
	p.WaitText("Hold the button until it fills.")
	p.Hold("Hold to open Room 101", "Open. Push the door now.")
}
