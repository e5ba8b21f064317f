package web_test

import (
	"testing"

	"latchkey.dev/internal/test/browser"
)

// A person chooses which notices to see and to get by mail, and reads what is wrong with the hours.
func TestPersonChoosesNotices(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}}, browser.Phone) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			p.Visit(w.Base + "/app/account/notices")
			p.Wait("main[data-ready] table.list")
			p.Axe()
			p.Fits()
			p.Screenshot("my-notices")
			if m.language != "" {
				return
			}
			p.KeyboardWalk()
			p.Click("By mail Locks and bridges")
			p.Click("On the page PMS and mapping")
			p.Script(`document.querySelector("#f-mailFrom").value = "08:00"`)
			p.Click("Save")
			p.WaitText("Enter both times")
			p.Axe()
			p.Script(`document.querySelector("#f-mailUntil").value = "20:00"`)
			p.Click("Save")
			p.WaitText("Saved.")
			p.Wait("#mail-locks:checked")
			p.Wait("#page-pms:not(:checked)")
			p.Screenshot("my-notices-saved")
		})
	}
}
