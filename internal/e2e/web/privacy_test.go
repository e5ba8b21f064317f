package web_test

import (
	"testing"

	"latchkey.dev/internal/test/browser"
)

// A guest asks the property for a copy of the data and for their erasure. The owner does both on the page of the guests, and finds the erasure in the
// list that proves it.
func TestOwnerErasesGuestData(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R101", map[string]any{
				"adultCount": 2, "booker": map[string]any{"firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com"},
			})
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			p.Visit(w.Base + "/app/settings/retention")
			p.WaitText("No guest has asked for it.")
			p.Visit(w.Base + "/app/reservations?q=1001")
			p.Click("Ada Lovelace")
			p.WaitHeading("Ada Lovelace · #1001")
			p.Click("Show what they entered")
			p.WaitText("Copy or erase data")
			p.Click("Erase data")
			p.Click("Erase the data")
			p.WaitText("Tick this if the guest asked for it.")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("erase-wrong")
			p.Click("Yes, the guest asked for this. Erased data cannot be restored.")
			p.Next("Erase the data", "Ada Lovelace · #1001")
			p.WaitText("The erasure is requested.")
			p.WaitText("Do not copy their data elsewhere.")
			p.Axe()
			p.Screenshot("erase-requested")
			p.Visit(w.Base + "/app/settings/retention")
			p.WaitText("requested by Marta Silva")
			p.Axe()
			p.Fits()
			p.Screenshot("erasures")
		})
	}
}
