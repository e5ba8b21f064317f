package web_test

import (
	"fmt"
	"testing"

	"latchkey.dev/internal/test/browser"
)

// A person finds a stay and a page with the keyboard alone, from any page. Without a script, the page of the palette does the same.
func TestPalette(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Desktop}, {size: browser.Phone, dark: true}, {size: browser.Narrow}}, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R101", nil)
			p := browser.Open(t, m.options()...)
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			p.Visit(w.Base + "/app/locks")
			p.Script(`document.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true }))`)
			p.WaitUntil("the palette", `document.getElementById("palette").open && document.querySelectorAll("#palette [role=option]").length > 5`)
			p.Axe()
			p.Screenshot("palette")
			p.Script(`document.activeElement.value = "lovel", document.activeElement.dispatchEvent(new Event("input"))`)
			p.WaitUntil("the stay", `document.querySelectorAll("#palette [role=option]").length === 1 && document.querySelector("#palette [role=option]").textContent.includes("1001")`)
			p.Fits()
			p.Press("\r")
			p.WaitHeading("Ada Lovelace · #1001")
			if m.language != "" {
				return
			}
			p.Script(`document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }))`)
			p.WaitUntil("the palette", `document.getElementById("palette").open`)
			p.Script(`document.activeElement.value = "no such thing", document.activeElement.dispatchEvent(new Event("input"))`)
			p.WaitText("Nothing has this name.")
			p.Axe()
			p.Screenshot("palette-none")
			p.Script(`document.activeElement.value = "batter", document.activeElement.dispatchEvent(new Event("input"))`)
			p.WaitUntil("pages", `document.querySelectorAll("#palette [role=option]").length === 2`)
			p.Script(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true, cancelable: true }))`)
			p.WaitUntil("the second page", `document.querySelectorAll("#palette [role=option]")[1].getAttribute("aria-selected") === "true"`)
			p.Press("\r")
			p.WaitHeading("Batteries to change this week")
		})
	}
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	w.pressesKeys(t)
	p := browser.Open(t, browser.WithSize(browser.Narrow), browser.WithoutScript)
	w.signUp(p)
	p.Visit(w.Base + "/app/palette?q=love")
	p.Axe()
	p.Fits()
	p.WaitText("Ada Lovelace #1001 · Room 101")
}

// pressesKeys checks the single keys: they move between rows and open pages, and a switch turns them off.
func (w *world) pressesKeys(t *testing.T) {
	p := browser.Open(t, browser.WithSize(browser.Desktop))
	w.signUp(p)
	p.Visit(w.Base + "/app/locks")
	press := func(keys ...string) {
		for _, key := range keys {
			p.Script(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "` + key + `", bubbles: true, cancelable: true }))`)
		}
	}
	row := func() int {
		for i := range 9 {
			if p.Holds(fmt.Sprintf(`[...document.querySelectorAll("main tbody tr")].findIndex((row) => row.contains(document.activeElement)) === %d`, i)) {
				return i
			}
		}
		return -1
	}
	for _, step := range []struct {
		keys []string
		want int
	}{{[]string{"j"}, 0}, {[]string{"j", "j"}, 2}, {[]string{"k"}, 1}} {
		if press(step.keys...); row() != step.want {
			t.Errorf("after %v the focus is in row %d, want %d", step.keys, row(), step.want)
		}
	}
	press("?")
	p.WaitUntil("the list of keys", `document.getElementById("keys").open`)
	p.Axe()
	p.Screenshot("keys")
	p.ClickAt("#keys input")
	p.Click("Close")
	press("j")
	if row() == 2 {
		t.Error("a key moves the focus although keys are off")
	}
	p.Click("Find Ctrl K")
	p.WaitUntil("the palette", `document.getElementById("palette").open`)
	p.Click("Keys")
	p.ClickAt("#keys input")
	p.Click("Close")
	press("g", "t")
	p.WaitHeading("Today")
}
