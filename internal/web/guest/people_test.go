package guest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// A companion who has answered keeps the place: the page says so, and the stay stays on the device.
func TestCompanionWhoHasAnswered(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.setCookie("lk-stay-rsv_1", staySession)
	if page := b.shows("/g/stays/rsv_1/people", "Remove this guest", "The answers, links, devices and messages of this guest are deleted."); !strings.Contains(page.body, `<details class="more"><summary>Remove this guest`) {
		t.Errorf("one press removes a guest:\n%s", page.body)
	}
	f.kept = true
	for _, sent := range []url.Values{form("do", "remove"), form("do", "show"), form("do", "invite", "email", "bo@example.com")} {
		a := b.do(http.MethodPost, "/g/stays/rsv_1/people/gst_2", sent)
		a.contains(t, "This guest has answered on a link of their own.")
		if a.status != http.StatusUnprocessableEntity || strings.Contains(a.body, "data-gone") {
			t.Errorf("%v: status %d\n%s", sent, a.status, a.body)
		}
	}
}

// What is wrong is marked and kept, and the text names what is possible.
func TestPeopleMarksWhatIsWrong(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.setCookie("lk-stay-rsv_1", staySession)
	for typed, want := range map[string]string{"": "", "bo(at)example.com": ` value="bo(at)example.com"`} {
		a := b.do(http.MethodPost, "/g/stays/rsv_1/people/gst_2", form("do", "invite", "email", typed))
		a.contains(t, "Enter an email address")
		if !strings.Contains(a.body, `<div class="field is-wrong"><label for="email-gst_2"`) || !strings.Contains(a.body, want+` aria-invalid="true" aria-describedby="email-gst_2-wrong"`) {
			t.Errorf("the page does not mark and keep %q:\n%s", typed, a.body)
		}
	}
	a := b.do(http.MethodPost, "/g/stays/rsv_1/people", form("adults", "0", "children", "0"))
	a.contains(t, "Enter 1 to 30 adults and 0 to 30 children.")
	if !strings.Contains(a.body, `<div class="field is-wrong">`) {
		t.Errorf("the page does not mark the number:\n%s", a.body)
	}
}

// A smaller number of people keeps a companion with a link in the list. The page says so, until the guest is removed.
func TestPeopleSaysWhoStaysInTheList(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.setCookie("lk-stay-rsv_1", staySession)
	const more = "The list has more people than the number below"
	if page := b.shows("/g/stays/rsv_1/people"); strings.Contains(page.body, more) {
		t.Error("the page says that the list has too many people, before the number is changed")
	}
	b.moves("/g/stays/rsv_1/people", form("adults", "1", "children", "0"), "/g/stays/rsv_1/people")
	b.shows("/g/stays/rsv_1/people", more, "If this guest does not come, press “Remove this guest”.")
	b.moves("/g/stays/rsv_1/people/gst_2", form("do", "remove"), "/g/stays/rsv_1/people")
	if page := b.shows("/g/stays/rsv_1/people"); strings.Contains(page.body, more) {
		t.Error("the page says that the list has too many people, after the guest was removed")
	}
}

// A page that does not exist, below a stay that this device has, deletes nothing that the device keeps of the stay.
func TestUnknownPageKeepsTheStay(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.setCookie("lk-stay-rsv_1", staySession)
	for _, path := range []string{"/form/gst_9", "/form/gst_1/nothing", "/nothing", "/key/nothing/more"} {
		if a := b.get("/g/stays/rsv_1" + path); a.status != http.StatusNotFound || strings.Contains(a.body, "data-gone") {
			t.Errorf("%s: status %d\n%s", path, a.status, a.body)
		}
	}
	for _, path := range []string{"/", "/help", "/end"} {
		if a := b.get("/g/stays/rsv_1" + path); a.moved != "/g/stays/rsv_1" {
			t.Errorf("%s moves to %q", path, a.moved)
		}
	}
	f.revoked = true
	if a := b.get("/g/stays/rsv_1/nothing"); a.status != http.StatusGone || !strings.Contains(a.body, "data-gone") {
		t.Errorf("without the session: status %d\n%s", a.status, a.body)
	}
}

// After the end, no guest is invited and no device is added.
func TestEndedStayInvitesNoGuest(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.setCookie("lk-stay-rsv_1", staySession)
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "ended"}
	if page := b.shows("/g/stays/rsv_1", "Your stay"); strings.Contains(page.body, "/people") {
		t.Errorf("the page of the stay leads to the people:\n%s", page.body)
	}
	for _, path := range []string{"/people", "/devices/another"} {
		if a := b.get("/g/stays/rsv_1" + path); a.moved != "/g/stays/rsv_1" {
			t.Errorf("%s moves to %q", path, a.moved)
		}
	}
}

// Before the day of arrival, help is a message, and not a person who comes.
func TestHelpBeforeTheArrival(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.setCookie("lk-stay-rsv_1", staySession)
	for stage, want := range map[string]string{"notToday": "A member of staff answers you by message or phone.", "start": "Please wait here."} {
		f.stay.CheckIn = &guestv1.CheckIn{Stage: stage}
		b.do(http.MethodPost, "/g/stays/rsv_1/help", form("key", pageKey)).contains(t, want)
	}
}
