package checkin

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// profileLink requests the link to a kept profile and returns the secret that is mailed.
func (w *world) profileLink(address string) (link string) {
	w.t.Helper()
	w.requestProfile(address)
	mails := propertyv1.NewMailServiceClient(w.Public)
	w.Await("the link to the profile", func(ctx context.Context) (bool, error) {
		listed, err := mails.ListMails(w.Staff(ctx), &propertyv1.ListMailsRequest{PageSize: 200})
		if err != nil {
			return false, err
		}
		for _, m := range listed.GetData().GetList() {
			if m.GetKind() != "profile" {
				continue
			}
			read, err := mails.GetMail(w.Staff(ctx), &propertyv1.GetMailRequest{Id: m.GetId()})
			if err != nil {
				return false, err
			}
			if found := linkSecret.FindStringSubmatch(read.GetText().GetText()); found != nil && read.GetText().GetTo() == address {
				link = found[1]
			}
		}
		return link != "", nil
	})
	return link
}

func (w *world) requestProfile(address string) {
	w.t.Helper()
	links := guestv1.NewLinkServiceClient(w.Public)
	at, err := links.GetProperty(w.t.Context(), &guestv1.GetPropertyRequest{}) // the only one
	w.must(err)
	_, err = links.RequestProfileLink(w.t.Context(), &guestv1.RequestProfileLinkRequest{PropertyId: at.GetData().GetId(), Email: address, Language: "de"})
	w.must(err)
}

// A guest whose stay is over reads, copies and deletes a kept profile with a link that is mailed to the address of the booking. An address without a
// profile gets the same answer and no mail. The session opens nothing else, and the next stay begins empty.
func TestGuestWithoutAStayDeletesTheProfile(t *testing.T) {
	w := open(t)
	g := w.bind(w.book("B-1", "1001", "R101"))
	g.fill()
	_, err := guestv1.NewFormServiceClient(w.Public).SetSharing(g.as, &guestv1.SetSharingRequest{KeepProfile: true})
	w.must(err)
	e2etest.PushReservation(t, w.World, "B-1", map[string]any{"state": "canceled"})

	w.requestProfile("stranger@example.com")
	secret := w.profileLink("b-1@example.com")
	links, privacy := guestv1.NewLinkServiceClient(w.Public), guestv1.NewPrivacyServiceClient(w.Public)
	for range 2 { // a mail scanner
		shown, err := links.GetLink(t.Context(), &guestv1.GetLinkRequest{Link: secret})
		w.must(err)
		if l := shown.GetData(); l.GetSource() != "profile" || l.GetBound() || l.GetInitial() != "" || l.GetFromDate() != "" {
			t.Fatalf("the link shows %v", l)
		}
	}
	bound, err := links.BindLink(t.Context(), &guestv1.BindLinkRequest{Link: secret})
	w.must(err)
	if s := bound.GetData(); s.GetStayId() != "" || s.GetProfilePropertyId() == "" {
		t.Fatalf("the session is for %v", s)
	}
	if _, err := links.BindLink(t.Context(), &guestv1.BindLinkRequest{Link: secret}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a second device: %v", err)
	}
	as := e2etest.AsGuest(t.Context(), bound.GetData().GetToken())
	kept, err := privacy.GetProfile(as, &guestv1.GetProfileRequest{})
	w.must(err)
	if p := kept.GetData().GetPerson(); p.GetFirstName() != "Ada" || p.GetLastName() != "Lovelace" {
		t.Errorf("the profile is %v", p)
	}
	copied, err := privacy.ExportData(as, &guestv1.ExportDataRequest{})
	w.must(err)
	if d := copied.GetData(); d.GetProfile().GetPerson().GetFirstName() != "Ada" || d.GetPropertyName() == "" || d.GetStay() != nil {
		t.Errorf("the copy is %v", d)
	}
	for what, call := range map[string]func() error{
		"the stay": func() error {
			_, err := guestv1.NewStayServiceClient(w.Public).GetStay(as, &guestv1.GetStayRequest{})
			return err
		},
		"an erasure": func() error { _, err := privacy.RequestErasure(as, &guestv1.RequestErasureRequest{}); return err },
	} {
		if err := call(); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s answers %v", what, err)
		}
	}
	_, err = privacy.DeleteProfile(as, &guestv1.DeleteProfileRequest{})
	w.must(err)
	if _, err := privacy.GetProfile(as, &guestv1.GetProfileRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("the session outlives the profile: %v", err)
	}
	if n := w.mailsOf("profile"); n != 0 {
		t.Errorf("%d mails with links to the profile are left", n)
	}
	e2etest.PushReservation(t, w.World, "B-2", map[string]any{
		"pmsNumber": "1002", "state": "confirmed", "roomId": "R102", "adultCount": 1, "booker": map[string]any{"lastName": "Lovelace", "email": "b-1@example.com"},
	})
	next := w.bind(w.openLink("b-1@example.com"))
	stay, err := guestv1.NewStayServiceClient(w.Public).GetStay(next.as, &guestv1.GetStayRequest{})
	w.must(err)
	if name := stay.GetData().GetGuests()[0].GetFirstName(); name != "" {
		t.Errorf("the next stay begins with the name %s", name)
	}
}

