package web_test

import (
	"strings"
	"testing"

	"latchkey.dev/internal/test/browser"
)

// A guest whom the tablet stopped takes the stay to the phone with the tablet's QR code, and checks in at the tablet. The phone goes on when
// the visit at the tablet has ended. The same code gives a third device nothing.
func TestGuestTakesTheStayToThePhone(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	if _, err := w.PMS.SetOwing(t.Context(), "B-1", 84); err != nil {
		t.Fatal(err)
	}
	k := w.enrol()
	w.atBooking(k)
	k.Click("Yes, check in")
	k.WaitText("84.00 EUR")
	k.Next("Take it to your phone", "Take it to your phone")
	k.Axe()
	k.Screenshot("handover")
	code := k.QR()
	if !strings.HasPrefix(code, w.Base+"/g/l/") {
		t.Fatalf("the QR code of the tablet says %q", code)
	}

	phone := browser.Open(t, browser.WithSize(browser.Phone))
	phone.Visit(code)
	phone.Axe()
	phone.Screenshot("handed")
	phone.Next("Open my stay", "Your stay")
	phone.WaitText("Room 101")
	if strings.Contains(phone.HTML(), strings.TrimPrefix(code, w.Base+"/g/l/")) {
		t.Error("the page of the stay has the secret of the code")
	}

	third := browser.Open(t, browser.WithSize(browser.Phone))
	third.Visit(code)
	third.WaitText("This link was opened on another device")
	third.Axe()
	third.Screenshot("third")
	for _, text := range []string{"Room 101", "Lovelace", "1001"} {
		if strings.Contains(third.HTML(), text) {
			t.Errorf("a third device reads %q", text)
		}
	}
	if third.Has("main button") {
		t.Error("a third device can press a button")
	}

	if _, err := w.PMS.SetOwing(t.Context(), "B-1", 0); err != nil {
		t.Fatal(err)
	}
	k.Click("Back")
	k.WaitUntil("the stop or the form", `["/k/stop", "/k/form/name"].includes(location.pathname) && document.readyState === "complete"`)
	if strings.HasSuffix(k.Address(), "/k/stop") { // the PMS's change has not reached the check-in yet
		k.Click("Try again")
	}
	w.fillAtKiosk(k, "Ada", "Lovelace")
	walkTo(k, "You are checked in")
	pin := w.pinOn(k)
	k.Next("I am done", "Check in here")

	phone.Reload()
	phone.Next("Show my code", "Your code")
	if shown := w.pinOn(phone); shown != pin {
		t.Errorf("the phone shows another code than the tablet")
	}
	w.opens("Room 101", pin)
	w.leavesNothing(k, "Lovelace", pin, "1001")
}
