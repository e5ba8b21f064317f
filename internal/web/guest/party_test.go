package guest

import (
	"net/http"
	"strings"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// Where the tablet waits for the answers of a companion, it leads to the number of people. Without the companion, the check-in goes on.
func TestKioskAsksHowManyCame(t *testing.T) {
	f, b := atTablet(t)
	f.share("")
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "details", MissingGuestIds: []string{"gst_1", "gst_2"}}
	if page := b.shows("/k/form/name"); strings.Contains(page.body, "/k/people") {
		t.Error("the form of the main guest leads to the number of people")
	}
	if page := b.shows("/k/form/2.name", "How many people stay?"); !strings.Contains(page.body, `href="/k/people"`) {
		t.Errorf("the form of the companion leads to no other page:\n%s", page.body)
	}
	b.shows("/k/people", "How many people stay?", "Adults", "Children")
	for typed, want := range map[string]string{"": "Enter a number that is possible here.", "0": "Enter a number that is possible here.", "9": "Here you can name up to 8 people.", "two": "Enter a number that is possible here."} {
		a := b.do(http.MethodPost, "/k/people", form("x~adults", typed, "x~children", "0"))
		if a.contains(t, want); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%q adults: status %d", typed, a.status)
		}
		if !strings.Contains(a.body, `maxlength="2" value="`+typed+`" aria-invalid="true"`) {
			t.Errorf("the page does not keep %q:\n%s", typed, a.body)
		}
	}
	b.do(http.MethodPost, "/k/people", form("x~adults", "1", "x~children", "0")).contains(t, "A guest who has answered, or has a link, stays in the list.")
	f.stay.Guests[1].Invited = false
	b.moves("/k/people", form("x~adults", "2", "x~children", "0"), "/k/form")
	b.moves("/k/people", form("x~adults", "1", "x~children", "0"), "/k/form")
	if a := b.get("/k/form"); a.moved != "/k/confirm" {
		t.Errorf("without the companion the tablet moves to %q", a.moved)
	}
	if a := b.get("/k/people"); a.moved != "/k/confirm" {
		t.Errorf("with all answers the page moves to %q", a.moved)
	}
	if a := b.do(http.MethodPost, "/k/people", form("x~adults", "5", "x~children", "0")); a.moved != "/k/confirm" || f.stay.GetAdultCount() != 1 {
		t.Errorf("with all answers the number of people is %d, and the tablet moves to %q", f.stay.GetAdultCount(), a.moved)
	}
}
