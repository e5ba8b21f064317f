package web_test

import (
	"strings"
	"testing"

	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/browser"
)

// The PMS cancels the stay while the guest's phone waits for the code. The page, and the link of the mail on another device, say so and whom to
// call, and show nothing of the stay.
func TestGuestReadsThatTheBookingIsCanceled(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	link := w.link()
	w.PMS.SetCheckInConduct("B-1", sandbox.NoUpdate)
	p := browser.Open(t, browser.WithSize(browser.Phone), browser.ReducedMotion)
	p.Visit(link)
	p.Next("Open my stay", "Your stay")
	fillName(p, "Ada", "Lovelace")
	p.Click("I am here: check in")
	walkTo(p, "You are checked in")

	second := browser.Open(t, browser.WithSize(browser.Phone), browser.ReducedMotion)
	for _, device := range []*browser.Page{p, second} {
		device.Tolerate("status of 410")
	}
	if _, err := w.PMS.Push(t.Context(), "B-1", map[string]any{"state": "canceled"}); err != nil {
		t.Fatal(err)
	}
	p.WaitHeading("This booking is canceled")
	p.Axe()
	second.Visit(link)
	for _, device := range []*browser.Page{p, second} {
		device.WaitHeading("This booking is canceled")
		device.WaitText("+351 21 000 0000")
		for _, private := range []string{"1001", "Lovelace", "Room 101"} {
			if strings.Contains(device.HTML(), private) {
				t.Errorf("the page shows %q: %s", private, device.HTML())
			}
		}
	}
}

// The PMS cancels the stay while its guest waits at the tablet. The guest reads it, with nothing of the stay, and the next guest does not.
func TestGuestAtTheTabletReadsThatTheBookingIsCanceled(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	w.PMS.SetCheckInConduct("B-1", sandbox.NoUpdate)
	k := w.enrol()
	k.Next("Check in", "Find your booking")
	w.findAt(k, "1001", "Lovelace")
	k.WaitHeading("Is this your booking?")
	k.Click("Yes, check in")
	w.fillAtKiosk(k, "Ada", "Lovelace")
	walkTo(k, "You are checked in")
	if _, err := w.PMS.Push(t.Context(), "B-1", map[string]any{"state": "canceled"}); err != nil {
		t.Fatal(err)
	}
	k.WaitHeading("This booking is canceled")
	k.WaitText("+351 21 000 0000")
	k.Axe()
	w.leavesNothing(k, "Lovelace", "Room 101", "1001")
	k.Next("Go to the start page", "Check in here")
	w.leavesNothing(k, "Lovelace", "canceled", "1001")
}
