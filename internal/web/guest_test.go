package web

import (
	"net/http"
	"slices"
	"strings"
	"testing"
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
		t.Fatal("to look at the link bound it")
	}
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	b.shows("/g/stays/rsv_1", "Room 204 · Bed 1", "Sat 21 Nov to Mon 23 Nov, until 11:00", "3 things are still to do", "Cannot start yet")

	if a := b.get("/g/stays/rsv_1/form/gst_1"); a.moved != "/g/stays/rsv_1/form/gst_1/name" {
		t.Fatalf("the form opens at %q", a.moved)
	}
	b.shows("/g/stays/rsv_1/form/gst_1/name", "What is your name?", "RD 933/2021", "23 November 2029", "Step 1 of 5")
	b.moves("/g/stays/rsv_1/form/gst_1/name", form("key", pageKey, "firstName", "Ana", "lastName", "Siva"), "/g/stays/rsv_1/form/gst_1/birth")
	// The guest goes back to the same page and corrects an answer.
	b.moves("/g/stays/rsv_1/form/gst_1/name", form("key", pageKey, "firstName", "Ana", "lastName", " Silva "), "/g/stays/rsv_1/form/gst_1/birth")
	b.moves("/g/stays/rsv_1/form/gst_1/birth", form("birthDate.day", "7", "birthDate.month", "Mar.", "birthDate.year", "1990", "sex", "F"), "/g/stays/rsv_1/form/gst_1/document")
	if f.answers["lastName"] != "Silva" || f.answers["birthDate"] != "1990-03-07" {
		t.Errorf("saved: %v", f.answers)
	}
	b.shows("/g/stays/rsv_1/form/check", "Silva", "7 March 1990", "Portugal", "Not provided Kind of document, Number plate, Age, E-mail address, Mobile phone Change")
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

// A wrong answer stays in its field, with a summary, a message at the field, and "Error:" in the title.
func TestWrongAnswersAreKept(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for _, test := range []struct {
		step   string
		posted []string
		faults []fault.Field
		want   []string
	}{
		{"birth", []string{"birthDate.day", "31", "birthDate.month", "feb<", "birthDate.year", "1990"}, []fault.Field{{Path: "answers.birthDate", Reason: "notADate"}},
			[]string{`value="feb&lt;"`, `value="31"`, `href="#f-birthDate"`, `id="f-birthDate"`, "<title>Error: ", `aria-describedby="f-birthDate-wrong"`, "Enter a day that exists"}},
		{"contact", []string{"email", "nobody"}, []fault.Field{{Path: "answers[email]", Reason: "notAnAddress"}, {Path: `answers["mobile"]`, Reason: "unheardOf"}},
			[]string{`value="nobody"`, `aria-invalid="true"`, "Enter an e-mail address", `href="#f-mobile"`, "Answer this question."}},
		{"document", []string{"document.type", "idCard"}, []fault.Field{{Path: "answers.document.issuingCountry", Reason: "notACountry"}},
			[]string{`value="idCard" selected`, `href="#f-document-issuingCountry"`, "Choose a country"}},
	} {
		f.wrong = test.faults
		a := b.do(http.MethodPost, "/g/stays/rsv_1/form/gst_1/"+test.step, form(test.posted...))
		if a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d", test.step, a.status)
		}
		for _, want := range test.want {
			if !strings.Contains(a.body, want) {
				t.Errorf("%s: the page lacks %s:\n%s", test.step, want, a.body)
			}
		}
	}
}

