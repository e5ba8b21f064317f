package guest

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// signature replaces the signature that the tablet's script makes.
var signature = base64.StdEncoding.EncodeToString(make([]byte, 64))

func (b *client) enrol() {
	b.t.Helper()
	b.moves("/k/enrol", form("code", "ABCD-EFGH", "publicKey", base64.StdEncoding.EncodeToString([]byte("key"))), "/k/")
}

func facts(number, name string, more ...string) []string {
	return append([]string{"r4nd0m~number", number, "r4nd0m~name", name, "challenge", "challenge", "signature", signature}, more...)
}

// A guest at the tablet goes from the start page to the code, and leaves nothing behind.
func TestKioskFlow(t *testing.T) {
	f := newFake()
	f.stay.AtKiosk = true
	b := f.client(t)
	if a := b.get("/k/"); a.moved != "/k/enrol" {
		t.Fatalf("a tablet without a token moves to %q", a.moved)
	}
	b.do(http.MethodPost, "/k/enrol", form("code", "wrong", "publicKey", "a2V5")).contains(t, "No tablet waits for this code.")
	b.enrol()
	b.shows("/k/", "Welcome. Check in here.", f.now.In(time.UTC).Format("15:04 · Mon 2 Jan"), "Hostel Miramar", "/q/door_1", "Call for help")
	b.shows("/k/find", "Find your booking")
	b.moves("/k/find", form(facts("8790", "SILVA")...), "/k/you")
	b.shows("/k/you", "Is this your booking?", "Ana Silva", "Room 204 · Bed 1")
	b.moves("/k/confirm", form("do", "start"), "/k/confirm")
	b.shows("/k/confirm", "Is this still right?")
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "details", MissingGuestIds: []string{"gst_2"}}
	if a := b.get("/k/confirm"); a.moved != "/k/form" {
		t.Fatalf("missing details move to %q", a.moved)
	}
	if a := b.get("/k/form"); a.moved != "/k/form/2.name" {
		t.Fatalf("the second guest's form is at %q", a.moved)
	}
	page := b.shows("/k/form/2.name", "What is the name of this guest?")
	if strings.Contains(page.body, `name="firstName"`) || !strings.Contains(page.body, `~firstName"`) || strings.Contains(page.body, "given-name") {
		t.Errorf("the browser could remember the answers:\n%s", page.body)
	}
	b.moves("/k/form/2.name", form("abc~firstName", "Bea", "abc~lastName", "Reis"), "/k/form/2.birth")
	b.moves("/k/form/2.birth", form("x~birthDate.day", "1", "x~birthDate.month", "2", "x~birthDate.year", "1990"), "/k/form/2.document")
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "ready"}
	b.moves("/k/form/2.contact", form("abc~email", "a@example.com"), "/k/form")
	if a := b.get("/k/form"); a.moved != "/k/confirm" {
		t.Fatalf("a complete form moves to %q", a.moved)
	}
	b.moves("/k/confirm", form("do", "complete"), "/k/asking")
	if page := b.shows("/k/asking", "You are checked in"); !strings.Contains(page.body, `href="/k/phone"`) || f.handed != 0 {
		t.Errorf("waiting does not offer the phone, or made a link (%d)", f.handed)
	}
	f.start("sent")
	if a := b.get("/k/asking"); a.moved != "/k/code" {
		t.Fatalf("after the PMS's update the tablet moves to %q", a.moved)
	}
	code := b.shows("/k/code", "4 8 0 2 7 1", "Your code is being made ready.", "We sent it to a…@example.com too.", "I am done")
	if !strings.Contains(code.body, `data-idle="code"`) || !strings.Contains(code.body, `data-live="/k/code/doors"`) {
		t.Errorf("the code does not expire, or its evidence is not refreshed:\n%s", code.body)
	}
	if !strings.Contains(code.body, `class="qr"`) || strings.Contains(code.body, "lkl_") || !strings.Contains(plain(code.body), "Take it to your phone") || f.handed != 1 {
		t.Errorf("no code leads to the guest's phone, or its secret is in the page (%d):\n%s", f.handed, code.body)
	}
	if doors := b.shows("/k/code/doors", "Room 204"); f.handed != 1 || strings.Contains(plain(doors.body), "4 8 0") || f.revealed != 1 {
		t.Errorf("refreshing the doors shows the code again, or uses it up (%d)", f.revealed)
	}
	b.shows("/k/code", "for safety it is not shown here again")
	end := b.do(http.MethodPost, "/k/end", form())
	if end.moved != "/k/" || !strings.Contains(end.header.Get("Clear-Site-Data"), "cache") || f.ended != 1 {
		t.Errorf("the end: to %q, Clear-Site-Data %q, %d sessions ended", end.moved, end.header.Get("Clear-Site-Data"), f.ended)
	}
	for _, path := range []string{"/k/you", "/k/code", "/k/form/name", "/k/confirm", "/k/asking", "/k/stop"} {
		if a := b.get(path); a.moved != "/k/" {
			t.Errorf("after the end %s moves to %q: %s", path, a.moved, plain(a.body))
		}
	}
	b.checkSecrets()
}

