package web_test

import (
	"testing"

	"latchkey.dev/internal/test/browser"
)

// The page of the parts shows each part in its states: a change of a style is seen there first.
func TestPageOfTheParts(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, dark: true}, {size: browser.Desktop}}, browser.Narrow, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			p := browser.Open(t, m.options()...)
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			p.Visit(w.Base + "/app/dev/parts")
			p.Wait(".is-wrong")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("parts")
		})
	}
}
