package web_test

import (
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/test/browser"
)

// The result of an act stays on its page while the page follows what changes, and a part in use is refreshed after its use.
func TestResultsStayOnLivePages(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", map[string]any{"state": "started"})
	p := browser.Open(t, browser.WithClock) // no time passes for the page, so a shown PIN stays
	p.Tolerate("status of 422")
	w.signUp(p)
	// stays checks that the page shows a text, also after the stream has made it load its parts twice. change makes something change.
	stays := func(text string, change func()) {
		t.Helper()
		p.WaitText(text)
		p.Script(`globalThis.sameDocument = true`)
		loads := func(n string) {
			p.WaitUntil("the parts are loaded "+n+" times", `globalThis.sameDocument && performance.getEntriesByType("resource").filter(e => e.initiatorType === "fetch").length >= `+n)
		}
		loads("1")
		change()
		loads("2")
		p.WaitUntil("the page is live", `!document.querySelector(".live [data-on]").hidden`)
		if !strings.Contains(p.Text(), text) {
			t.Errorf("%q is gone, on %s", text, p.Address())
		}
	}
	listed, err := propertyv1.NewLockServiceClient(w.Public).ListLocks(w.Staff(t.Context()), &propertyv1.ListLocksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	lock := listed.GetData().GetList()[0].GetId()
	rename := func() {
		if _, err := propertyv1.NewLockServiceClient(w.Public).UpdateLock(w.Staff(t.Context()), &propertyv1.UpdateLockRequest{Id: lock, Name: "Lock of the cellar"}); err != nil {
			t.Error(err)
		}
	}
	p.Visit(w.Base + "/app/locks/" + lock)
	p.Click("Open now")
	stays("Say why you open the door", rename)
	p.Fill("Reason", "The guest forgot the code")
	p.Click("Open now")
	stays("Opened: the lock confirmed it.", rename)

	send := func() { w.book("B-1", "1001", "R101", map[string]any{"state": "started", "adultCount": 2}) }
	p.Visit(w.Base + "/app/reservations?q=1001")
	p.Click("Ada Lovelace")
	p.WaitHeading("Ada Lovelace · #1001")
	p.Click("Show the PIN")
	p.Fill("Reason", "lost phone")
	p.Click("Show it now")
	stays("Hide it", send)
	if !p.Has(".pin") {
		t.Error("the PIN is gone")
	}

	p.Click("Hide it")
	p.WaitHeading("Ada Lovelace · #1001")
	p.Script(`document.querySelector("#doors details").open = true`)
	w.book("B-1", "1001", "R102", map[string]any{"state": "started"})
	p.WaitText("Room 102 ·") // the rest of the page is loaded: by one load if the stream opened after the change
	if !p.Holds(`document.querySelector("#doors").innerText.includes("Room 101")`) {
		t.Error("a part changed while its menu was open")
	}
	p.Script(`document.querySelector("#doors details").open = false`)
	p.WaitUntil("the door of the new room", `document.querySelector("#doors").innerText.includes("Room 102")`)
}

// A shown PIN leaves the screen after 20 seconds.
func TestShownPINIsHidden(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", map[string]any{"state": "started"})
	p := browser.Open(t, browser.WithClock)
	w.signUp(p)
	p.Visit(w.Base + "/app/reservations?q=1001")
	p.Click("Ada Lovelace")
	p.WaitHeading("Ada Lovelace · #1001")
	p.Click("Show the PIN")
	p.Fill("Reason", "lost phone")
	p.Click("Show it now")
	p.Wait(".pin")
	p.Pass(19)
	if !p.Has(".pin") {
		t.Error("the PIN is hidden before 20 seconds")
	}
	p.Pass(1)
	if p.Has(".pin") || p.Has("[data-hide]") {
		t.Error("the PIN is shown after 20 seconds")
	}
}