// Every screen with a stay leads to the guest's own phone, once: by a button where waiting on the phone helps, otherwise in the foot.
func TestScreensOfferThePhone(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.enrol()
	b.moves("/k/find", form(facts("8790", "Silva")...), "/k/you")
	offers := func(path, stage string, want int) {
		t.Helper()
		f.stay.CheckIn = &guestv1.CheckIn{Stage: stage}
		if page := b.get(path); strings.Count(page.body, `href="/k/phone"`) != want {
			t.Errorf("%s at %s: offers the phone %d times, want %d", path, stage, strings.Count(page.body, `href="/k/phone"`), want)
		}
	}
	offers("/k/you", "start", 1)
	offers("/k/form/2.name", "details", 1)
	offers("/k/confirm", "confirmDetails", 1)
	offers("/k/asking", "waiting", 1)
	offers("/k/phone", "waiting", 0)
	offers("/k/code", "checkedIn", 0)
	offers("/k/", "start", 0)
}

// A stop that the desk ends has the phone in the foot only.
func TestStopOffersThePhone(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.enrol()
	b.moves("/k/find", form(facts("8790", "Silva")...), "/k/you")
	for _, c := range []struct {
		reason string
		retry  bool
	}{{"roomNotReady", true}, {"stageRefused", false}} {
		f.stay.CheckIn = &guestv1.CheckIn{Stage: "stopped", Stops: []*guestv1.CheckInStop{{Reason: c.reason, Retry: c.retry}}}
		page := b.get("/k/stop")
		if button := strings.Contains(page.body, `class="button second" href="/k/phone"`); button != c.retry || strings.Count(page.body, `href="/k/phone"`) != 1 {
			t.Errorf("%s: a button leads to the phone: %v\n%s", c.reason, button, plain(page.body))
		}
	}
}

// The start page ends the session of a guest who left.
func TestStartEndsTheVisit(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.enrol()
	b.moves("/k/find", form(facts("8790", "Silva")...), "/k/you")
	b.shows("/k/")
	if a := b.get("/k/you"); a.moved != "/k/" || f.ended != 1 {
		t.Errorf("the last guest's page moves to %q, %d sessions ended", a.moved, f.ended)
	}
}

// A guest who calls for help at the tablet goes on where the check-in is.
func TestHelpAtTheTabletKeepsTheVisit(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.enrol()
	if page := b.do(http.MethodPost, "/k/help", form()); !strings.Contains(page.body, `href="/k/"`) {
		t.Errorf("without a visit, the page does not lead to the start:\n%s", page.body)
	}
	b.moves("/k/find", form(facts("8790", "Silva")...), "/k/you")
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "identityCheck", Stops: []*guestv1.CheckInStop{{Reason: "identityCheck"}}}
	page := b.do(http.MethodPost, "/k/help", form())
	page.contains(t, "We have notified the staff")
	if !strings.Contains(page.body, `href="/k/confirm"`) || strings.Contains(page.body, "/k/help") {
		t.Errorf("the page does not lead back, or offers help again:\n%s", page.body)
	}
	if a := b.get("/k/confirm"); a.moved != "/k/stop" || f.ended != 0 {
		t.Errorf("the way back moves to %q, %d sessions ended", a.moved, f.ended)
	}
	f.canceled = true // the session ends, but the guest is still at the tablet
	b.do(http.MethodPost, "/k/help", form()).contains(t, "We have notified the staff")
}

