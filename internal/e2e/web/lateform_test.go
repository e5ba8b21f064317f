package web_test

import (
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/test/browser"
)

// The count of the pages of a form promises the most pages while the age decides how many there are, and is exact afterwards. A guest who sends answers
// after the check-out reads that nothing was saved, also without script.
func TestFormOfASpanishProperty(t *testing.T) {
	t.Parallel()
	w := open(t)
	rule := "ES"
	_, err := propertyv1.NewCheckInServiceClient(w.Public).UpdateCheckInSettings(w.Staff(t.Context()), &propertyv1.UpdateCheckInSettingsRequest{
		Settings: &propertyv1.CheckInSettingsChange{Rule: &rule},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.book("B-1", "1001", "R101", nil)
	p := browser.Open(t, browser.WithSize(browser.Phone), browser.WithoutScript)
	p.Visit(w.link())
	p.Next("Open my stay", "Your stay")
	p.Next("You To do", "What is your name?")
	p.WaitText("Step 1 of at most 6")
	p.Axe()
	p.Fits()
	p.Screenshot("step-at-most")
	p.Fill("Given names", "Ada")
	p.Fill("Family name", "Lovelace")
	p.Next("Continue", "What is your country of citizenship?")
	p.WaitText("Step 2 of at most 6")
	p.Choose("Country of citizenship", "France")
	p.Next("Continue", "When were you born?")
	p.WaitText("Step 3 of at most 6")
	p.Fill("Day", "7")
	p.Fill("Month", "3")
	p.Fill("Year", "1990")
	p.Click("F")
	p.Click("Continue")
	p.WaitText("Step 4 of 6")

	w.book("B-1", "1001", "R101", map[string]any{"state": "processed"})
	p.Tolerate("status of 409")
	p.Click("Continue")
	p.WaitHeading("Your stay has ended")
	p.WaitText("Nothing was saved")
	p.Axe()
	p.Fits()
	p.Screenshot("form-after-the-stay")
	p.Next("Open my stay", "Your stay")
	p.WaitText("Your stay has ended")
}
