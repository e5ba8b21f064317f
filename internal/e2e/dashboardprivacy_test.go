package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// TestGuestDataOnThePages downloads and erases a guest's data on the pages of staff. A proof of 15 minutes ago is not enough for either.
func TestGuestDataOnThePages(t *testing.T) {
	t.Parallel()
	now := &e2etest.Offset{}
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Options.Clock = now })
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	e2etest.PushReservation(t, w, "B-1", map[string]any{"pmsNumber": "1001", "state": "confirmed", "roomId": "R101", "adultCount": 1, "booker": map[string]any{"lastName": "Lovelace", "email": "lovelace@example.com"}})
	guests := s.stay("1001") + "/guests"
	download := func(guest string) shown { return s.do(http.MethodPost, guests+"/data", url.Values{"guest": {guest}}) }
	file := download("")
	var held struct {
		Stay struct {
			PMSNumber string
			Booker    struct{ LastName string }
		}
	}
	if err := json.Unmarshal([]byte(file.text), &held); err != nil || held.Stay.Booker.LastName != "Lovelace" || held.Stay.PMSNumber != "1001" {
		t.Errorf("the copy: %d, %v: %s", file.status, err, file.text)
	}
	if a := download("gst_0"); a.status != http.StatusNotFound {
		t.Errorf("the copy of a guest of no stay: %d", a.status)
	}
	erase := func(form url.Values) shown { return s.do(http.MethodPost, guests+"/erase", form) }
	if a := erase(url.Values{}); a.status != http.StatusUnprocessableEntity || strings.Count(a.text, "Tick this if the guest asked for it.") != 2 {
		t.Errorf("without the confirmation: %d to %q", a.status, a.moved)
	}
	now.Set(15 * time.Minute)
	sure := url.Values{"sure": {"yes"}}
	for _, a := range []shown{erase(sure), download("")} {
		if !strings.HasPrefix(a.moved, "/app/login?again") {
			t.Errorf("15 minutes after the sign-in: %d to %q", a.status, a.moved)
		}
	}
	s.do(http.MethodPost, "/app/login", url.Values{"email": {"ada@example.com"}, "password": {password}})
	if a := erase(sure); a.moved != strings.TrimSuffix(guests, "/guests")+"?done=erasure" {
		t.Errorf("erase: %d to %q", a.status, a.moved)
	}
	found, err := propertyv1.NewPrivacyServiceClient(w.Public).ListErasures(w.Staff(t.Context()), &propertyv1.ListErasuresRequest{})
	if list := found.GetData().GetList(); err != nil || len(list) != 1 || list[0].GetRequestedByName() != "Ada" || !list[0].GetErasure().GetWholeParty() {
		t.Errorf("the erasures: %v, %v", list, err)
	}
	if a := s.do(http.MethodGet, "/app/settings/retention", nil); !strings.Contains(a.text, "requested by Ada") {
		t.Error("the page of the retention times does not list the erasure")
	}
}

// TestResendMailOnThePage sends a mail of a stay again on its page, to the guest's present address.
func TestResendMailOnThePage(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	booker := map[string]any{"lastName": "Lovelace", "email": "lovelace@example.com"}
	booking := map[string]any{"pmsNumber": "1001", "state": "confirmed", "roomId": "R101", "adultCount": 1, "booker": booker}
	e2etest.PushReservation(t, w, "B-1", booking)
	stay := s.stay("1001")
	s.do(http.MethodPost, stay, url.Values{"do": {"resend"}})
	mails := func() []*propertyv1.Mail {
		found, err := propertyv1.NewMailServiceClient(w.Public).ListMails(w.Staff(t.Context()), &propertyv1.ListMailsRequest{ReservationId: strings.TrimPrefix(stay, "/app/reservations/")})
		if err != nil {
			t.Fatal(err)
		}
		return found.GetData().GetList()
	}
	w.Await("the first mail", func(context.Context) (bool, error) {
		return len(mails()) == 1 && mails()[0].GetState() == "mailbox", nil
	})
	first := mails()[0]
	if a := s.do(http.MethodGet, stay, nil); a.field("do") == "" || !strings.Contains(a.text, `value="`+first.GetId()+`"`) {
		t.Errorf("the page has no button for the mail %s", first.GetId())
	}
	if a := s.do(http.MethodPost, stay, url.Values{"do": {"resendMail"}, "mail": {"mai_0"}}); a.status != http.StatusNotFound {
		t.Errorf("a mail that does not exist: %d to %q", a.status, a.moved)
	}
	if a := s.do(http.MethodPost, stay, url.Values{"do": {"resendMail"}, "mail": {first.GetId()}}); a.moved != stay+"?done=mailSent" {
		t.Errorf("send again: %d to %q", a.status, a.moved)
	}
	w.Await("the second mail", func(context.Context) (bool, error) { return len(mails()) == 2, nil })
}