// openLink waits for the invitation to an address whose stay is not canceled, and returns the secret of its link.
func (w *world) openLink(address string) (link string) {
	w.t.Helper()
	mails, links := propertyv1.NewMailServiceClient(w.Public), guestv1.NewLinkServiceClient(w.Public)
	w.Await("the invitation to another stay", func(ctx context.Context) (bool, error) {
		listed, err := mails.ListMails(w.Staff(ctx), &propertyv1.ListMailsRequest{PageSize: 200})
		if err != nil {
			return false, err
		}
		for _, m := range listed.GetData().GetList() {
			read, err := mails.GetMail(w.Staff(ctx), &propertyv1.GetMailRequest{Id: m.GetId()})
			if err != nil {
				return false, err
			}
			found := linkSecret.FindStringSubmatch(read.GetText().GetText())
			if found == nil || read.GetText().GetTo() != address {
				continue
			}
			shown, err := links.GetLink(ctx, &guestv1.GetLinkRequest{Link: found[1]})
			if err == nil && !shown.GetData().GetCanceled() {
				link = found[1]
			}
		}
		return link != "", nil
	})
	return link
}

// mailsOf returns how many mails of a kind the property has.
func (w *world) mailsOf(kind string) (n int) {
	w.t.Helper()
	listed, err := propertyv1.NewMailServiceClient(w.Public).ListMails(w.Staff(w.t.Context()), &propertyv1.ListMailsRequest{PageSize: 200})
	w.must(err)
	for _, m := range listed.GetData().GetList() {
		if m.GetKind() == kind {
			n++
		}
	}
	return n
}

// A companion copies and erases their own data with their own session. The main guest's stay, answers and ledger do not change.
func TestCompanionErasesTheirOwnData(t *testing.T) {
	w := open(t, func(c *sandbox.Config) { c.Options.SweepsEvery = 50 * time.Millisecond })
	e2etest.PushReservation(t, w.World, "B-1", map[string]any{
		"pmsNumber": "1001", "state": "confirmed", "roomId": "R101", "adultCount": 2,
		"booker": map[string]any{"firstName": "Ada", "lastName": "Lovelace", "email": "b-1@example.com"},
	})
	main := w.bind(w.linkMailedTo("b-1@example.com"))
	main.fill()
	stays, forms, privacy := guestv1.NewStayServiceClient(w.Public), guestv1.NewFormServiceClient(w.Public), guestv1.NewPrivacyServiceClient(w.Public)
	read := func(of *guest) *guestv1.Stay {
		t.Helper()
		stay, err := stays.GetStay(of.as, &guestv1.GetStayRequest{})
		w.must(err)
		return stay.GetData()
	}
	companionID := read(main).GetGuests()[1].GetId()
	made, err := forms.InviteCompanion(main.as, &guestv1.InviteCompanionRequest{GuestId: companionID})
	w.must(err)
	companion := w.bind(made.GetLink())
	_, err = forms.SaveStep(companion.as, &guestv1.SaveStepRequest{GuestId: companionID, Step: "name", Answers: map[string]string{"firstName": "Bo", "lastName": "Berg"}})
	w.must(err)
	// The stay has not begun, so the PMS reads nothing: each guest's ledger has a line about that.
	refused, err := w.Call(t.Context(), e2etest.GRPC, w.Partner(), e2etest.FindRPC("latchkey.partner.v1.ReservationService/ListGuests"), &partnerv1.ListGuestsRequest{Id: main.stay})
	if w.must(err); refused.OK() {
		t.Fatal("the PMS reads the guests before the stay")
	}

	copied, err := privacy.ExportData(companion.as, &guestv1.ExportDataRequest{})
	w.must(err)
	d := copied.GetData()
	if len(d.GetGuests()) != 1 || d.GetGuests()[0].GetPerson().GetFirstName() != "Bo" || d.GetStay().GetBooker() != nil || len(d.GetPhones())+len(d.GetOpenings()) != 0 || d.GetProfile() != nil {
		t.Errorf("the companion's copy is %v", d)
	}
	if len(d.GetDisclosures()) == 0 || d.GetDisclosures()[0].GetGuestId() != companionID || len(d.GetDevices()) != 1 {
		t.Errorf("the copy lacks the line about the PMS, or the device: %v", d)
	}
	linesOf := func(guestID string) (n int) {
		t.Helper()
		ledger, err := stays.ListDisclosures(main.as, &guestv1.ListDisclosuresRequest{})
		w.must(err)
		for _, line := range ledger.GetData().GetList() {
			if line.GetGuestId() == guestID {
				n++
			}
		}
		return n
	}
	mainID := read(main).GetGuests()[0].GetId()
	before := linesOf(mainID)
	if before == 0 {
		t.Fatal("the main guest's ledger is empty, so the test proves nothing")
	}

	asked, err := privacy.RequestErasure(companion.as, &guestv1.RequestErasureRequest{KeepProfile: true})
	w.must(err)
	if asked.GetData().GetWholeParty() || asked.GetData().GetKeepsProfile() {
		t.Errorf("the request answers %v", asked.GetData())
	}
	w.Await("the erasure", func(ctx context.Context) (bool, error) {
		r, err := privacy.GetErasureReceipt(ctx, &guestv1.GetErasureReceiptRequest{Receipt: asked.GetData().GetReceipt()})
		return r.GetData().GetState() == "done", err
	})
	if _, err := stays.GetStay(companion.as, &guestv1.GetStayRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("the companion's session goes on: %v", err)
	}
	after := read(main)
	if after.GetGuests()[0].GetFirstName() != "Ada" || len(after.GetGuests()) != 2 || after.GetAdultCount() != 2 || after.GetState() != "confirmed" {
		t.Errorf("the main guest's stay is %v", after)
	}
	if g := after.GetGuests()[1]; g.GetFirstName() != "" || g.GetId() == companionID {
		t.Errorf("the companion's place has %v", g)
	}
	if linesOf(mainID) != before || linesOf(companionID) != 0 {
		t.Errorf("the ledger has %d lines of the main guest, and %d of the companion", linesOf(mainID), linesOf(companionID))
	}
}
