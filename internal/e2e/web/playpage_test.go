package web_test

import (
	"testing"

	"latchkey.dev/internal/test/browser"
)

// playSettings are the settings of the play page; see matrix.
var playSettings = []setting{
	{size: browser.Narrow}, {size: browser.Phone, forced: true, dark: true},
	{size: browser.Desktop}, {size: browser.Desktop, dark: true}, {size: browser.Desktop, forced: true}, {size: browser.Tablet}, {size: browser.Phone, scriptOff: true},
	{size: browser.Desktop.Zoom(2)}, {size: browser.Desktop.Zoom(4), spaced: true}, {size: browser.Narrow, spaced: true}, {size: browser.Phone, dark: true},
}

// pointerTarget is the size that WCAG 2.5.8 requires of a target, in CSS pixels.
const pointerTarget = 24

// The page to play with the demo and its mails can be used by everybody, with each part of the page open.
func TestPlayPage(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", map[string]any{"owing": 84, "owingCurrency": "EUR"})
	w.link()
	for _, m := range matrix(playSettings) {
		t.Run(m.String(), func(t *testing.T) {
			p := browser.Open(t, m.options()...)
			p.Visit(w.PlayURL())
			p.WaitText("Lovelace")
			p.LayoutShift()
			p.Screenshot("play-" + m.String())
			p.Script(`document.querySelectorAll("details").forEach(d => { d.open = true })`)
			checkPlay(p, m, "open")
			p.KeyboardWalk()
			p.Script(`document.querySelectorAll("details").forEach(d => { d.open = false })`)
			p.KeyboardWalk()
			p.Click("Invitation to ada@example.com")
			p.WaitText("As text")
			checkPlay(p, m, "mail")
			p.KeyboardWalk()
		})
	}
}

// checkPlay checks how a browser with a setting shows a page of the demo.
func checkPlay(p *browser.Page, m setting, name string) {
	if m.spaced {
		p.SpaceText()
	}
	p.Screenshot("play-" + name + "-" + m.String())
	p.Axe()
	p.Fits()
	p.KeepsStill()
	if m.forced {
		p.ShowsInForcedColors()
	}
	p.Targets(pointerTarget)
}
