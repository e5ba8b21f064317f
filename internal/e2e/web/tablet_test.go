package web_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/browser"
)

const stillOpen = `document.getElementById("still").matches(":modal")`

// atBooking brings a guest at a tablet to the page of the booking.
func (w *world) atBooking(k *browser.Page) {
	w.t.Helper()
	k.Next("Check in", "Find your booking")
	w.findAt(k, "1001", "Lovelace")
	k.WaitHeading("Is this your booking?")
}

// A tablet that is not touched asks, and then forgets its guest. Margins of some seconds are for a busy machine: the page's time also passes.
func TestTabletForgetsAGuestWhoLeft(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	k := w.enrol(browser.WithClock)
	w.atBooking(k)
	cookies := k.Cookies()
	read := func() string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.Base+"/k/you", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cookies {
			r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		}
		answer, err := w.HTTP.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if !strings.Contains(read(), "Room 101") {
		t.Fatal("the cookies of the tablet do not open the stay while the guest is there")
	}

	k.Pass(75)
	if k.Holds(stillOpen) {
		t.Fatal("the tablet asks after 75 s")
	}
	k.Pass(15)
	if !k.Holds(stillOpen) || !k.Holds(`document.getElementById("still").contains(document.activeElement)`) {
		t.Fatal("after 90 s the tablet does not ask, or the focus is not in its question")
	}
	k.Click("Yes, I am here")
	k.Pass(75)
	if k.Holds(stillOpen) || k.Heading() != "Is this your booking?" {
		t.Fatal("the answer does not give the guest 90 s again")
	}
	k.Pass(15)
	if !k.Holds(stillOpen) {
		t.Fatal("the tablet does not ask a second time")
	}
	k.Pass(20)
	k.WaitHeading("Check in here")
	w.leavesNothing(k, "Lovelace", "1001", "Room 101")
	if strings.Contains(read(), "Room 101") {
		t.Error("the cookies of the last guest still open the stay")
	}
	for k.Back() {
		w.leavesNothing(k, "Lovelace", "1001", "Room 101")
	}
}

// A tablet that was asleep, or showed another page, for longer than a guest has forgets the guest when it shows the page again. A short time counts as
// time without a touch.
func TestTabletForgetsAGuestWhileItSleeps(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	k := w.enrol(browser.WithClock)
	w.atBooking(k)
	k.Hide(75)
	if k.Holds(stillOpen) || k.Heading() != "Is this your booking?" {
		t.Fatal("the tablet forgets a guest after 75 s")
	}
	k.Hide(20)
	if !k.Holds(stillOpen) {
		t.Fatal("after 95 s without a touch the tablet does not ask")
	}
	k.Click("Yes, I am here")
	k.Hide(120)
	k.WaitHeading("Check in here")
	w.leavesNothing(k, "Lovelace", "1001", "Room 101")

	w.atBooking(k)
	k.Sleep(3600) // no event says that the tablet is awake
	k.WaitHeading("Check in here")
	w.leavesNothing(k, "Lovelace", "1001", "Room 101")

	w.atBooking(k)
	k.Click("Yes, check in")
	w.fillAtKiosk(k, "Ada", "Lovelace")
	walkTo(k, "You are checked in")
	k.WaitUntil("a code that counts down", `document.querySelector("[data-closes]:not([hidden])") !== null`)
	pin := w.pinOn(k)
	k.Hide(40)
	if k.Has(".pin") {
		t.Error("the page still shows the code when the tablet shows it again")
	}
	k.WaitHeading("Check in here")
	w.leavesNothing(k, "Lovelace", pin, "1001")
	for k.Back() {
		w.leavesNothing(k, "Lovelace", pin, "1001")
	}
}

// The code has 30 s from when it is shown, and again after "More time".
func TestTabletHidesTheCode(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	k := w.enrol(browser.WithClock)
	w.atBooking(k)
	k.Click("Yes, check in")
	w.fillAtKiosk(k, "Ada", "Lovelace")
	walkTo(k, "You are checked in")
	k.WaitUntil("a code that counts down", `document.querySelector("[data-closes]:not([hidden])") !== null`)
	pin := w.pinOn(k)
	for range 2 {
		k.Pass(18)
		if w.pinOn(k) != pin {
			t.Fatal("the code is gone before its 30 s")
		}
		k.Click("More time")
	}
	k.Pass(30)
	k.WaitHeading("Check in here")
	w.leavesNothing(k, "Lovelace", pin, "1001")
	for k.Back() {
		w.leavesNothing(k, "Lovelace", pin, "1001")
	}
}

// While the PMS is asked, the guest's time does not pass. After a minute without an answer the tablet says so.
func TestTabletWaitsAMinuteForThePMS(t *testing.T) {
	t.Parallel()
	script := base()
	script.asking = make(chan struct{})
	defer close(script.asking)
	address := script.serve(t)
	k := browser.Open(t, browser.WithSize(browser.Kiosk), browser.WithClock)
	for _, name := range []string{"lk-kiosk", "lk-visit"} {
		k.SetCookie(address, name, "x")
	}
	k.Visit(address + "/k/you")
	k.Click("Yes, check in")
	k.WaitUntil("the dialog", `document.getElementById("asking").matches(":modal")`)
	k.Pass(45)
	if !k.Holds(`document.getElementById("asking").matches(":modal")`) || !k.Holds(`document.querySelector("#still [data-left]").textContent > 80`) {
		t.Fatal("the time of the guest passes while the PMS is asked, or the question ends before its minute")
	}
	k.WaitText("This can take up to a minute")
	k.Pass(15)
	k.WaitHeading("The connection was cut")
}

// Larger text stays for the whole visit, whatever the guest touches, and ends with it.
func TestTabletEnlargesOneVisit(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	k := w.enrol()
	larger := func(want string) {
		t.Helper()
		k.Wait("main[data-ready] h1")
		k.WaitUntil("larger text: "+want, `document.querySelector("button[data-larger]").ariaPressed === "`+want+`" &&
			String(document.documentElement.hasAttribute("data-larger")) === "`+want+`"`)
	}
	larger("false")
	k.Click("Larger text")
	larger("true")
	k.Axe()
	k.ClickAt("h1")
	larger("true")
	k.Click("English")
	k.WaitUntil("the chosen language", `location.search === "?chosen"`)
	larger("true")
	w.atBooking(k)
	larger("true")
	k.ClickAt("h1")
	larger("true")
	k.Click("Larger text")
	larger("false")
	k.Click("Larger text")
	k.Visit(w.Base + "/k/")
	larger("false")
}

// While the PMS is asked, a dialog covers the tablet's page: it keeps the focus, and no key closes it.
func TestDialogWhileThePMSIsAsked(t *testing.T) {
	t.Parallel()
	script := base()
	script.asking = make(chan struct{})
	stage("confirmDetails")(script)
	address := script.serve(t)
	k := browser.Open(t, browser.WithSize(browser.Kiosk))
	for _, name := range []string{"lk-kiosk", "lk-visit"} {
		k.SetCookie(address, name, "x")
	}
	k.Visit(address + "/k/you")
	k.Click("Yes, check in")
	const open = `document.getElementById("asking").matches(":modal")`
	k.WaitUntil("the dialog", open)
	for _, key := range []string{kb.Escape, kb.Escape, kb.Tab} {
		k.Press(key)
		if !k.Holds(open) || k.Holds(`document.getElementById("main").contains(document.activeElement)`) {
			t.Fatalf("after %q the dialog is closed, or the focus is behind it", key)
		}
	}
	close(script.asking)
	k.WaitHeading("Is this still right?")
}

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
