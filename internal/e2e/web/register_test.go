package web_test

import (
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/test/browser"
)

// An owner reads the guest register with a reason, opens one form, and finds the read in the audit log.
func TestOwnerReadsTheRegister(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}}, browser.Phone, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R101", nil)
			guest := browser.Open(t, browser.WithSize(browser.Phone))
			guest.Visit(w.link())
			guest.Next("Open my stay", "Your stay")
			fillName(guest, "Ada", "Lovelace")
			rule := "ES"
			_, err := propertyv1.NewCheckInServiceClient(w.Public).UpdateCheckInSettings(w.Staff(t.Context()), &propertyv1.UpdateCheckInSettingsRequest{
				Settings: &propertyv1.CheckInSettingsChange{Rule: &rule},
			})
			if err != nil {
				t.Fatal(err)
			}
			w.book("B-1", "1001", "R101", map[string]any{"state": "started"})
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			p.Visit(w.Base + "/app/register")
			p.Wait("form .range")
			p.Axe()
			p.Fits()
			p.Screenshot("register-empty")
			if m.language != "" {
				return
			}
			p.Click("Read the register")
			p.WaitText("Enter the reason, in 3 to 200 characters.")
			p.Axe()
			p.Fill("Reason", "inspection by the police")
			p.Click("Read the register")
			p.WaitText("1 form")
			p.Axe()
			p.Screenshot("register")
			p.Click("Open all forms")
			p.Wait("details.entry[open]")
			p.WaitText("Lovelace, Ada")
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("register-open")
			p.Click("Show only this form Lovelace, Ada")
			p.WaitText("Show all forms")
			p.Visit(w.Base + "/app/audit")
			p.WaitText("inspection by the police")
		})
	}
}
