package web_test

import (
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// A family checks in at the tablet. Two adults and a child are booked, and one adult and the child came: the guest says so where the tablet
// waits for the answers of the second adult. A number that is too large is refused and kept on the page. The guest says what the PMS may read,
// checks in for both, and leaves nothing behind.
func TestFamilyAtTheTablet(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, err := propertyv1.NewCheckInServiceClient(w.Public).UpdateCheckInSettings(w.Staff(t.Context()), &propertyv1.UpdateCheckInSettingsRequest{
		Settings: &propertyv1.CheckInSettingsChange{MandatoryGroups: &propertyv1.MandatoryGroups{List: []string{"contact"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.book("B-1", "1001", "R101", map[string]any{"adultCount": 2, "childCount": 1})
	k := w.enrol()
	w.atBooking(k)
	k.Click("Yes, check in")
	w.fillAtKiosk(k, "Ada", "Lovelace")
	k.WaitHeading("How can we reach you?")
	if k.Has(`a[href="/k/people"]`) {
		t.Error("the main guest, who is here, is asked how many people stay")
	}
	k.Fill("Email address", "kept@example.com")
	k.Fill("Mobile phone", "+44 20 7946 0101")
	k.Click("Continue")

	k.WaitHeading("What is the name of this guest?")
	k.Next("How many people stay?", "How many people stay?")
	k.Axe()
	k.Tolerate("status of 422")
	k.Fill("Adults", "99")
	k.Click("Continue")
	k.Wait("#errors")
	k.Axe()
	if typed := k.Value("Adults"); typed != "99" {
		t.Errorf("the page does not keep what was typed: %q", typed)
	}
	k.Screenshot("party-wrong")
	k.Fill("Adults", "1")
	k.Fill("Children", "1")
	k.Click("Continue")

	k.WaitHeading("What is the name of this guest?")
	k.Fill("Given names", "Byron")
	k.Fill("Family name", "Lovelace")
	k.Click("Continue")
	k.WaitHeading("How can we reach you?")
	k.Fill("Email address (optional)", "kept@example.com")
	k.Fill("Mobile phone (optional)", "+44 20 7946 0101")
	k.Click("Continue")
	k.WaitHeading("What we share")
	k.Fits()
	k.Script(`document.getElementById("s-contact").click()`)
	k.Click("Continue")
	walkTo(k, "You are checked in")
	if got := w.PMS.SharedGuest("B-1")["email"]; got != "kept@example.com" {
		t.Errorf("the PMS may read the contact, and got %v", got)
	}
	pin := w.pinOn(k)
	w.opens("Room 101", pin)
	if n := w.PMS.CheckInCount("B-1"); n != 1 {
		t.Errorf("the PMS checked the family in %d times", n)
	}
	k.Next("I am done", "Check in here")
	w.leavesNothing(k, "Lovelace", "kept@example.com", pin, "1001")
	for k.Back() {
		w.leavesNothing(k, "Lovelace", "kept@example.com", pin, "1001")
	}
}