// A field says what the law wants it for. Fields that follow with the same text do not repeat it.
func TestPurposeOfFields(t *testing.T) {
	f := newFake()
	f.form.Steps[2].Fields[0].Purpose, f.form.Steps[2].Fields[1].Purpose = "why.IT.document", "why.IT.document.issuingPlace"
	f.form.Steps[0].Fields[0].Purpose, f.form.Steps[0].Fields[1].Purpose = "why.name", "why.name"
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.wrong = []fault.Field{{Path: "answers.document.issuingCountry", Reason: "notACountry"}}
	page := b.do(http.MethodPost, "/g/stays/rsv_1/form/gst_1/document", form("document.type", "idCard")).body
	for _, want := range []string{
		`<p class="hint" id="f-document-type-why">Italian law asks for the document of the main guest only.`, `aria-describedby="f-document-type-why"`,
		`<p class="hint" id="f-document-issuingCountry-why">`, `aria-describedby="f-document-issuingCountry-wrong f-document-issuingCountry-why"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	if page = b.get("/g/stays/rsv_1/form/gst_1/name").body; strings.Count(page, `-why">`) != 1 {
		t.Errorf("two names of one purpose:\n%s", page)
	}
}

// A question that is open until the departure leads from the stay to its step, and says until when.
func TestQuestionBeforeDeparture(t *testing.T) {
	f := newFake()
	f.stay.Tasks = append(f.stay.Tasks, &guestv1.Task{Kind: "departure", State: "todo", GuestId: "gst_1", Step: "document"})
	f.form.Steps[2].Fields[1].ByDeparture = true
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	if page := b.shows("/g/stays/rsv_1", "Before you leave: where you go next"); !strings.Contains(page.body, `href="/g/stays/rsv_1/form/gst_1/document"`) {
		t.Errorf("the stay does not lead to the question:\n%s", page.body)
	}
	b.shows("/g/stays/rsv_1/form/gst_1/document", "Country of issue (before you leave)")
}

// A guest who comes again confirms the answers of the former stay with one press.
func TestKeptAnswersAreConfirmed(t *testing.T) {
	f := newFake()
	f.form.FromProfile, f.form.Next = true, ""
	f.form.Steps[0].Fields[0].Value, f.form.Steps[0].Fields[1].Value = "Ana", "Silva"
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	if page := b.get("/g/stays/rsv_1/form/check").body; !strings.Contains(page, `<form method="post" action="/g/stays/rsv_1/form/check">`) {
		t.Errorf("the answers cannot be confirmed:\n%s", page)
	}
	b.moves("/g/stays/rsv_1/form/check", form(), "/g/stays/rsv_1")
	if f.answers["firstName"] != "Ana" || f.answers["lastName"] != "Silva" {
		t.Errorf("confirmed: %v", f.answers)
	}
	f.form.FromProfile = false
	if page := b.get("/g/stays/rsv_1/form/check").body; strings.Contains(page, `action="/g/stays/rsv_1/form/check"`) {
		t.Errorf("confirmed answers are confirmed again:\n%s", page)
	}
}

// Without its session a stay answers like one that does not exist.
func TestAnotherStayIsUnknown(t *testing.T) {
	f := newFake()
	b := f.client(t)
	stranger := b.get("/g/stays/rsv_1")
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for _, path := range []string{"/g/stays/rsv_2", "/g/stays/rsv_2/key", "/g/stays/rsv_1/form/gst_9/name", "/g/stays/rsv_1/form/gst_1/unknown", "/g/elsewhere"} {
		a := b.get(path)
		if a.status != http.StatusNotFound || plain(a.body)[:20] != plain(stranger.body)[:20] {
			t.Errorf("%s: status %d: %s", path, a.status, plain(a.body))
		}
	}
	f.stay.Id = "rsv_3"
	if a := b.get("/g/stays/rsv_1"); a.status != http.StatusNotFound || strings.Contains(a.body, "Miramar") {
		t.Errorf("the session of another stay shows it: %d %s", a.status, plain(a.body))
	}
}

