package web_test

import (
	"testing"

	"latchkey.dev/internal/sandbox"
)

// A PMS that takes a call and never answers stops the guest at the tablet, with words that say what to do: the service gives up after 10 s.
// When the PMS answers again, "Try again" goes on.
func TestTabletAtAPMSThatHangs(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	w.PMS.SetConduct("B-1", sandbox.Hangs)
	k := w.enrol()
	w.atBooking(k)
	k.Click("Yes, check in")
	k.WaitText("Asking the property")
	k.WaitText("does not answer just now. Your details are saved. We have notified the staff.")
	k.Axe()
	k.Screenshot("hangs")
	if k.Has(".pin") || w.PMS.CheckInCount("B-1") != 0 {
		t.Error("a guest whom the PMS did not answer is checked in")
	}
	w.PMS.SetConduct("B-1", sandbox.Normal)
	k.Click("Try again")
	w.fillAtKiosk(k, "Ada", "Lovelace")
	walkTo(k, "You are checked in")
	w.opens("Room 101", w.pinOn(k))
	if n := w.PMS.CheckInCount("B-1"); n != 1 {
		t.Errorf("the PMS checked the guest in %d times", n)
	}
}
