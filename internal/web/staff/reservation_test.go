package staff

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/staff"
)

// A mail is sent again unless its kind, its stay or a companion who was removed makes that useless.
func TestMailsThatAreSentAgain(t *testing.T) {
	ana := new("ana@example.com")
	for _, c := range []struct {
		state string
		email *string
		mail  *propertyv1.Mail
		want  bool
	}{
		{"confirmed", ana, &propertyv1.Mail{Kind: "invitation"}, true}, // its recipient is known when it is sent
		{"confirmed", ana, &propertyv1.Mail{Kind: "companion", GuestId: "gst_1", MaskedTo: "b...@example.com"}, true},
		{"confirmed", ana, &propertyv1.Mail{Kind: "companion", GuestId: "gst_1"}, false},
		{"confirmed", ana, &propertyv1.Mail{Kind: "erasure"}, false},
		{"processed", ana, &propertyv1.Mail{Kind: "invitation"}, false},
		{"started", nil, &propertyv1.Mail{Kind: "key", MaskedTo: "a...@example.com"}, true}, // to an address that the guest gave
		{"started", nil, &propertyv1.Mail{Kind: "key"}, false},
	} {
		v := reservationView{Reservation: &propertyv1.Reservation{State: c.state, Email: c.email}}
		if got := v.Resends(c.mail); got != c.want {
			t.Errorf("%s, %v: %t", c.state, c.mail, got)
		}
	}
}

// A reason is there, and fits into the audit log.
func TestWrongReason(t *testing.T) {
	for reason, want := range map[string]string{"": "staff.why.missing", "locked out": "", strings.Repeat("ä", maxReason): "", strings.Repeat("ä", maxReason+1): "problem.tooLong"} {
		if got := wrongReason(reason, "staff.why.missing"); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
		checkTexts(t, want)
	}
}

var (
	factPattern = regexp.MustCompile(`(?s)<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>`)
	tagPattern  = regexp.MustCompile(`<[^>]*>`)
)

// pmsFacts returns the facts of the PMS on the page of a reservation, as "term: value".
func pmsFacts(t *testing.T, f *fakeAPI, language string) (facts []string) {
	t.Helper()
	status, body := f.get(t, "/app/reservations/rsv_1", language)
	_, card, found := strings.Cut(body, `id="pms"`)
	if status != http.StatusOK || !found {
		t.Fatalf("status %d: %s", status, body)
	}
	card, _, _ = strings.Cut(card, "</section>")
	for _, m := range factPattern.FindAllStringSubmatch(card, -1) {
		facts = append(facts, m[1]+": "+strings.TrimSpace(tagPattern.ReplaceAllString(m[2], "")))
	}
	return facts
}

// The page follows its reservation and the locks of its doors.
func TestReservationFollowsItsLocks(t *testing.T) {
	f := &fakeAPI{
		role: staff.FrontDesk, stay: &propertyv1.Reservation{Id: "rsv_1", PmsNumber: "8790", LastName: "Silva", State: "confirmed", From: before(0), To: before(0)},
		doors: []*partnerv1.ExplainedDoor{{DoorId: "spc_1", Name: "101", Verdict: "opens"}, {DoorId: "gat_1", Name: "Front door", Verdict: "opens"}, {DoorId: "gat_2", Name: "Garage", Verdict: "doesNotOpen"}},
		locks: []*propertyv1.Lock{{Id: "lck_1", DoorId: new("spc_1")}, {Id: "lck_2", DoorId: new("gat_1")}},
	}
	if _, body := f.get(t, "/app/reservations/rsv_1", "en"); !strings.Contains(body, `data-feed="/app/live?topics=reservations,locks"`) || !strings.Contains(body, `data-of="rsv_1 lck_1 lck_2"`) {
		t.Errorf("the page follows other changes: %s", body)
	}
}

// The page has every fact that the PMS sent, and no line for one that it did not send.
func TestPageHasTheFactsOfThePMS(t *testing.T) {
	bare := &propertyv1.Reservation{Id: "rsv_1", PmsNumber: "8790", LastName: "Silva", State: "confirmed", PmsId: "B-1", From: before(0), To: before(0)}
	f := &fakeAPI{role: staff.FrontDesk, stay: bare}
	if facts := pmsFacts(t, f, "en"); len(facts) != 5 {
		t.Errorf("without facts of the PMS: %q", facts)
	}
	f.stay = &propertyv1.Reservation{
		Id: "rsv_1", PmsNumber: "8790", LastName: "Silva", State: "confirmed", PmsId: "B-1", From: before(0), To: before(0), IntegrationName: "Mews",
		AdultCount: new(int32(2)), ChildCount: new(int32(0)), Owing: new("84.50"), OwingCurrency: new("EUR"), PmsGroupId: new("G-7"),
		SourceName: new("Booking <site>"), ChannelNumber: new("BK 99"), Email: new("ana@example.com"), Mobile: new("+351 912 345"),
	}
	facts := pmsFacts(t, f, "en")
	for _, want := range []string{
		"PMS: Mews", "Adults: 2", "Children: 0", "Owed: 84.50 EUR", "Group: G-7", "Booked at: Booking &lt;site&gt;", "Number there: BK 99", "Email: ana@example.com", "Mobile: &#43;351 912 345",
	} {
		if !slices.Contains(facts, want) {
			t.Errorf("the page lacks %q: %q", want, facts)
		}
	}
	_, body := f.get(t, "/app/reservations/rsv_1", "en")
	for _, link := range []string{`href="mailto:ana@example.com"`, `href="tel:&#43;351%20912%20345"`} {
		if !strings.Contains(body, link) {
			t.Errorf("the page lacks the link %s", link)
		}
	}
	f.checkIn = &propertyv1.StaffCheckIn{Owing: "20.00", OwingCurrency: "EUR"}
	if facts = pmsFacts(t, f, "de"); !slices.Contains(facts, "Offen: 20,00 EUR") {
		t.Errorf("the page lacks the newer amount of the PMS: %q", facts)
	}
	for _, language := range message.Languages() {
		if facts := pmsFacts(t, f, language); len(facts) != 14 {
			t.Errorf("%s: %q", language, facts)
		}
	}
	if status, _ := f.get(t, "/app/reservations/rsv_2", "en"); status != http.StatusNotFound {
		t.Errorf("an unknown reservation: %d", status)
	}
}

