package web_test

import (
	"testing"

	"latchkey.dev/internal/test/browser"
)

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
