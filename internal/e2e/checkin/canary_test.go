package checkin

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/logtest"
)

// Values that occur nowhere by chance.
const (
	bookerEmail = "buchungskanaria@example.com"
	drawing     = "17,23 931,377;411,389 402,13"
)

// canaryValue returns an unusual value for each kind of field. A choice and a country have too few values to be recognised.
func canaryValue(f *guestv1.FormField) (value string, unusual bool) {
	switch f.GetKind() {
	case "choice":
		return f.GetOptions()[0], false
	case "country":
		return "US", false // asks for a visa and the day of entry
	case "date":
		return map[string]string{"birthDate": "1931-07-23", "document.issueDate": "2019-05-17", "entryDate": "2026-02-11"}[f.GetName()], true
	case "email":
		return "antwortkanaria@example.net", true
	case "phone":
		return "+351912884777", true
	}
	return "kanar" + f.GetName()[strings.LastIndex(f.GetName(), ".")+1:], true
}

// A guest who fills in every field, signs, shares all with the PMS and checks in leaves none of it in a log, a job, an event, a notice or
// another column that is not sealed.
func TestNothingOfACheckInIsReadable(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		log := &logtest.Buffer{}
		w := &world{e2etest.Open(t, e2etest.Database(url), func(c *sandbox.Config) {
			c.Play = true
			c.Options.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		}), t}
		secrets, _ := w.checkInWithCanaries()
		d, err := db.Open(t.Context(), db.Config{URL: url})
		w.must(err)
		defer func() { w.must(d.Close()) }()
		found, rows := dbtest.Text(t, d)
		found["the log"] = log.String()
		if rows < 20 || len(secrets) < 20 || len(found["the log"]) == 0 {
			t.Fatalf("%d rows, %d values and %d bytes of log: too few to prove anything", rows, len(secrets), len(found["the log"]))
		}
		if !strings.Contains(found["reservations"], "N-CANARY") {
			t.Fatal("the search does not find what is readable")
		}
		for what, value := range secrets {
			if len(value) < 8 {
				t.Fatalf("%s is %q: too short to be recognised", what, value)
			}
			for where, text := range found {
				if at := strings.Index(strings.ToLower(text), strings.ToLower(value)); at >= 0 {
					t.Errorf("%s holds %s: %q", where, what, text[max(0, at-80):min(len(text), at+80)])
				}
			}
		}
	})
}

// checkInWithCanaries walks the whole way of a guest and returns the values that must not be readable, by what they are, and the guest.
func (w *world) checkInWithCanaries() (map[string]string, *guest) {
	w.t.Helper()
	secrets := map[string]string{
		"the booker's first name": "Vornamenkanaria", "the booker's last name": "Nachnamenkanaria", "the booker's address": bookerEmail,
		"the booker's number": "+351912990113", "the signature": drawing, "the signature as an image": "M17 23L931 377",
	}
	length := int32(8)
	_, err := propertyv1.NewPropertyServiceClient(w.Public).UpdateProperty(w.Staff(w.t.Context()), &propertyv1.UpdatePropertyRequest{Settings: &propertyv1.PropertySettings{PinLength: &length}})
	w.must(err)
	o, err := w.Do(w.t.Context(), w.Owner(), "PATCH", "/v1/property/checkIn/settings", map[string]any{"settings": map[string]any{
		"rule": "HU", "signature": "drawn", "identityCheck": "none", "fields": map[string]any{"list": []any{map[string]any{"name": "plate", "label": "Number plate"}}},
		"mandatoryGroups": map[string]any{"list": []any{"identity", "contact", "home", "document", "birth"}},
	}})
	if err != nil || !o.OK() {
		w.t.Fatal(o, err)
	}
	e2etest.PushReservation(w.t, w.World, "canary", map[string]any{
		"pmsNumber": "N-CANARY", "state": "confirmed", "roomId": "R101", "adultCount": 1,
		"booker": map[string]any{
			"firstName": secrets["the booker's first name"], "lastName": secrets["the booker's last name"], "email": bookerEmail, "mobile": secrets["the booker's number"],
		},
	})
	link := w.linkMailedTo(bookerEmail)
	secrets["the link"] = link
	g := w.bind(link)
	forms := guestv1.NewFormServiceClient(w.Public)
	stay, err := guestv1.NewStayServiceClient(w.Public).GetStay(g.as, &guestv1.GetStayRequest{})
	w.must(err)
	guestID := stay.GetData().GetGuests()[0].GetId()
	var form *guestv1.Form
	for range 2 { // answers bring more questions
		read, err := forms.GetForm(g.as, &guestv1.GetFormRequest{GuestId: guestID})
		w.must(err)
		for _, step := range read.GetData().GetSteps() {
			answers := map[string]string{}
			for _, f := range step.GetFields() {
				if byLaw := f.GetReason() != "property"; byLaw != (f.GetPurpose() != "") || byLaw != (f.GetWhy() != "") {
					w.t.Errorf("why %s is asked: %q, %q", f.GetName(), f.GetPurpose(), f.GetWhy())
				}
				value, unusual := canaryValue(f)
				if answers[f.GetName()] = value; unusual {
					secrets["the answer "+f.GetName()] = value
				}
			}
			saved, err := forms.SaveStep(g.as, &guestv1.SaveStepRequest{GuestId: guestID, Step: step.GetName(), Answers: answers})
			w.must(err)
			form = saved.GetData()
		}
	}
	if form.GetNext() != "" || form.GetSignature().GetShown() == "" {
		w.t.Fatalf("the form is not complete: next %q, signature %s", form.GetNext(), form.GetSignature().GetState())
	}
	_, err = forms.SignForm(g.as, &guestv1.SignFormRequest{GuestId: guestID, Shown: form.GetSignature().GetShown(), Drawing: drawing})
	w.must(err)
	_, err = forms.SetSharing(g.as, &guestv1.SetSharingRequest{Groups: []string{"identity", "contact", "home", "document", "birth"}, KeepProfile: true})
	w.must(err)
	_, err = g.api().StartCheckIn(g.as, &guestv1.StartCheckInRequest{})
	w.must(err)
	_, err = g.api().ConfirmDetails(g.as, &guestv1.ConfirmDetailsRequest{})
	w.must(err)
	_, err = forms.AcceptHouseRules(g.as, &guestv1.AcceptHouseRulesRequest{})
	w.must(err)
	_, err = g.api().CompleteCheckIn(g.as, &guestv1.CompleteCheckInRequest{})
	w.must(err)
	g.awaits("checkedIn")
	g.awaitsCode()
	pin, err := g.pin()
	w.must(err)
	if len(pin) != 8 {
		w.t.Fatalf("the PIN has %d digits", len(pin))
	}
	secrets["the PIN"] = pin
	w.awaitKeyMail()
	return secrets, g
}

// awaitKeyMail waits for the mail with the PIN, so that its job and its text are stored.
func (w *world) awaitKeyMail() {
	w.t.Helper()
	mails := propertyv1.NewMailServiceClient(w.Public)
	w.Await("the mail with the code", func(ctx context.Context) (bool, error) {
		listed, err := mails.ListMails(w.Staff(ctx), &propertyv1.ListMailsRequest{PageSize: 200})
		for _, m := range listed.GetData().GetList() {
			if m.GetKind() == "key" && m.GetState() == "mailbox" {
				return true, nil
			}
		}
		return false, err
	})
}
