package guest

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// A guest goes from the mail's link to the code, without script.
func TestGuestFlow(t *testing.T) {
	f := newFake()
	b := f.client(t)

	b.shows("/g/l/"+linkSecret, "Hello A.", "Hostel Miramar", "Saturday, 21 November", "Monday, 23 November")
	if f.bound {
		t.Fatal("the link was bound when its page was read")
	}
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	b.shows("/g/stays/rsv_1", "Room 204 · Bed 1", "Sat 21 Nov to Mon 23 Nov, until 11:00", "3 things are still to do", "Cannot start yet")

	if a := b.get("/g/stays/rsv_1/form/gst_1"); a.moved != "/g/stays/rsv_1/form/gst_1/name" {
		t.Fatalf("the form opens at %q", a.moved)
	}
	b.shows("/g/stays/rsv_1/form/gst_1/name", "What is your name?", "RD 933/2021", "23 November 2029", "Step 1 of 5")
	b.moves("/g/stays/rsv_1/form/gst_1/name", form("key", pageKey, "firstName", "Ana", "lastName", "Siva"), "/g/stays/rsv_1/form/gst_1/birth")
	b.shows("/g/stays/rsv_1/form/check", "Date of birth Still to answer Answer", "Answer what is missing")
	// The guest goes back to the same page and corrects an answer.
	b.moves("/g/stays/rsv_1/form/gst_1/name", form("key", pageKey, "firstName", "Ana", "lastName", " Silva "), "/g/stays/rsv_1/form/gst_1/birth")
	b.moves("/g/stays/rsv_1/form/gst_1/birth", form("birthDate.day", "7", "birthDate.month", "Mar.", "birthDate.year", "1990", "sex", "F"), "/g/stays/rsv_1/form/gst_1/document")
	if f.answers["lastName"] != "Silva" || f.answers["birthDate"] != "1990-03-07" {
		t.Errorf("saved: %v", f.answers)
	}
	b.shows("/g/stays/rsv_1/form/check", "Silva", "7 March 1990", "Portugal", "Kind of document Not provided", "Number plate · Age Not provided", "Email address · Mobile phone Not provided", "All of this is right")
	b.moves("/g/stays/rsv_1/form/arrival", form("time", "17:00"), "/g/stays/rsv_1")
	b.moves("/g/stays/rsv_1/form/rules", form(), "/g/stays/rsv_1")
	child := f.stay.GetGuests()[1]
	child.Minor, child.MayShare = true, true
	share := b.shows("/g/stays/rsv_1/form/share", "The same for a child without a name yet", "never reads: Your home address · Your travel document · Your birth",
		"What the law makes the property keep", "Given names · Family name", "(RD 933/2021)", "cannot be switched off")
	if strings.Contains(share.body, `id="s-keep"`) {
		t.Error("the page asks whether the answers are kept in a session that does not decide it")
	}
	keeps := true
	f.stay.KeepProfile = &keeps
	if a := b.get("/g/stays/rsv_1/form/share"); !strings.Contains(a.body, `id="s-keep" name="keep" value="yes" checked`) {
		t.Error("the page does not show that the answers are kept, and its button would delete them")
	}
	b.moves("/g/stays/rsv_1/form/share", form("key", pageKey, "share.contact", "yes", "minor.gst_2", "yes"), "/g/stays/rsv_1")
	if !slices.Equal(child.GetSharedGroups(), []string{"contact"}) {
		t.Errorf("shared of the child: %v", child.GetSharedGroups())
	}
	if f.stay.GetShared()[0].GetShared() || !f.stay.GetShared()[1].GetShared() || f.stay.GetArrivalTime() != "17:00" {
		t.Errorf("shared %v, arrival %q", f.stay.GetShared(), f.stay.GetArrivalTime())
	}

	checkin := "/g/stays/rsv_1/checkin"
	b.moves(checkin, form("do", "start"), checkin)
	b.shows(checkin, "Is this still right?", "Silva")
	b.moves(checkin, form("do", "confirm"), checkin)
	b.shows(checkin, "Quiet after ten.")
	b.moves(checkin, form("do", "rules"), checkin)
	b.shows(checkin, "All is ready")
	b.moves(checkin, form("do", "complete"), checkin)
	waiting := b.shows(checkin, "You are checked in Your code is being made ready.")
	if !strings.Contains(waiting.body, `<noscript><p><a class="button" href="`+checkin+`">Look again`) {
		t.Error("without script the waiting page cannot be loaded again")
	}
	f.start("verified")
	if a := b.get(checkin); a.moved != "/g/stays/rsv_1/key" {
		t.Fatalf("after the PMS's update the page moves to %q", a.moved)
	}
	b.shows("/g/stays/rsv_1/key", "4 8 0 2 7 1", "Your code works from Sat 21 Nov, 15:00.", "Gate 9 9 1 1 2 2", "Confirmed at 15:00", "Works until Mon 23 Nov, 11:00.")
	b.shows("/g/stays/rsv_1", "Show my code")
	f.stay.AccessUntil = timestamppb.New(f.stay.GetTo().AsTime().Add(3 * time.Hour)) // staff extended the access
	b.shows("/g/stays/rsv_1/key", "Works until Mon 23 Nov, 14:00.")
	for _, page := range []string{"/g/stays/rsv_1/key", "/g/stays/rsv_1"} {
		if !strings.Contains(b.get(page).body, `data-until="2026-11-23T14:00:00`) {
			t.Errorf("%s is kept until another time than the access", page)
		}
	}
	if strings.Contains(b.get("/g/stays/rsv_1").body, "4 8 0") {
		t.Error("the stay shows the code without being asked")
	}
	b.checkSecrets()
}

