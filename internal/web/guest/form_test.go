package guest

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
)

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
		{"contact", []string{"email", "no-address"}, []fault.Field{{Path: "answers[email]", Reason: "notAnAddress"}, {Path: `answers["mobile"]`, Reason: "unheardOf"}},
			[]string{`value="no-address"`, `aria-invalid="true"`, "<strong>Email address</strong> Enter an email address", `href="#f-mobile"`, "Answer this question."}},
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

// A guest who names more people than the session may, or types no number, reads what is wrong, and keeps what was typed.
func TestPartyThatIsRefused(t *testing.T) {
	b := newFake().client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for typed, problem := range map[string]string{"9": "up to 8 people", "two": "Enter 1 to 30 adults and 0 to 30 children.", "": "Enter 1 to 30 adults and 0 to 30 children."} {
		a := b.do(http.MethodPost, "/g/stays/rsv_1/people", form("adults", typed, "children", "1"))
		if a.status != http.StatusUnprocessableEntity {
			t.Errorf("%q: status %d", typed, a.status)
		}
		for _, want := range []string{problem, `id="f-adults-wrong"`, `href="#f-adults"`, `value="` + typed + `" aria-invalid="true" aria-describedby="f-adults-wrong"`, `name="children" inputmode="numeric" size="3" maxlength="2" value="1"`} {
			if !strings.Contains(a.body, want) {
				t.Errorf("%q: the page lacks %s:\n%s", typed, want, a.body)
			}
		}
	}
}

// A guest whose arrival time is refused reads the question again with an error, and keeps the time that is stored.
func TestArrivalThatIsRefused(t *testing.T) {
	f := newFake()
	f.stay.ArrivalTime = "19:00"
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	a := b.do(http.MethodPost, "/g/stays/rsv_1/form/arrival", form("time", "noon"))
	if a.status != http.StatusUnprocessableEntity {
		t.Errorf("status %d", a.status)
	}
	for _, want := range []string{"<title>Error: ", `href="#f-time"`, `id="f-time-wrong"`, `aria-invalid="true"`, "Choose one of the answers", `<option value="19:00" selected>`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("the page lacks %s:\n%s", want, a.body)
		}
	}
}

