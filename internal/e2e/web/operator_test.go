package web_test

import (
	"testing"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/test/browser"
)

// An operator signs in, sees how the installation does, adds a PMS's app and a property, and hands the property to its owner.
func TestOperatorSetsUpAProperty(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Desktop}, {size: browser.Desktop.Zoom(4)}, {size: browser.Desktop, dark: true}, {size: browser.Narrow, scriptOff: true}}) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			made, err := adminv1.NewTokenServiceClient(w.Socket).CreateOperatorToken(t.Context(), &adminv1.CreateOperatorTokenRequest{Name: "Ana's laptop"})
			if err != nil {
				t.Fatal(err)
			}
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			look := func(name string) {
				p.Fits()
				p.Axe()
				p.KeyboardWalk()
				p.Screenshot(name)
			}
			p.Visit(w.Base + "/operator/")
			p.WaitHeading("Operator sign-in")
			look("login")
			p.Fill("Operator token", "lko_guess")
			p.Click("Sign in")
			p.Wait(".is-wrong")
			look("login-wrong")
			p.Fill("Operator token", made.GetToken())
			p.Next("Sign in", "Overview")
			look("overview")

			p.Visit(w.Base + "/operator/apps")
			look("apps")
			p.Fill("Vendor", "Cloud PMS")
			p.Click("Create app")
			p.WaitText("Shown once")
			look("apps-token")
			p.Next("Cloud PMS", "Cloud PMS")
			look("app")

			p.Visit(w.Base + "/operator/properties")
			look("properties")
			p.Fill("Name", "Harbour Hostel")
			p.Fill("Time zone", "Europe/Lisbon")
			p.Next("Create property", "Harbour Hostel")
			p.Click("Create link")
			p.WaitText("/app/first/lki_")
			look("property-link")
			p.Next("Open the list of tokens", "Tokens for programs")
			look("property-tokens-none")
			p.Fill("Who or what uses it", "Door display")
			p.Click("Create token")
			p.WaitText("Shown once")
			look("property-tokens")

			for _, page := range []string{"tokens", "jobs", "session"} {
				p.Visit(w.Base + "/operator/" + page)
				look(page)
			}
			p.Next("Sign out", "Operator sign-in")
		})
	}
}