// A page shows no input for an answer that the session may not change, and sends none. An answer that it may only replace has a hint.
func TestLockedAnswers(t *testing.T) {
	f := newFake()
	f.form.Steps[0].Fields[1].LockedBy, f.form.Steps[0].Fields[1].Withheld = "guest", true
	f.form.Steps[0].Fields[0].Withheld = true
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	page := b.shows("/g/stays/rsv_1/form/gst_1/name", "Family name This guest answered on a link of their own. Only they can change it.", "Leave it empty to keep the answer.")
	if !strings.Contains(page.body, `name="firstName"`) || strings.Contains(page.body, `name="lastName"`) {
		t.Errorf("inputs of the page: %s", page.body)
	}
	b.do(http.MethodPost, "/g/stays/rsv_1/form/gst_1/name", form("key", pageKey, "firstName", "Ana", "lastName", "Stranger"))
	if _, sent := f.answers["lastName"]; sent || f.answers["firstName"] != "Ana" {
		t.Errorf("sent: %v", f.answers)
	}
	b.shows("/g/stays/rsv_1/form/check", "Family name Answered. Only the person who answered can read it here.")
}

// Countries that guests of the property choose often come first. The chosen one is selected once.
func TestOftenCountriesComeFirst(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for _, s := range f.form.GetSteps() {
		for _, q := range s.GetFields() {
			if q.GetKind() == "country" {
				q.Often, q.Value = []string{"ES", "PT"}, "PT"
				body := b.get("/g/stays/rsv_1/form/gst_1/" + s.GetName()).body
				often, all, ok := strings.Cut(body, `<optgroup label="All countries">`)
				if !ok || !strings.Contains(often, `<option value="ES">Spain</option><option value="PT" selected>`) || strings.Contains(all, " selected") {
					t.Errorf("the list of countries: %s", body)
				}
				return
			}
		}
	}
	t.Fatal("no form asks for a country")
}

// A link that another device has bound offers a new one.
func TestSecondDevice(t *testing.T) {
	f := newFake()
	f.bound = true
	b := f.client(t)
	b.shows("/g/l/"+linkSecret, "This link was opened on another device.")
	b.do(http.MethodPost, "/g/l/"+linkSecret, formOfLink()).contains(t, "This link was opened on another device.")
	b.do(http.MethodPost, "/g/l/"+linkSecret+"/renew", formOfLink()).contains(t, "A new link is on its way")
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

// Each stop of the check-in has its sentence, and unknown ones the API's.
func TestStops(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for _, test := range []struct {
		stage string
		stop  *guestv1.CheckInStop
		want  string
		retry bool // trying again can help
	}{
		{"stopped", &guestv1.CheckInStop{Reason: "owing", Amount: "84.00", Currency: "EUR", Retry: true}, "There is an open amount of 84.00 EUR.", true},
		{"stopped", &guestv1.CheckInStop{Reason: "owing", Retry: true}, "There is an open amount. Pay at the desk", true},
		{"stopped", &guestv1.CheckInStop{Reason: "roomNotReady", Mailed: true, Retry: true}, "We will write to you", true},
		{"stopped", &guestv1.CheckInStop{Reason: "roomNotReady", Retry: true}, "No e-mail reaches you, so try again in a while", true},
		{"stopped", &guestv1.CheckInStop{Reason: "partnerUnavailable", Retry: true}, "does not answer just now", true},
		{"identityCheck", &guestv1.CheckInStop{Reason: "identityCheck"}, "One last look Hold your document ready.", false},
		{"stopped", &guestv1.CheckInStop{Reason: "minorAlone"}, "Please go to the desk An adult has to check in with you.", false},
		{"stopped", &guestv1.CheckInStop{Reason: "stageRefused"}, "Please go to the desk A member of staff will help you with your check-in.", false},
		{"atDesk", &guestv1.CheckInStop{Reason: "atDesk"}, "Please go to the desk Your key waits at the desk.", false},
		{"stopped", &guestv1.CheckInStop{Reason: "unheardOf", Text: "The sky fell.", Retry: true}, "The sky fell.", true},
		{"newStage", nil, "A member of staff helps you to continue.", false},
	} {
		f.stay.CheckIn = &guestv1.CheckIn{Stage: test.stage}
		if test.stop != nil {
			f.stay.CheckIn.Stops = []*guestv1.CheckInStop{test.stop}
		}
		page := b.shows("/g/stays/rsv_1/checkin", test.want)
		if got := strings.Contains(plain(page.body), "Try again"); got != test.retry {
			t.Errorf("%s: the button to try again is there: %t", test.want, got)
		}
		if !test.retry && !strings.Contains(page.body, `data-live="/g/stays/rsv_1/checkin"`) {
			t.Errorf("%s: the page does not follow what staff do", test.want)
		}
	}
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "stopped", Stops: []*guestv1.CheckInStop{{Reason: "owing", Retry: true}, {Reason: "minorAlone"}}}
	if page := b.shows("/g/stays/rsv_1/checkin", "An adult has to check in with you."); strings.Contains(page.body, `value="again"`) {
		t.Error("a minor alone may try again after paying")
	}
	f.stay.CheckIn = &guestv1.CheckIn{Stage: "notToday", OpensOn: "2026-11-21"}
	b.shows("/g/stays/rsv_1/checkin", "Your stay starts on Saturday, 21 November.")
}

