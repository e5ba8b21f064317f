package web_test

import (
	"testing"

	"latchkey.dev/internal/test/browser"
)

// The page to play with the demo can be used by everybody, on a desktop and on a phone.
func TestPlayPage(t *testing.T) {
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	w.link()
	for _, size := range []browser.Size{browser.Desktop, browser.Narrow} {
		p := browser.Open(t, browser.WithSize(size))
		p.Visit(w.PlayURL())
		p.WaitText("Lovelace")
		p.LayoutShift()
		p.Screenshot("play-" + size.String())
		p.Axe()
		p.Fits()
		p.KeyboardWalk()
	}
}
