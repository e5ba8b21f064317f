package web_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/test/browser"
)

// A person looks at another day with the links and with the field, finds a stay by its room, and chooses how many rows a page has. Each works
// without a script.
func TestDaysAndRows(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R101", nil)
			p := browser.Open(t, m.options()...)
			w.signUp(p)
			p.Visit(w.Base + "/app/today")
			p.Screenshot("today")
			p.Click("Tomorrow")
			p.WaitText("Day after")
			p.Axe()
			p.Fits()
			p.KeyboardWalk()
			p.Screenshot("today-tomorrow")
			p.Script(`document.getElementById("day").value = "` + time.Now().AddDate(1, 0, 0).Format(time.DateOnly) + `"`) // keys enter a date in the order of the language
			p.Click("Show")
			p.WaitText("No stay begins on this day.")
			p.Fill("Name, number, room or group", "101")
			p.Click("Search")
			p.WaitText("Ada Lovelace #1001")
			p.Screenshot("found-by-room")
			p.Visit(w.Base + "/app/audit?page=")
			p.Click("Rows per page: 50")
			p.Axe()
			p.Fits()
			p.Screenshot("rows")
			p.Click("100")
			p.WaitText("Rows per page: 100")
		})
	}
}
