package web_test

import (
	"testing"

	"latchkey.dev/internal/test/browser"
)

// A front desk shows the PIN of a guest in house, extends the access, replaces the PIN and finds the form of a one-time code filled in.
func TestDeskHelpsWithAccess(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}}, browser.Phone, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R101", map[string]any{"state": "started"})
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			p.Visit(w.Base + "/app/reservations?q=1001")
			p.Click("Ada Lovelace")
			p.WaitHeading("Ada Lovelace · #1001")
			stay := p.Address()
			if m.language == "" {
				p.Click("Show the PIN")
				p.Fill("Reason", "lost phone")
				p.Axe()
				p.Screenshot("stay-why")
				p.Click("Show it now")
				p.Wait(".pin")
				p.Axe()
				p.Fits()
				p.Screenshot("stay-pin")
				p.Click("Hide it")
				p.Click("Extend access")
				p.Fill("Reason", "late flight")
				p.Screenshot("stay-extend")
				p.Click("Extend it")
				p.WaitText("The access is extended.")
				p.Click("New PIN")
				p.Fill("Reason", "shown to others")
				p.Click("Replace the PIN")
				p.WaitText("The PIN is replaced.")
			}
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("stay-access")
			p.Visit(w.Base + "/app/codes/new?stay=" + stay[len(w.Base+"/app/reservations/"):])
			p.Wait("main[data-ready] h1")
			p.Axe()
			p.Screenshot("stay-code")
		})
	}
}
