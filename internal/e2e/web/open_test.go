package web_test

import (
	"strings"
	"testing"

	"latchkey.dev/internal/test/browser"
)

// A guest who is checked in opens the room from the page of the stay, with the SmartKey of the phone's browser.
func TestPhoneOpensTheDoor(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	net := w.newInternet()
	p := browser.Open(t, browser.WithSize(browser.Phone))
	p.Visit(strings.Replace(w.link(), w.Base, net.base, 1))
	p.Next("Open my stay", "Your stay")
	fillName(p, "Ada", "Lovelace")
	p.Next("Arrival time To do", "When do you arrive?")
	p.Next("Continue", "Your stay")
	p.Click("I am here: check in")
	walkTo(p, "Your code")
	pin := w.pinOn(p)
	w.opens("Room 101", pin)
	p.Next("Back", "Your stay")
	p.WaitText("Open with this phone")
	p.Axe()
	p.Wait("#open [data-said]")
	p.Click("Hold to open Room 101")
	p.WaitText("Hold the button until it fills.")
	p.Hold("Hold to open Room 101", "Open. Push the door now.")

	// Without internet the phone shows what it kept.
	p.WaitUntil("the service worker", workerIsActive)
	p.Installs()
	net.cut.Store(true)
	p.Tolerate("ERR_EMPTY_RESPONSE")
	p.Hold("Hold to open Room 101", "The service cannot be reached. Use your code.")
	p.Reload()
	p.WaitHeading("Your stay cannot be reached")
	p.WaitUntil("what the phone kept", `/Kept on this phone: \d/.test(document.body.innerText) && document.body.innerText.includes("Room 101")`)
	p.Axe()
	p.Fits()
	p.Click("Show my code")
	if kept := w.pinOn(p); kept != pin {
		t.Errorf("without internet the phone shows %s, not %s", kept, pin)
	}
	net.cut.Store(false)
	p.Next("Try again", "Your stay")

	// A stay that ended leaves nothing on the phone.
	w.book("B-1", "1001", "R101", map[string]any{"state": "canceled"})
	p.Tolerate("status of 4")
	p.Reload()
	p.WaitUntil("nothing is kept", `indexedDB.databases().then(async (all) => (await Promise.all(all.map((d) => new Promise((done) => {
		const o = indexedDB.open(d.name);
		o.onsuccess = () => { const s = o.result.transaction(o.result.objectStoreNames[0]).objectStore(o.result.objectStoreNames[0]).getAllKeys(); s.onsuccess = () => { o.result.close(); done(s.result.filter((k) => k !== "key").length); }; };
	})))).every((n) => n === 0))`)
}

// A phone opens the doors of the room that the guest moved to, from a page that still shows the former room and from a new one.
func TestPhoneFollowsTheRoom(t *testing.T) {
	t.Parallel()
	w := open(t)
	p, _ := w.keptPhone()
	p.Hold("Hold to open Room 101", "Open. Push the door now.")
	w.book("B-1", "1001", "R102", map[string]any{"state": "started"})
	p.Script(`document.querySelector("#open [data-said]").hidden = true`)
	p.Hold("Hold to open Room 101", "That door no longer belongs to your stay.")
	if p.Holds(`document.getElementById("open").innerText.includes("Room 101")`) {
		t.Errorf("the phone offers the former room: %s", p.Text())
	}
	p.Hold("Hold to open Room 102", "Open. Push the door now.")

	w.book("B-1", "1001", "R103", map[string]any{"state": "started"})
	p.Reload()
	p.Wait("#open [data-said]")
	if p.Holds(`document.getElementById("open").innerText.includes("Room 102")`) {
		t.Errorf("the phone offers the former room: %s", p.Text())
	}
	p.Hold("Hold to open Room 103", "Open. Push the door now.")
}

// The sentence that a door is open goes when the door locks again, and a short touch always says what to do.
func TestPhoneForgetsTheOpenDoor(t *testing.T) {
	t.Parallel()
	w := open(t)
	p, _ := w.keptPhone(browser.WithClock)
	p.Hold("Hold to open Room 101", "Open. Push the door now.")
	p.Pass(15)
	if strings.Contains(p.Text(), "Push the door now") {
		t.Error("the page says that the door is open after it has locked again")
	}
	p.Hold("Hold to open Room 101", "Open. Push the door now.")
	p.Click("Hold to open Room 101")
	p.WaitText("Hold the button until it fills.")
	p.Pass(15)
	p.WaitText("Hold the button until it fills.")
}