// A wrong name, an unknown number, a missing answer and a missing signature read alike.
func TestNotFoundReadsAlike(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.enrol()
	for path, wait := range map[string]string{
		"/k/find": "This kiosk needs 10 minutes Try again after that, ask for help", "/q/door_1": "Too many attempts Try again in 10 minutes, or go to the desk.",
	} {
		for _, sent := range [][]string{facts("8790", "Meyer"), facts("1", "Silva"), facts("", "Silva"), facts("8790", "")} {
			a := b.do(http.MethodPost, path, form(sent...))
			a.contains(t, "We could not find that booking. Check both answers, or ask for help.")
			if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "<title>Error:") {
				t.Errorf("%s: status %d", path, a.status)
			}
		}
		b.do(http.MethodPost, path, form(facts("limit", "Silva")...)).contains(t, wait)
		b.do(http.MethodPost, path, form(facts("day", "Silva")...)).contains(t, "Try again tomorrow")
	}
	b.do(http.MethodPost, "/k/find", form("number", "8790", "name", "Silva")).contains(t, "We could not find that booking.")
}

// Several rooms of one booking: each is chosen by its name, on the tablet and at the door.
func TestChoices(t *testing.T) {
	f := newFake()
	f.choices = []*guestv1.Choice{{Id: "c1", SpaceName: "Room 1", Initials: "A. S."}, {Id: "c2", Initials: "A. S."},
		{Id: "c3", SpaceName: "Dorm 6 · Bed A", Initials: "A. S.", FromDate: "2026-11-21", ToDate: "2026-11-23", Number: "8790"}}
	b := f.client(t)
	b.enrol()
	b.do(http.MethodPost, "/k/find", form(facts("8790", "Silva")...)).contains(t, "Which room is yours?", "Room 1 A. S.", "Room not assigned yet", "Dorm 6 · Bed A A. S. Saturday, 21 November – Monday, 23 November · 8790")
	b.moves("/k/find", form(facts("8790", "Silva", "choice", "c1")...), "/k/you")
	b.do(http.MethodPost, "/q/door_1", form(facts("8790", "Silva")...)).contains(t, "Which room is yours?")
	b.moves("/q/door_1", form(facts("8790", "Silva", "choice", "c2")...), "/g/stays/rsv_1")
	b.shows("/g/stays/rsv_1")
}

// A tablet that the service or the PMS does not answer says so on its start page; a revoked one asks for a code.
func TestClosedKiosk(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.enrol()
	f.kiosk.Closed = "partnerUnavailable"
	closed := b.shows("/k/", "Check-in here is closed for the moment")
	if strings.Contains(closed.body, `href="/k/find"`) {
		t.Error("a closed tablet offers the check-in")
	}
	b.shows("/k/closed", "Check-in here is closed", "+351210000000")
	b.shows("/k/cut", "Go on with your own phone, or at the desk.")
	b.do(http.MethodPost, "/k/help", form()).contains(t, "We have notified the staff")
	f.fails = fault.New(fault.Unavailable, "", "away")
	b.shows("/k/", "Check-in here is closed for the moment")
	b.do(http.MethodPost, "/k/help", form()).contains(t, "The service does not answer just now")
	f.fails = fault.New(fault.Unauthenticated, "", "revoked")
	if a := b.get("/k/"); a.moved != "/k/enrol" {
		t.Errorf("a revoked tablet moves to %q", a.moved)
	}
}

// A guest whom no mail reaches is asked for an address once, after the first press.
func TestKioskAsksForAnAddress(t *testing.T) {
	f := newFake()
	f.stay.NeedsMailAddress = true
	b := f.client(t)
	b.enrol()
	b.moves("/k/find", form(facts("8790", "SILVA")...), "/k/you")
	b.moves("/k/confirm", form("do", "start"), "/k/email")
	b.shows("/k/email", "What is your email address?")
	b.do(http.MethodPost, "/k/email", form("r~email", "x.1@guest.booking.com")).contains(t, "Enter your own address")
	b.moves("/k/email", form("do", "skip"), "/k/confirm")
	b.shows("/k/confirm", "Is this still right?")
	b.moves("/k/email", form("r~email", "ana@example.com"), "/k/confirm")
	if a := b.get("/k/email"); a.moved != "/k/confirm" {
		t.Errorf("a guest with an address moves to %q", a.moved)
	}
}