// checkSecrets fails if a secret or an answer is in an address or in the log.
func (b *client) checkSecrets() {
	b.t.Helper()
	for _, secret := range []string{staySession, kioskToken, thePin, "Silva", linkSecret} {
		for _, to := range b.moved {
			if strings.Contains(to, secret) {
				b.t.Errorf("%q is in the address %s", secret, to)
			}
		}
		if strings.Contains(b.log.String(), secret) {
			b.t.Errorf("%q is in the log: %s", secret, b.log.String())
		}
	}
}

// Without its session a stay answers like one that does not exist.
func TestAnotherStayIsUnknown(t *testing.T) {
	f := newFake()
	b := f.client(t)
	if one, other := b.get("/g/stays/rsv_1"), b.get("/g/stays/rsv_2"); plain(one.body) != plain(other.body) || one.status != http.StatusNotFound {
		t.Errorf("a stay that exists differs for a stranger: %d %s", one.status, plain(one.body))
	}
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for _, path := range []string{"/g/stays/rsv_2", "/g/stays/rsv_2/key", "/g/stays/rsv_1/form/gst_9/name", "/g/stays/rsv_1/form/gst_1/unknown", "/g/elsewhere"} {
		a := b.get(path)
		if a.status != http.StatusNotFound || !strings.HasPrefix(plain(a.body), "This page does not exist") {
			t.Errorf("%s: status %d: %s", path, a.status, plain(a.body))
		}
	}
	f.stay.Id = "rsv_3"
	if a := b.get("/g/stays/rsv_1"); a.status != http.StatusNotFound || strings.Contains(a.body, "Miramar") {
		t.Errorf("the session of another stay shows it: %d %s", a.status, plain(a.body))
	}
}

// A mail program may take words after the link for a part of it.
func TestLinkThatIsTooLong(t *testing.T) {
	b := newFake().client(t)
	if a := b.get("/g/l/" + linkSecret + strings.Repeat("x", 64)); a.status != http.StatusNotFound || !strings.Contains(plain(a.body), "This link does not work") {
		t.Errorf("status %d: %s", a.status, plain(a.body))
	}
}

// A guest who opens the link of the mail again on the same device gets to the stay.
func TestLinkOpenedAgain(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	if a := b.get("/g/l/" + linkSecret); a.moved != "/g/stays/rsv_1" {
		t.Errorf("the link moves to %q, status %d", a.moved, a.status)
	}
}

// A link that another device has bound offers a new one, also if the form is sent twice.
func TestSecondDevice(t *testing.T) {
	f := newFake()
	f.bound = true
	b := f.client(t)
	b.shows("/g/l/"+linkSecret, "This link was opened on another device.")
	b.do(http.MethodPost, "/g/l/"+linkSecret, formOfLink()).contains(t, "This link was opened on another device.")
	for range 2 {
		b.do(http.MethodPost, "/g/l/"+linkSecret+"/renew", formOfLink()).contains(t, "A new link is on its way")
	}
}

// Pages of a property without a mail server promise no mail.
func TestPagesWithoutMailServer(t *testing.T) {
	f := newFake()
	f.bound, f.sendsNoMail = true, true
	b := f.client(t)
	if a := b.shows("/g/l/"+linkSecret, "The property sends no mails now."); strings.Contains(a.body, "Send me a new link") {
		t.Errorf("the page offers a mail:\n%s", a.body)
	}
	f.bound = false
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.stay.SendsNoMail = true
	if a := b.shows("/g/stays/rsv_1/people?sent=gst_2", "The property sends no mails now."); strings.Contains(a.body, "Send a link") || strings.Contains(a.body, "on its way") {
		t.Errorf("the page offers a mail:\n%s", a.body)
	}
}

// A tablet says that the code must be noted if no mail brings it.
func TestKioskWithoutMailServer(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.enrol()
	b.moves("/k/find", form(facts("8790", "SILVA")...), "/k/you")
	f.start("sent")
	f.stay.CodeMail = &guestv1.StayMail{State: "held"}
	b.shows("/k/code", "Note the code: it is not shown here again.")
}

