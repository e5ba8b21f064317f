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
	for typed, want := range map[string]string{"": "Enter 1 to 30 adults and 0 to 30 children.", "0": "Enter 1 to 30 adults and 0 to 30 children.", "9": "Here you can name up to 8 people.", "two": "Enter 1 to 30 adults and 0 to 30 children."} {
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
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "confirmDetails"}
	b.shows("/k/confirm", "How many people stay?")
	b.shows("/k/people", "How many people stay?")
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "ready"}
	if a := b.get("/k/people"); a.moved != "/k/confirm" {
		t.Errorf("with confirmed answers the page moves to %q", a.moved)
	}
	if a := b.do(http.MethodPost, "/k/people", form("x~adults", "5", "x~children", "0")); a.moved != "/k/confirm" || f.stay.GetAdultCount() != 1 {
		t.Errorf("with all answers the number of people is %d, and the tablet moves to %q", f.stay.GetAdultCount(), a.moved)
	}
}

// A guest whose PMS sent no number of people corrects it, at the tablet and on the own device, before the check-in. A companion does not.
func TestAGuestAloneCorrectsThePartySize(t *testing.T) {
	f, b := atTablet(t)
	f.stay.Guests, f.stay.AdultCount, f.stay.Tasks = f.stay.Guests[:1], 1, nil
	if page := b.shows("/k/you", "How many people stay?"); !strings.Contains(page.body, `href="/k/people"`) {
		t.Errorf("the first page of the tablet leads to no other number of people:\n%s", page.body)
	}
	if page := b.shows("/k/people", "How many people stay?"); !strings.Contains(page.body, `<a href="/k/you">Back`) {
		t.Errorf("the page leads back elsewhere:\n%s", page.body)
	}
	b.setCookie("lk-stay-rsv_1", staySession)
	for stage, offers := range map[string]bool{"notToday": true, "start": true, "details": true, "confirmDetails": true, "stopped": true, "waiting": false, "ended": false} {
		f.stay.CheckIn = &guestv1.CheckIn{Stage: stage, OpensOn: "2026-11-21"}
		if page := b.shows("/g/stays/rsv_1", "Your stay"); strings.Contains(page.body, "/people") != offers {
			t.Errorf("%s: offers another number of people: %v", stage, !offers)
		}
	}
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "start"}
	f.stay.Guests[0].Role = "companion"
	if page := b.shows("/g/stays/rsv_1", "The main guest checks in for the room."); strings.Contains(page.body, "/people") || strings.Contains(page.body, "You can check in now") {
		t.Errorf("a companion changes the party:\n%s", page.body)
	}
}

// Companions without a name have different labels, and the questions about them say that they are about another guest.
func TestNamelessCompanionsHaveLabels(t *testing.T) {
	f, b := atTablet(t)
	f.stay.Guests = []*guestv1.StayGuest{{Id: "gst_1", Role: "main"}, {Id: "gst_2", Role: "companion"}, {Id: "gst_3", Role: "companion"}, {Id: "gst_4", Role: "companion", Child: true}}
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "details", MissingGuestIds: []string{"gst_1", "gst_2", "gst_3", "gst_4"}}
	for path, want := range map[string]string{"2.name": "Adult 2", "3.name": "Adult 3", "4.name": "Child"} {
		b.shows("/k/form/"+path, want+" What is the name of this guest?")
	}
	b.shows("/k/form/name", "What is your name?")
	b.setCookie("lk-stay-rsv_1", staySession)
	b.shows("/g/stays/rsv_1/checkin", "Main guest", "Adult 2", "Adult 3", "Child")
}

// A mistyped year of birth makes an adult a minor. The stop leads to the correction, unless the session may not change the date.
func TestMinorAloneCorrectsTheDateOfBirth(t *testing.T) {
	f, b := atTablet(t)
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "stopped", Stops: []*guestv1.CheckInStop{{Reason: "minorAlone"}}}
	if page := b.shows("/k/stop", "An adult has to check in with you.", "Is the date of birth wrong?"); !strings.Contains(page.body, `href="/k/form/birth?check"`) {
		t.Errorf("the stop leads to no correction:\n%s", page.body)
	}
	f.form.Steps[1].Fields[0].LockedBy = "guest"
	if page := b.get("/k/stop"); strings.Contains(page.body, "birth?check") {
		t.Error("the stop offers a change that the session may not make")
	}
}