// A companion may take over the main guest's address. The Enter key in a field does not: it continues.
func TestSameAddress(t *testing.T) {
	f := newFake()
	f.form.Steps = append(f.form.Steps, &guestv1.FormStep{Name: "address", Fields: []*guestv1.FormField{{Name: "address.street", Kind: "text", Value: "Rua 1"}, {Name: "address.city", Kind: "text"}}})
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	if strings.Contains(b.shows("/g/stays/rsv_1/form/gst_1/address").body, `value="same"`) {
		t.Error("the main guest is offered the own address")
	}
	page := b.shows("/g/stays/rsv_1/form/gst_2/address", "The same as for Ana Silva")
	if !strings.Contains(page.body, `form="same" name="do" value="same"`) {
		t.Error("the button belongs to the form of the answers, so the Enter key presses it")
	}
	b.moves("/g/stays/rsv_1/form/gst_2/address", form("do", "same"), "/g/stays/rsv_1/form/gst_2/name")
	if f.answers["address.street"] != "Rua 1" {
		t.Errorf("saved: %v", f.answers)
	}
}

// Before the day of arrival a stay without open tasks says what happens next, and has a file for the calendar.
func TestReady(t *testing.T) {
	f := newFake()
	f.stay.CheckIn.Stage = "notToday"
	for _, task := range f.stay.GetTasks() {
		task.State = "done"
	}
	b := f.client(t)
	if a := b.get("/g/"); a.status != http.StatusNotFound {
		t.Errorf("a device without a stay: status %d", a.status)
	}
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	if a := b.get("/g/"); a.moved != "/g/stays/rsv_1" {
		t.Errorf("moved to %q", a.moved)
	}
	b.shows("/g/stays/rsv_1", "You can check in on Saturday, 21 November.", "Ready for Saturday, 21 November")
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

// The evidence of a code reads in the guest's words, and a gate with the room's code is not listed again.
func TestEvidence(t *testing.T) {
	f := newFake()
	f.pins.Gates[0].Pin = thePin
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for pin, want := range map[string]string{
		"planned": "Your code is being made ready.", "accepted": "Your code is on the door.", "verified": "Your code works from", "used": "Your code works.",
		"unconfirmed": "Your code should work, but the lock has not confirmed it.", "failed": "Your code is not on the door.",
	} {
		f.start(pin)
		page := b.shows("/g/stays/rsv_1/key", want)
		if strings.Count(plain(page.body), "4 8 0") != 1 {
			t.Errorf("the same code is there twice: %s", plain(page.body))
		}
		sure := pin == "accepted" || pin == "verified" || pin == "used"
		leads := strings.Index(page.body, want) < strings.Index(page.body, `class="pin"`)
		if leads == sure || strings.Contains(page.body, `class="unsure leads"`) == sure {
			t.Errorf("%s: the state leads: %t\n%s", pin, leads, page.body)
		}
	}
	f.start("verified")
	f.stay.OpensAt = timestamppb.New(f.now) // checked in before the stay begins
	b.shows("/g/stays/rsv_1/key", "Your code works. ")
	f.start("queued")
	f.stay.Doors[0].Reason = "lockOffline"
	b.shows("/g/stays/rsv_1/key", "Your code is not on the door. Staff have been told; call the property.")
	f.now = f.stay.GetFrom().AsTime().Add(1)
	f.start("verified")
	b.shows("/g/stays/rsv_1/key", "Your code works. ")
}

// A code that is not shown has its reason: it is being made, it was shown or mailed before, or there is none.
func TestCodeThatIsNotShown(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.pins = nil
	f.start("sent")
	f.stay.PinWithheld = "shownBefore"
	b.shows("/g/stays/rsv_1/key", "Your code was sent to a…@example.com; for safety it is not shown here again.")
	f.stay.CodeMail.State = "waiting"
	b.shows("/g/stays/rsv_1/key", "Your code is on its way to a…@example.com")
	f.stay.CodeMail.State = "failed"
	b.shows("/g/stays/rsv_1/key", "The desk gives it to you.")
	f.stay.CodeMail = nil
	b.shows("/g/stays/rsv_1/key", "The desk gives it to you.")
	f.stay.PinWithheld, f.stay.Doors, f.stay.SpaceName = "otherSession", nil, "" // a session that is not trusted sees neither room nor doors
	b.shows("/g/stays/rsv_1/key", "For safety your code is not shown here again.")
	f.stay.SpaceName = "Bed 1"
	f.start("")
	f.stay.PinWithheld = "noCode"
	f.stay.Doors[0].Reason = "noLock"
	b.shows("/g/stays/rsv_1/key", "Your key waits at the desk.")
	f.stay.Doors = nil
	page := b.shows("/g/stays/rsv_1/key", "Your code is being made ready.")
	if !strings.Contains(page.body, `data-live="/g/stays/rsv_1/key/doors?wait"`) || !strings.Contains(page.body, "Look again") {
		t.Errorf("the page does not wait for the code:\n%s", page.body)
	}
	b.shows("/g/stays/rsv_1/key/doors?wait", "Your code")
	f.start("verified")
	if a := b.get("/g/stays/rsv_1/key/doors?wait"); a.moved != "/g/stays/rsv_1/key" {
		t.Errorf("with the code there the page moves to %q", a.moved)
	}
	f.stay.Doors, f.stay.SpaceName = nil, ""
	b.shows("/g/stays/rsv_1/key", "Your key waits at the desk.")
}

// A companion's own task leads to the companion's form.
func TestCompanion(t *testing.T) {
	f := newFake()
	g := f.stay.GetGuests()
	f.stay.Guests = []*guestv1.StayGuest{g[1], g[0]}
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	if page := b.shows("/g/stays/rsv_1"); !strings.Contains(page.body, `href="/g/stays/rsv_1/form/gst_2"`) {
		t.Errorf("the companion's task leads elsewhere:\n%s", page.body)
	}
	if page := b.shows("/g/stays/rsv_1", "The main guest checks in for the room."); strings.Contains(page.body, `href="/g/stays/rsv_1/checkin"`) {
		t.Errorf("a companion is led to the check-in:\n%s", page.body)
	}
	if to := b.get("/g/stays/rsv_1/checkin").moved; to != "/g/stays/rsv_1" {
		t.Errorf("the companion's check-in leads to %q", to)
	}
}

// A page that cannot be shown says where the guest can go on.
func TestWayOn(t *testing.T) {
	f := newFake()
	b := f.client(t)
	for path, want := range map[string]string{
		"/g/stays/rsv_1": "This page does not exist", "/g/l/lkl_other": "This link does not work any more", "/q/other": "This QR code is not in use",
	} {
		page := b.get(path)
		page.contains(t, want)
		page.contains(t, "Open the")
		if strings.Contains(page.body, "Open my stay") {
			t.Errorf("%s: a device without a stay is led to one", path)
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
