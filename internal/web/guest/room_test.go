package guest

import (
	"strings"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// The page of the stay lists the people in the room with their state, and no code. A guest alone has no list. It has a place for what the phone
// keeps, which its script fills.
func TestStayShowsPeopleAndWhatIsKept(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.stay.Guests[0].Complete = true
	page := b.shows("/g/stays/rsv_1", "People in the room Ana Silva +1", "Ana Silva Done", "Adult To do", "Saved on this phone")
	if strings.Contains(page.body, thePin) {
		t.Error("the page has a code")
	}
	f.stay.Guests[0].FirstName, f.stay.Guests[0].LastName = "محمد", "الأنصاري"
	if page := b.shows("/g/stays/rsv_1"); !strings.Contains(page.body, "<bdi>محمد الأنصاري</bdi> <bdi>+1</bdi>") {
		t.Errorf("a name from right to left takes the number of the others into itself:\n%s", page.body)
	}
	f.stay.Guests = []*guestv1.StayGuest{f.stay.Guests[0]}
	if page := b.shows("/g/stays/rsv_1", "Your stay"); strings.Contains(page.body, "People in the room") {
		t.Error("a guest alone has a list of people")
	}
}

// A page that says what is wrong has the phone number of the property once, and a page without a property or a look has no footer.
func TestPhoneNumberOnce(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.canceled = true
	for _, path := range []string{"/g/l/" + linkSecret, "/g/stays/rsv_1"} {
		if n := strings.Count(b.get(path).body, `href="tel:`); n != 1 {
			t.Errorf("%s has the number %d times", path, n)
		}
	}
	for _, path := range []string{"/g/k", "/g/offline"} {
		if a := b.get(path); strings.Contains(a.body, "<footer") {
			t.Errorf("%s has an empty footer", path)
		}
	}
}