// Before the day of arrival a stay without open tasks says what happens next, and has a file for the calendar.
func TestReady(t *testing.T) {
	f := newFake()
	f.stay.CheckIn.Stage = "notToday"
	for _, task := range f.stay.GetTasks() {
		task.State = "done"
	}
	b := f.client(t)
	b.shows("/g/", "Open your stay", "No stay is open on this device.", "The QR code at the entrance.")
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	if a := b.get("/g/"); a.moved != "/g/stays/rsv_1" {
		t.Errorf("moved to %q", a.moved)
	}
	b.shows("/g/stays/rsv_1", "Ready for Saturday, 21 November")
	f.stay.CheckIn.OpensOn, f.stay.CheckIn.MissingGuestIds = "2026-11-21", nil
	if page := b.shows("/g/stays/rsv_1/checkin", "Your stay starts on Saturday, 21 November. Your details are complete.", "Open my stay"); strings.Contains(page.body, "Fill in my details") {
		t.Error("the guest is asked for details that are complete")
	}
	f.stay.Property = proto.CloneOf(theProperty)
	f.stay.Property.Address = strings.Repeat("Ça é o Miramar, ", 20)
	for _, line := range strings.Split(b.get("/g/stays/rsv_1/calendar").body, "\r\n") {
		if len(line) > 75 || !utf8.ValidString(line) {
			t.Errorf("a line of %d octets: %q", len(line), line)
		}
	}
	if unfolded := strings.ReplaceAll(b.get("/g/stays/rsv_1/calendar").body, "\r\n ", ""); !strings.Contains(unfolded, "LOCATION:"+strings.Repeat(`Ça é o Miramar\, `, 20)) {
		t.Errorf("unfolded: %s", unfolded)
	}
	f.stay.Property = theProperty
	a := b.shows("/g/stays/rsv_1/calendar", "BEGIN:VEVENT UID:rsv_1 DTSTAMP:20261120T120000Z DTSTART:20261121T150000Z DTEND:20261123T110000Z", "SUMMARY:Stay at Hostel Miramar", `LOCATION:Rua do Mar 1\n1100 Lisboa`)
	if strings.Contains(a.body, "Silva") || a.header.Get("Content-Type") != "text/calendar; charset=utf-8" {
		t.Errorf("%v %s", a.header, a.body)
	}
}

// A page that cannot be shown says where the guest can go on.
func TestWayOn(t *testing.T) {
	f := newFake()
	b := f.client(t)
	for path, want := range map[string]string{
		"/g/stays/rsv_1": "Paste a link of your stay", "/g/l/lkl_other": "This link does not work", "/q/other": "This QR code is not in use",
	} {
		page := b.get(path)
		page.contains(t, want)
		if strings.Contains(page.body, `href="/g/stays/`) {
			t.Errorf("%s: a device without a stay is led to one", path)
		}
		if page.status == http.StatusNotFound && want != "Paste a link of your stay" && !strings.Contains(page.body, `<a class="button" href="/g/">Open your stay</a>`) {
			t.Errorf("%s leads nowhere:\n%s", path, page.body)
		}
	}
	b.shows("/q/door_1", "Questions? Hostel Miramar helps you. Call +351210000000")
	b.shows("/g/l/"+linkSecret, "Questions? Hostel Miramar helps you. Call +351210000000")
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	if page := b.get("/g/l/lkl_other"); !strings.Contains(page.body, `href="/g/stays/rsv_1"`) {
		t.Errorf("no way to the stay of this device:\n%s", page.body)
	}
	f.fails = fault.New(fault.Unavailable, "", "away")
	if page := b.get("/q/door_1"); !strings.Contains(page.body, `href="/q/door_1"`) {
		t.Errorf("no way to load the page again:\n%s", page.body)
	}
	f.fails = fault.New(fault.Unauthenticated, "", "ended")
	if page := b.get("/g/stays/rsv_1"); strings.Contains(page.body, "Open my stay") {
		t.Errorf("a stay that has ended leads to itself:\n%s", page.body)
	}
	if a := b.get("/g/"); a.moved != "" {
		t.Errorf("the device keeps a session that has ended: %s", a.moved)
	}
}

// A page that ended the session, or that called staff, offers no call that fails or that repeats the first.
func TestHelpIsOfferedOnce(t *testing.T) {
	b := newFake().client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	b.shows("/g/stays/rsv_1", "I would rather be helped")
	for _, path := range []string{"/g/stays/rsv_1/help", "/g/stays/rsv_1/end"} {
		a := b.do(http.MethodPost, path, form("key", pageKey))
		a.contains(t, "+351210000000")
		if strings.Contains(a.body, "/help") {
			t.Errorf("%s offers help:\n%s", path, a.body)
		}
	}
}
