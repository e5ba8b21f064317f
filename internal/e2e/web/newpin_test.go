package web_test

import (
	"testing"

	"latchkey.dev/internal/test/browser"
)

// A phone that shows a PIN shows the next one by itself, and the next room.
func TestPhoneFollowsTheCode(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	p := browser.Open(t, browser.WithSize(browser.Phone), browser.WithClock)
	p.Visit(w.link())
	p.Next("Open my stay", "Your stay")
	w.book("B-1", "1001", "R101", map[string]any{"state": "started"})
	p.Reload()
	p.Next("Show my code", "Your code")
	p.Wait(".pin")
	former, spoken := w.pinOn(p), pinText.FindStringSubmatch(p.HTML())[1]
	w.opens("Room 101", former)
	p.WaitText("Your code works")
	if _, err := w.PMS.Do(t.Context(), "POST", "/v1/reservations/resetKeyChain", map[string]any{"pmsId": "B-1", "reset": "pin"}); err != nil {
		t.Fatal(err)
	}
	p.Pass(21)
	p.WaitUntil("another PIN", `document.querySelector(".pin") !== null && !document.body.innerHTML.includes("`+spoken+`")`)
	w.opens("Room 101", w.pinOn(p))
	w.book("B-1", "1001", "R102", map[string]any{"state": "started"})
	p.Pass(21)
	p.WaitUntil("the next room", `document.querySelector(".where").innerText.includes("Room 102")`)
}

// A page that loads the state of the doors from the page of the code keeps its own title.
func TestLivePartsKeepTheTitle(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	p := browser.Open(t, browser.WithSize(browser.Phone), browser.WithClock)
	p.Visit(w.link())
	p.Next("Open my stay", "Your stay")
	w.book("B-1", "1001", "R101", map[string]any{"state": "started"})
	p.Reload()
	p.WaitText("Show my code")
	p.Script(`(doors => {
		doors.dataset.live = location.pathname + "/key/doors"; doors.dataset.every = "1"; doors.append(document.createElement("hr"))
	})(document.getElementById("doors"))`)
	p.Pass(3)
	p.WaitUntil("the doors are loaded again", `document.querySelector("#doors hr") === null`)
	if !p.Holds(`document.title.startsWith("Your stay")`) {
		t.Errorf("the title of the page of the stay: %s", p.HTML()[:400])
	}
}