// Everything that a check-out or a room move changes is in a part that an open page loads again, also while the part is empty.
func TestPageOfReservationRefreshesWhatChanges(t *testing.T) {
	f := &fakeAPI{role: staff.FrontDesk, stay: &propertyv1.Reservation{Id: "rsv_1", PmsNumber: "8790", LastName: "Silva", State: "confirmed", From: before(0), To: before(0)}}
	for _, state := range []string{"confirmed", "started", "processed"} {
		f.stay.State = state
		_, body := f.get(t, "/app/reservations/rsv_1", "en")
		for _, id := range []string{"stay", "notes", "doors", "access", "steps", "guests", "pms", "mails", "as-of"} {
			if strings.Count(body, ` id="`+id+`" data-part`) != 1 {
				t.Errorf("%s: the page does not have the part %q once", state, id)
			}
		}
	}
}

// A PIN is shown and replaced only for a stay that has one.
func TestPINActionsNeedAPIN(t *testing.T) {
	f := &fakeAPI{role: staff.Manager, stay: &propertyv1.Reservation{Id: "rsv_1", PmsNumber: "8790", LastName: "Silva", From: before(0), To: before(0)}}
	for _, c := range []struct {
		state, evidence string
		want            bool
	}{
		{"confirmed", "planned", false}, {"confirmed", "removing", false}, {"started", "", false}, {"started", "none", false}, {"started", "sent", true}, {"started", "used", true}, {"processed", "removing", false},
	} {
		f.stay.State, f.doors = c.state, []*partnerv1.ExplainedDoor{{DoorId: "spc_1", Name: "101", Evidence: c.evidence}}
		_, body := f.get(t, "/app/reservations/rsv_1", "en")
		if strings.Contains(body, "/reveal") != c.want || strings.Contains(body, "/replace") != c.want {
			t.Errorf("%+v: %s", c, body)
		}
	}
}

// The form of a one-time code for a guest suggests no former room, which another guest may have.
func TestFormerDoor(t *testing.T) {
	for _, c := range []struct {
		door *partnerv1.ExplainedDoor
		want bool
	}{
		{&partnerv1.ExplainedDoor{Evidence: "planned"}, false}, {&partnerv1.ExplainedDoor{Evidence: "none", Reason: "noLock"}, false},
		{&partnerv1.ExplainedDoor{Evidence: "sent", Reason: "lockOffline"}, false}, {&partnerv1.ExplainedDoor{Evidence: "verified", Reason: "movingOut"}, true},
		{&partnerv1.ExplainedDoor{Evidence: "removing", Reason: "lockOffline"}, true}, {&partnerv1.ExplainedDoor{Evidence: "removed"}, true},
	} {
		if isFormerDoor(c.door) != c.want {
			t.Errorf("%v: %v, want %v", c.door, !c.want, c.want)
		}
	}
}

// The page of the guests says how many answers the role does not see, and shows none of them.
func TestPageOfGuestsSaysWhatIsWithheld(t *testing.T) {
	f := &fakeAPI{role: staff.FrontDesk, stay: &propertyv1.Reservation{Id: "rsv_1", PmsNumber: "8790", LastName: "Silva"}}
	for withheld, want := range map[int32]string{0: "", 1: "1 more answer is stored", 2: "2 more answers are stored"} {
		f.guests = []*propertyv1.GuestData{{Person: &guestv1.Person{FirstName: "Ana"}, Withheld: withheld}}
		status, body := f.get(t, "/app/reservations/rsv_1/guests", "en")
		if status != http.StatusOK || !strings.Contains(body, want) || strings.Contains(body, "neither the law") != (withheld > 0) {
			t.Errorf("%d withheld: status %d: %s", withheld, status, body)
		}
	}
	f.guests = []*propertyv1.GuestData{{Withheld: 3}}
	if _, body := f.get(t, "/app/reservations/rsv_1/guests", "en"); strings.Contains(body, "Nothing was entered yet.") {
		t.Error("the page says that nothing was entered, although answers are withheld")
	}
}
