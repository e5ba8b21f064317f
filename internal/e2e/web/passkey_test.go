package web_test

import (
	"strings"
	"testing"

	"latchkey.dev/internal/test/browser"
)

// An owner adds a passkey, signs in with it, confirms with it what needs the second factor again, renames it and deletes it.
func TestPasskey(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Desktop}, {size: browser.Narrow, dark: true}}, browser.Narrow, browser.Desktop) {
		if m.scriptOff {
			continue
		}
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.Base = strings.Replace(w.Base, "127.0.0.1", "localhost", 1) // no passkey belongs to an IP address
			p := browser.Open(t, m.options()...)
			p.AddAuthenticator()
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			p.Visit(w.Base + "/app/account/passkeys")
			p.Wait("form.passkey:not([hidden])")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("passkeys-none")
			if m.language != "" {
				return
			}
			p.Fill("Name", "Reception laptop")
			p.Next("Add a passkey", "Your recovery codes")
			p.Axe()
			p.Next("I have kept them", "Your account")
			p.Next("Sign out", "Sign in")
			p.Wait("form.passkey:not([hidden])")
			p.Axe()
			p.KeyboardWalk()
			p.Screenshot("passkey-login")
			p.Click("Sign in with a passkey")
			p.Wait("nav")

			p.Visit(w.Base + "/app/confirm?to=/app/account/passkeys")
			p.Wait("form.passkey:not([hidden])")
			p.Axe()
			p.Screenshot("passkey-confirm")
			p.Next("Confirm with a passkey", "Passkeys")
			p.WaitText("Reception laptop")
			p.Click("Change Reception laptop")
			p.Axe()
			p.Fits()
			p.Screenshot("passkeys")
			p.Fill("New name", "Old laptop")
			p.Click("Save the name")
			p.WaitText("Old laptop")
			p.Click("Change Old laptop")
			p.Click("Delete Old laptop")
			p.WaitText("You have no passkey yet")
		})
	}
}
