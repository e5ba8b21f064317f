package web_test

import (
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/test/browser"
)

// A guest shares one of two groups that the property marks, without script. The page says what is never shared, and shows the choice again.
func TestGuestShares(t *testing.T) {
	w := open(t)
	_, err := propertyv1.NewCheckInServiceClient(w.Public).UpdateCheckInSettings(w.Staff(t.Context()), &propertyv1.UpdateCheckInSettingsRequest{
		Settings: &propertyv1.CheckInSettingsChange{MandatoryGroups: &propertyv1.MandatoryGroups{List: []string{"identity", "contact"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.book("B-1", "1001", "R101", nil)
	p := browser.Open(t, browser.WithSize(browser.Narrow), browser.WithoutScript)
	p.Visit(w.link())
	p.Next("Open my stay", "Your stay")
	p.Click("What we share To do")
	p.WaitHeading("What we share")
	p.WaitText("The booking system never reads: Your home address\u00a0· Your travel document\u00a0· Your birth")
	if p.Has("input:checked") {
		t.Error("a choice is made before the guest makes it")
	}
	p.Script(`document.getElementById("s-identity").click()`)
	p.Script(`document.getElementById("s-keep").click()`)
	p.Screenshot("share")
	p.Click("Continue")
	p.WaitHeading("Your stay")
	p.Click("What we share Done")
	p.WaitHeading("What we share")
	for box, on := range map[string]bool{"s-identity": true, "s-contact": false, "s-keep": true} {
		if p.Has("#"+box+":checked") != on {
			t.Errorf("%s is on: %t", box, !on)
		}
	}
	if strings.Contains(p.Text(), "What the law makes") {
		t.Error("the page names a law, and no law asks here")
	}
}
