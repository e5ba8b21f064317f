package web_test

import (
	"strings"
	"testing"

	"latchkey.dev/internal/test/browser"
)

// longWord is longer than a line of the narrowest phone, as some names of rooms and people are.
var longWord = "W" + strings.Repeat("olfeschlegelstein", 3)

// Pages of guests are not wider than the narrowest phone, however long the words of the property and of the guests are.
func TestLongWordsFit(t *testing.T) {
	script := base()
	stay := script.stay
	stay.SpaceName, stay.ParentSpaceName, stay.PartnerName, stay.HouseRules = longWord, longWord, longWord, longWord
	stay.Property.Name, stay.Property.Address, stay.Property.Directions = longWord, longWord, longWord
	for _, g := range stay.Guests {
		g.FirstName, g.LastName = longWord, longWord
	}
	for _, s := range script.form.GetSteps() {
		for _, f := range s.GetFields() {
			if f.GetLabel() != "" {
				f.Label = longWord
			}
			if len(f.GetOptions()) == 0 {
				f.Value = longWord
			}
		}
	}
	for _, d := range stay.Doors {
		d.Name = longWord
	}
	address := script.serve(t)
	p := browser.Open(t, browser.WithSize(browser.Narrow))
	p.SetCookie(address, "lk-stay-stay1", "x")
	for _, begun := range []bool{false, true} {
		if begun {
			stay.State, stay.CheckIn.Stage = "started", "checkedIn"
		}
		for _, path := range []string{"", "/people", "/form/check", "/form/g1/name", "/form/rules", "/form/share", "/checkin", "/key", "/devices", "/ledger", "/data", "/messages"} {
			p.Visit(address + "/g/stays/stay1" + path)
			p.Script(`document.querySelectorAll("main details").forEach((d) => (d.open = true))`)
			p.Screenshot("words" + strings.ReplaceAll(path, "/", "-"))
			p.Fits()
		}
	}
}

// The longest names of guests fit into the lists of a tablet and of a phone.
func TestLongNamesFit(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]browser.Size{"tablet": browser.Tablet, "phone": browser.Phone} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R101", map[string]any{"booker": map[string]any{
				"firstName": "Augusta", "lastName": "Wolfeschlegelsteinhausenbergerdorff-Featherstonehaugh", "email": "ada@example.com",
			}})
			p := browser.Open(t, browser.WithSize(size))
			w.signUp(p)
			for _, page := range []string{"today", "reservations"} {
				p.Visit(w.Base + "/app/" + page)
				p.WaitText("Featherstonehaugh")
				p.Fits()
				p.Screenshot("long-name-" + page)
			}
		})
	}
}