// A main guest whose date of birth is not known gets no link for a minor, and reads at the form of this guest what to do first.
func TestMinorGetsNoLinkBeforeTheMainGuestsAgeIsKnown(t *testing.T) {
	f := newFake()
	f.minorCompanion = true
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for _, sent := range []url.Values{form("do", "show"), form("do", "invite", "email", "bo@example.com")} {
		a := b.do(http.MethodPost, "/g/stays/rsv_1/people/gst_2", sent)
		if a.status != http.StatusUnprocessableEntity {
			t.Errorf("%v: status %d", sent, a.status)
		}
		for _, want := range []string{"Enter your own date of birth first", `href="#link-gst_2"`, `id="link-gst_2"`, `id="link-gst_2-wrong"`} {
			if !strings.Contains(a.body, want) {
				t.Errorf("%v: the page lacks %s:\n%s", sent, want, a.body)
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
	maps.Copy(f.answers, map[string]string{"birthDate": "1990-03-07", "sex": "F"})
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

// A page shows no input for an answer that the session may not change, and sends none. An answer that it may only replace has a hint.
func TestLockedAnswers(t *testing.T) {
	f := newFake()
	f.form.Steps[0].Fields[1].LockedBy, f.form.Steps[0].Fields[1].Withheld = "guest", true
	f.form.Steps[0].Fields[0].Withheld = true
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	page := b.shows("/g/stays/rsv_1/form/gst_1/name", "Family name Ana answered this on a link of their own. Only Ana can change it.", "Leave it empty to keep the answer.")
	if !strings.Contains(page.body, `name="firstName"`) || strings.Contains(page.body, `name="lastName"`) {
		t.Errorf("inputs of the page: %s", page.body)
	}
	b.do(http.MethodPost, "/g/stays/rsv_1/form/gst_1/name", form("key", pageKey, "firstName", "Ana", "lastName", "Stranger"))
	if _, sent := f.answers["lastName"]; sent || f.answers["firstName"] != "Ana" {
		t.Errorf("sent: %v", f.answers)
	}
	b.shows("/g/stays/rsv_1/form/check", "Family name Answered. Only the person who answered can read it here.")
}

// A locked answer names who gave it, if the device may read the name: the guest of the form, or the main guest, who has the link of the mail.
func TestLockedAnswersNameWhoGaveThem(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	main, own := f.stay.Guests[0], f.stay.Guests[1]
	main.FirstName, own.FirstName = "Ana", "<Bo>"
	for _, c := range []struct{ by, guest, mainName, ownName, want string }{
		{"mailLink", own.GetId(), "Ana", "<Bo>", "Ana answered this with the link of the mail. To change it, open that link, or ask at the desk."},
		{"mailLink", main.GetId(), "Ana", "<Bo>", "Ana answered this with the link of the mail. To change it, open that link, or ask at the desk."},
		{"mailLink", own.GetId(), "", "", "Answered with the link in your mail. To change it, open that link, or ask at the desk."},
		{"guest", own.GetId(), "Ana", "<Bo>", "&lt;Bo&gt; answered this on a link of their own. Only &lt;Bo&gt; can change it."},
		{"guest", own.GetId(), "Ana", "", "This guest answered on a link of their own. Only they can change it."},
		{"another", own.GetId(), "Ana", "<Bo>", "Answered. Only the person who answered can read it here."},
	} {
		main.FirstName, own.FirstName = c.mainName, c.ownName
		f.form.GuestId = c.guest
		f.form.Steps[0].Fields[1].LockedBy = c.by
		b.shows("/g/stays/rsv_1/form/"+c.guest+"/name", c.want)
	}
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

// A step that the browser sends twice with one key leads on both times, although the API shows its answer once.
func TestStepThatIsSentTwice(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.setCookie("lk-stay-rsv_1", staySession)
	f.shownOnce = true
	b.moves("/g/stays/rsv_1/form/gst_1/name", form("key", pageKey, "firstName", "Ana", "lastName", "Silva"), "/g/stays/rsv_1/form/gst_1/birth")
}

// While answers to come decide how many steps the form has, the page promises the largest number. A form of one step has no count.
func TestCountOfSteps(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	const page = "/g/stays/rsv_1/form/gst_1/"
	f.form.MinSteps, f.form.MaxSteps = 2, 7
	b.shows(page+"birth", "Step 2 of at most 7")
	f.form.MaxSteps = 5
	b.shows(page+"birth", "Step 2 of at most 5")
	f.form.MinSteps = 5
	b.shows(page+"birth", "Step 2 of 5")
	f.form.Steps, f.form.MinSteps, f.form.MaxSteps = f.form.GetSteps()[:1], 1, 2
	b.shows(page+"name", "Step 1 of at most 2")
	f.form.MaxSteps = 1
	if a := b.get(page + "name"); strings.Contains(a.body, `class="count`) {
		t.Errorf("a form of one step counts: %s", plain(a.body))
	}
}

// A guest who sends answers after the stay reads that nothing was saved, and why. The pages of the form then lead to the stay.
func TestFormAfterTheStay(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.stay.State, f.stay.CheckIn.Stage = "processed", "ended"
	const page = "/g/stays/rsv_1/form/gst_1"
	a := b.do(http.MethodPost, page+"/name", form("key", pageKey, "firstName", "Ana", "lastName", "Silva"))
	a.contains(t, "Your stay has ended Nothing was saved, because the stay is over.")
	if a.status != http.StatusConflict || !strings.Contains(a.body, `href="/g/stays/rsv_1"`) {
		t.Errorf("status %d: %s", a.status, plain(a.body))
	}
	if len(f.answers) > 0 {
		t.Errorf("saved: %v", f.answers)
	}
	for _, path := range []string{page, page + "/name", "/g/stays/rsv_1/form/check"} {
		if a := b.get(path); a.moved != "/g/stays/rsv_1" {
			t.Errorf("%s moves to %q, status %d", path, a.moved, a.status)
		}
	}
	b.shows("/g/stays/rsv_1/form/share", "What we share")
}

// The heading of a page of the form asks for what the page asks for.
func TestStepTitle(t *testing.T) {
	for _, c := range []struct {
		step   string
		fields []string
		other  bool
		want   string
	}{
		{"name", []string{"firstName"}, false, "form.name"},
		{"name", []string{"firstName"}, true, "form.name.other"},
		{"birth", []string{"birthDate", "birthPlace"}, false, "form.birth"},
		{"birth", []string{"birthDate", "sex"}, false, "form.birth.date"},
		{"birth", []string{"sex"}, true, "form.birth.sex"},
	} {
		step := &guestv1.FormStep{Name: c.step}
		for _, f := range c.fields {
			step.Fields = append(step.Fields, &guestv1.FormField{Name: f})
		}
		if got := stepTitle(step, c.other); got != c.want || !message.Has(got) {
			t.Errorf("%s %v: %s, not %s", c.step, c.fields, got, c.want)
		}
	}
}
