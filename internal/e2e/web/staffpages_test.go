package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/browser"
	"latchkey.dev/internal/test/pseudo"
)

// staffPages are the pages of the dashboard. STAY, LOCK and the like are ids, see [world.staffIDs].
var staffPages = []string{
	"today", "today?tab=house", "reservations", "reservations?day=2026-11-21", "reservations/STAY", "reservations/STAY/guests", "reservations/STAY/messages", "messages/STAY", "palette", "locks", "locks/LOCK", "locks/batteries",
	"bridges", "bridges/new", "bridges/BRIDGE", "notices", "messages", "codes", "codes/new", "codes/CODE", "audit", "spaces", "spaces/changes?pms=PMS", "spaces/new", "spaces/import",
	"spaces/rooms/ROOM", "gates", "gates/GATE", "setup", "setup/arrival", "register", "settings/property", "settings/checkin", "settings/questions", "settings/texts", "settings/retention",
	"settings/mail", "settings/integrations", "settings/kiosks", "settings/people", "account", "account/password", "account/second", "account/passkeys", "account/notices", "account/identity", "dev/parts",
}

// Each page of the dashboard holds each language, one from right to left with long words, colors that the browser replaces, and a zoom of 200 %.
func TestStaffPagesInEverySetting(t *testing.T) {
	for _, m := range matrix([]setting{
		{size: browser.Narrow, language: pseudo.RightToLeft}, {size: browser.Desktop, forced: true, dark: true}, {size: browser.Desktop.Zoom(2)},
		{size: browser.Desktop, language: pseudo.RightToLeft}, {size: browser.Narrow, language: pseudo.Long}, {size: browser.Desktop.Zoom(4), spaced: true}, {size: browser.Tablet, forced: true},
		{size: browser.Narrow, language: "de"}, {size: browser.Narrow, language: "es"}, {size: browser.Narrow, language: "fr", dark: true},
		{size: browser.Desktop, language: "de", dark: true}, {size: browser.Tablet, language: "es"}, {size: browser.Desktop, language: "fr"},
	}) {
		t.Run(m.String(), func(t *testing.T) {
			m.begin(t)
			w, _ := openWithProvider(t)
			w.book("B-1", "1001", "R101", map[string]any{
				"adultCount": 2, "childCount": 1, "owing": 1184.5, "owingCurrency": "EUR", "sourceName": "A booking site with a long name", "channelNumber": "BK-4711-000-99-A",
				"booker": map[string]any{"firstName": "Ada", "lastName": "Lovelace", "email": "ada.lovelace@analytical-engines.example.com", "mobile": "+351912345678"},
			})
			p := browser.Open(t, m.options()...)
			w.signUp(p)
			p.Visit(w.Base + "/app/reservations?q=1001")
			p.Click("Ada Lovelace")
			p.WaitHeading("Ada Lovelace · #1001")
			ids := strings.NewReplacer(append(w.staffIDs(), "STAY", p.Address()[strings.LastIndex(p.Address(), "/")+1:])...)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			for _, page := range staffPages {
				p.Visit(w.Base + "/app/" + ids.Replace(page))
				if m.language == pseudo.RightToLeft {
					p.WaitUntil("the direction", fmt.Sprintf(`document.documentElement.lang === %q && getComputedStyle(document.body).direction === "rtl"`, m.language))
				}
				if m.spaced {
					p.SpaceText()
				}
				if m.forced {
					p.ShowsInForcedColors()
				}
				p.Fits()
				p.Screenshot(strings.NewReplacer("/", "-", "?", "-").Replace(page))
				if all {
					p.Axe()
					p.KeyboardWalk()
				}
			}
		})
	}
}

// A person changes the password: a wrong one and a short one are refused at their fields, other devices are signed out, and the new one signs in.
func TestPersonChangesThePassword(t *testing.T) {
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			p, other := browser.Open(t, m.options()...), browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			other.Visit(w.Base + "/app/login")
			signIn := func(b *browser.Page, password string) {
				b.Fill("Email", "marta@example.com")
				b.Fill("Password", password)
				b.Click("Sign in")
			}
			signIn(other, staffPassword)
			other.Wait("nav")

			p.Visit(w.Base + "/app/account")
			p.Next("Change the password", "Change the password")
			p.Axe()
			p.KeyboardWalk()
			p.Fill("Current password", "not her password")
			p.Fill("New password", "another long password")
			p.Click("Change the password")
			p.Wait(".is-wrong")
			p.Axe()
			p.Screenshot("password-wrong")
			p.Fill("Current password", staffPassword)
			p.Fill("New password", "short")
			p.Click("Change the password")
			p.WaitText("Use at least 12 characters")
			p.Fill("Current password", staffPassword)
			p.Fill("New password", "another long password")
			p.Next("Change the password", "Your account")
			p.Screenshot("password-changed")
			other.Visit(w.Base + "/app/account")
			other.WaitHeading("Sign in")

			p.Next("Sign out", "Sign in")
			signIn(p, staffPassword)
			p.WaitText("do not belong together")
			signIn(p, "another long password")
			p.Wait("nav")
		})
	}
}

// A person without a second factor who signed in long ago signs in again before an authenticator app or a passkey is added. The former session
// ends.
func TestPersonSignsInAgain(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}, browser.Narrow) {
		t.Run(m.String(), func(t *testing.T) {
			now := &e2etest.Offset{}
			w := &world{World: e2etest.Open(t, func(c *sandbox.Config) { c.Play, c.Options.Clock = true, now }), t: t}
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			p.Visit(w.Base + "/app/account/second")
			now.Set(15 * time.Minute)
			p.Click("Set up")
			p.WaitText("Sign in again, and do it once more")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("login-again")
			p.Fill("Email", "marta@example.com")
			p.Fill("Password", "not her password")
			p.Click("Sign in")
			p.Wait("#errors")
			p.WaitText("Sign in again, and do it once more")
			p.Fill("Email", "marta@example.com")
			p.Fill("Password", staffPassword)
			p.Next("Sign in", "Authenticator app")
			p.Click("Set up")
			p.WaitText("Or type this key into the app")
			p.Visit(w.Base + "/app/account")
			p.WaitText("This device")
			if strings.Contains(p.HTML(), `name="session"`) {
				t.Error("the former session goes on")
			}
		})
	}
}

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
