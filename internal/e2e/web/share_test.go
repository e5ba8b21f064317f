package web_test

import (
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/test/browser"
)

// A guest at the tablet is asked once what is shared, and nothing is chosen before the guest chooses it. The tablet keeps nothing of the choice:
// the next guest is asked with no choice made, and declines.
func TestGuestSharesAtTheTablet(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, err := propertyv1.NewCheckInServiceClient(w.Public).UpdateCheckInSettings(w.Staff(t.Context()), &propertyv1.UpdateCheckInSettingsRequest{
		Settings: &propertyv1.CheckInSettingsChange{MandatoryGroups: &propertyv1.MandatoryGroups{List: []string{"contact"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	k := w.enrol()
	for i, shares := range []bool{true, false} {
		id := []string{"B-1", "B-2"}[i]
		w.book(id, "100"+id[2:], "R10"+id[2:], nil)
		k.Next("Check in", "Find your booking")
		w.findAt(k, "100"+id[2:], "Lovelace")
		k.WaitHeading("Is this your booking?")
		k.Click("Yes, check in")
		w.fillAtKiosk(k, "Ada", "Lovelace")
		k.WaitHeading("How can we reach you?")
		k.Fill("Email address", "kept@example.com")
		k.Fill("Mobile phone", "+44 20 7946 0101")
		k.Click("Continue")
		k.WaitHeading("What we share")
		if k.Has("input:checked") {
			t.Error("a choice is made before the guest makes it")
		}
		if shares {
			k.Axe()
			k.Script(`document.getElementById("s-contact").click()`)
		}
		k.Click("Continue")
		walkTo(k, "You are checked in")
		if got := w.PMS.SharedGuest(id)["email"]; (got == "kept@example.com") != shares {
			t.Errorf("%s: the PMS got %v", id, got)
		}
		k.Next("I am done", "Check in here")
		w.leavesNothing(k, "Lovelace", "kept@example.com", "100"+id[2:])
	}
}

// A guest shares one of two groups that the property marks, without script. The page says what is never shared, and shows the choice again.
func TestGuestShares(t *testing.T) {
	t.Parallel()
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
