package web_test

import (
	"fmt"
	"slices"
	"testing"

	"latchkey.dev/internal/test/browser"
	"latchkey.dev/internal/test/pseudo"
)

// setting is how a browser shows a page.
type setting struct {
	size      browser.Size
	dark      bool
	scriptOff bool
	forced    bool   // the browser replaces the page's colors
	spaced    bool   // the reader spaces the text
	language  string // of the catalogue, or a pseudo language
	kinds     bool   // a test run shows one page of each kind; without it, the full matrix alone has the setting
}

func (s setting) String() string {
	name := fmt.Sprint(s.size)
	if s.language != "" {
		name += "-" + s.language
	}
	for _, part := range []struct {
		on   bool
		name string
	}{{s.forced, "forced"}, {s.dark, "dark"}, {s.spaced, "spaced"}, {s.scriptOff, "noscript"}} {
		if part.on {
			name += "-" + part.name
		}
	}
	return name
}

// begin lets the test of the setting run at the same time as those of others. One with a pseudo language runs alone, because the other pages would offer it too.
func (s setting) begin(t *testing.T) {
	t.Helper()
	if s.language == pseudo.Long || s.language == pseudo.RightToLeft {
		pseudo.Add(t, s.language)
	} else {
		t.Parallel()
	}
}

func (s setting) options() []browser.Option {
	options := []browser.Option{browser.WithSize(s.size), browser.ReducedMotion}
	if s.dark {
		options = append(options, browser.Dark)
	}
	if s.forced {
		options = append(options, browser.ForcedColors)
	}
	if s.scriptOff {
		options = append(options, browser.WithoutScript)
	}
	return options
}

// guestSettings and kioskSettings are the first of them in each test run, with those that show a page of each kind, and all of them in
// the full matrix. 400 % is a window of 320 CSS pixels.
var (
	guestSettings = []setting{
		{size: browser.Narrow}, {size: browser.Phone, dark: true}, {size: browser.Tablet, scriptOff: true}, {size: browser.Desktop}, {size: browser.Phone, scriptOff: true},
		{size: browser.Desktop.Zoom(4), spaced: true}, {size: browser.Phone, forced: true, dark: true},
		{size: browser.Narrow, language: pseudo.Long}, {size: browser.Narrow, language: pseudo.RightToLeft, kinds: true},
		{size: browser.Tablet, language: pseudo.RightToLeft}, {size: browser.Phone, forced: true}, {size: browser.Desktop.Zoom(2)}, {size: browser.Phone, spaced: true},
	}
	kioskSettings = []setting{
		{size: browser.Kiosk}, {size: browser.Tablet}, {size: browser.Narrow},
		{size: browser.Kiosk.Zoom(4), spaced: true}, {size: browser.Kiosk, forced: true, dark: true, kinds: true},
		{size: browser.Kiosk, language: pseudo.Long}, {size: browser.Kiosk, language: pseudo.RightToLeft},
		{size: browser.Narrow, language: pseudo.RightToLeft}, {size: browser.Kiosk, forced: true}, {size: browser.Kiosk.Zoom(2)}, {size: browser.Kiosk, spaced: true},
	}
)

// matrix returns the settings of a test run. The full one has each language of the catalogue in each size, light and dark.
func matrix(settings []setting, sizes ...browser.Size) (run []setting) {
	add := func(m setting) {
		// The name of a repeated setting would get a "#", which the address of a socket must not have.
		if !slices.ContainsFunc(run, func(of setting) bool { return of.String() == m.String() }) {
			run = append(run, m)
		}
	}
	for i, m := range settings {
		if all || i == 0 || m.kinds {
			add(m)
		}
	}
	for _, language := range []string{"en", "de", "es", "fr"} {
		for _, size := range sizes {
			if all {
				add(setting{size: size, language: language})
				add(setting{size: size, language: language, dark: true})
			}
		}
	}
	return run
}

// One state of each kind of page: text, tasks, fields, choices, errors, codes, a spinner, a drawing, a QR code and a dialog.
var (
	guestKinds = []string{"link", "stay", "form-birth", "form-wrong", "people", "share", "check-long", "checkin-waiting", "checkin-sign", "key-gate", "key-failed", "devices", "look"}
	kioskKinds = []string{"start", "find-wrong", "which", "form", "code-long", "still", "waiting"}
)
