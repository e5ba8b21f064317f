package web_test

import (
	"net/http"
	"regexp"
	"testing"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/browser"
	"latchkey.dev/internal/test/oidctest"
)

// openWithProvider is open for a server with an identity provider.
func openWithProvider(t *testing.T) (*world, *oidctest.Provider) {
	t.Helper()
	at := oidctest.New(t, oidctest.Hooks{Subject: "subject of Marta", Email: "marta@hotel.example"})
	return &world{World: e2etest.Open(t, func(c *sandbox.Config) {
		c.Play = true
		c.Server.OIDC = config.OIDC{Issuer: at.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Label: "Hotel Office"}
	}), t: t}, at
}

// An owner links the account at the identity provider, signs in with it to the page that was asked for, and removes the link, after which the
// account opens nothing.
func TestIdentityProvider(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}, browser.Narrow, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			w, at := openWithProvider(t)
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
				for _, page := range []string{"account", "account/identity"} {
					p.Visit(w.Base + "/app/" + page)
					p.Axe()
					p.Fits()
					p.Screenshot(page[len("account"):] + "-account")
				}
				return
			}
			signInThere := func(link string) {
				p.Next(link, "Sign in at the provider")
				p.Click("Continue as the test person")
			}
			p.Visit(w.Base + "/app/account")
			p.Axe()
			p.Fits()
			p.Screenshot("account-identity")
			p.Next("Set up Hotel Office", "Sign-in with Hotel Office")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("identity-none")
			p.Click("Link my account")
			p.WaitText("You come back here")
			p.Axe()
			p.Fits()
			p.Screenshot("identity-go")
			at.Set(func(h *oidctest.Hooks) {
				h.Before = func(rw http.ResponseWriter, r *http.Request) bool {
					down := r.URL.Path == "/keys"
					if down {
						http.Error(rw, "down", http.StatusBadGateway)
					}
					return down
				}
			})
			signInThere("Continue to Hotel Office")
			p.WaitText("cannot be reached")
			p.Axe()
			p.Screenshot("identity-down")
			at.Set(func(h *oidctest.Hooks) { h.Before = nil })
			p.Click("Link my account")
			p.WaitText("You come back here")
			signInThere("Continue to Hotel Office")
			p.WaitText("Your account is linked")
			p.Axe()
			p.Fits()
			p.Screenshot("identity-linked")

			p.Visit(w.Base + "/app/account")
			p.Next("Sign out", "Sign in")
			p.Visit(w.Base + "/app/account/identity") // without a session: to the sign-in, and back from there
			p.WaitHeading("Sign in")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("identity-login")
			signInThere("Sign in with Hotel Office")
			p.WaitHeading("Sign-in with Hotel Office")

			p.Click("Remove the link") // the provider did not say that it asked for anything
			p.WaitText("Sign in again, and do it once more")
			p.Axe()
			p.Fits()
			p.Screenshot("identity-again")
			at.Set(func(h *oidctest.Hooks) { h.Claims = func(claims map[string]any) { claims["auth_time"] = nil } })
			signInThere("Sign in with Hotel Office")
			p.WaitText("does not say that you signed in there just now")
			p.Axe()
			p.Fits()
			p.Screenshot("identity-not-fresh")
			at.Set(func(h *oidctest.Hooks) { h.Claims = nil })
			signInThere("Sign in with Hotel Office")
			p.WaitHeading("Sign-in with Hotel Office")
			p.Click("Remove the link")
			p.WaitText("The link is removed")
			p.Visit(w.Base + "/app/account")
			p.Next("Sign out", "Sign in")
			signInThere("Sign in with Hotel Office")
			p.WaitText("That account is not linked to a person here")
			p.Axe()
			p.Fits()
			p.Screenshot("identity-unknown")
			p.Fill("Email", "marta@example.com") // the page of the refusal signs in, too
			p.Fill("Password", staffPassword)
			p.Click("Sign in")
			p.Wait("nav")
		})
	}
}

// An invited person joins with the account of the invited address at the identity provider, without a password, and signs in with it afterwards. An
// account with another address is refused, and the page says what to do.
func TestInvitedPersonJoinsAtTheProvider(t *testing.T) {
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}) {
		t.Run(m.String(), func(t *testing.T) {
			w, at := openWithProvider(t)
			p := browser.Open(t, m.options()...)
			w.signUp(p)
			p.Visit(w.Base + "/app/settings/people")
			p.Fill("Email", "joao@example.com")
			p.Choose("Role", "Housekeeping")
			p.Click("Invite")
			p.Wait("code.secret")
			link := regexp.MustCompile(`http[^<"]*/app/invite/[A-Za-z0-9_-]+`).FindString(p.HTML())

			joao := browser.Open(t, m.options()...)
			joao.Tolerate("status of 422")
			joao.Visit(link)
			joao.WaitText("joao@example.com")
			joao.Axe()
			joao.KeyboardWalk()
			joao.Fits()
			joao.Screenshot("invite-provider")
			joao.Click("Sign in with Hotel Office")
			joao.Wait("#errors") // the name is missing
			joao.Axe()
			there := func(email string) {
				at.Set(func(h *oidctest.Hooks) { h.Subject, h.Email = "subject of "+email, email })
				joao.Fill("Your name", "João Costa")
				joao.Click("Sign in with Hotel Office")
				joao.WaitText("You come back here")
				joao.Axe()
				joao.Fits()
				joao.Screenshot("invite-go")
				joao.Next("Continue to Hotel Office", "Sign in at the provider")
				joao.Click("Continue as the test person")
			}
			there("eve@example.com")
			joao.WaitText("That account has another address than the invitation.")
			joao.Axe()
			joao.Fits()
			joao.Screenshot("invite-address")
			there("joao@example.com")
			joao.Wait("nav")

			joao.Visit(w.Base + "/app/account")
			joao.WaitText("João Costa")
			joao.Next("Change Hotel Office", "Sign-in with Hotel Office")
			joao.Tolerate("status of 409")
			joao.Click("Remove the link")
			joao.WaitText("You have no password here")
			joao.Axe()
			joao.Screenshot("identity-only")
			joao.Visit(w.Base + "/app/account")
			joao.Next("Sign out", "Sign in")
			joao.Next("Sign in with Hotel Office", "Sign in at the provider")
			joao.Click("Continue as the test person")
			joao.Wait("nav")

			joao.Visit(w.Base + "/app/account")
			joao.Screenshot("account-without-password")
			joao.Next("Set a password", "Set a password")
			joao.Fill("New password", "too short")
			joao.Click("Set a password")
			joao.Wait("#errors")
			joao.Axe()
			joao.KeyboardWalk()
			joao.Fits()
			joao.Screenshot("first-password")
			joao.Fill("New password", "four words of a friend")
			joao.Click("Set a password")
			joao.WaitText("Sign in again, and do it once more")
			joao.Next("Sign in with Hotel Office", "Sign in at the provider")
			joao.Click("Continue as the test person")
			joao.WaitHeading("Set a password")
			joao.Fill("New password", "four words of a friend")
			joao.Click("Set a password")
			joao.WaitText("The password is set.")
			joao.Next("Change Hotel Office", "Sign-in with Hotel Office")
			joao.Click("Remove the link")
			joao.WaitText("The link is removed.")
		})
	}
}
