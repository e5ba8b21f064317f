package checkin

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// Two sessions of one stay press at once, one of a mailed link and one of a tablet. The PMS checks the guest in once, and both see it.
func TestTwoGuestsRace(t *testing.T) {
	w := open(t)
	tablet := e2etest.EnrolTablet(t, w.World, "Lobby 2")
	for round, room := range []string{"R101", "R102", "R103"} {
		id, number := "B-"+room, "100"+string(rune('1'+round))
		mailed := w.bind(w.book(id, number, room))
		mailed.prepare()
		found := w.guest(tablet.GuestSession(t, number, "Lovelace"))
		var all sync.WaitGroup
		for _, g := range []*guest{mailed, found, mailed, found} {
			all.Go(func() {
				if _, err := g.api().CompleteCheckIn(g.as, &guestv1.CompleteCheckInRequest{}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		mailed.awaits("checkedIn")
		found.awaits("checkedIn")
		mailed.awaitsCode()
		if n := w.PMS.CheckInCount(id); n != 1 {
			t.Errorf("the PMS checked %s in %d times", id, n)
		}
		pin, err := mailed.pin()
		if err != nil || pin == "" {
			t.Errorf("the session of the link gets no PIN: %v", err)
		}
		if shown, err := found.pin(); err == nil && shown != pin {
			t.Errorf("the sessions see other PINs")
		}
	}
}

// A link, a session or a guest of another stay leads nowhere, and reads like one that does not exist.
func TestAnothersLink(t *testing.T) {
	w := open(t)
	first, second := w.book("B-1", "1001", "R101"), w.book("B-2", "1002", "R102")
	mine, theirs := w.bind(first), w.bind(second)
	api := guestv1.NewLinkServiceClient(w.Public)
	if _, err := api.BindLink(t.Context(), &guestv1.BindLinkRequest{Link: first}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a second device binds a link: %v", err)
	}
	forms := guestv1.NewFormServiceClient(w.Public)
	stay, err := guestv1.NewStayServiceClient(w.Public).GetStay(theirs.as, &guestv1.GetStayRequest{})
	w.must(err)
	other := stay.GetData().GetGuests()[0].GetId()
	_, known := forms.GetForm(mine.as, &guestv1.GetFormRequest{GuestId: other})
	_, unknown := forms.GetForm(mine.as, &guestv1.GetFormRequest{GuestId: "gst_00000000000000000000000000"})
	if status.Code(known) != codes.NotFound || status.Convert(known).Message() != status.Convert(unknown).Message() {
		t.Errorf("another's guest answers %v, and an unknown one %v", known, unknown)
	}
	mistyped := first[:len(first)-1] + "x"
	if mistyped == first {
		mistyped = first[:len(first)-1] + "y"
	}
	_, gone := api.GetLink(t.Context(), &guestv1.GetLinkRequest{Link: mistyped})
	_, never := api.GetLink(t.Context(), &guestv1.GetLinkRequest{Link: "lkl_nothing"})
	if status.Code(gone) != codes.NotFound || status.Convert(gone).Message() != status.Convert(never).Message() {
		t.Errorf("a mistyped link answers %v, and another text %v", gone, never)
	}
}

// A companion fills in the own form. What the party owes, and the steps of the check-in, are the main guest's.
func TestCompanionsCannotCheckIn(t *testing.T) {
	w := open(t)
	main := w.bind(w.book("B-1", "1001", "R101"))
	main.fill()
	forms, stays := guestv1.NewFormServiceClient(w.Public), guestv1.NewStayServiceClient(w.Public)
	_, err := forms.SetParty(main.as, &guestv1.SetPartyRequest{AdultCount: 2})
	w.must(err)
	stay, err := stays.GetStay(main.as, &guestv1.GetStayRequest{})
	w.must(err)
	own := stay.GetData().GetGuests()[1].GetId()
	_, err = forms.InviteCompanion(main.as, &guestv1.InviteCompanionRequest{GuestId: own, Email: "bo@example.com"})
	w.must(err)
	companion := w.bind(w.linkMailedTo("bo@example.com"))
	e2etest.PushReservation(t, w.World, "B-1", map[string]any{"owing": 84, "owingCurrency": "EUR"})
	_, err = main.api().StartCheckIn(main.as, &guestv1.StartCheckInRequest{})
	w.must(err)
	now, err := main.api().GetCheckIn(main.as, &guestv1.GetCheckInRequest{})
	w.must(err)
	if text := jsonOf(t, now); !strings.Contains(text, "84.00") {
		t.Fatalf("the main guest does not read what is owed: %s", text)
	}
	if text := companion.everything(); strings.Contains(text, "84.00") || !strings.Contains(text, own) {
		t.Errorf("the companion reads %s", text)
	}
	read, err := forms.ListForms(companion.as, &guestv1.ListFormsRequest{})
	w.must(err)
	if all := read.GetData(); len(all) != 1 || all[0].GetGuestId() != own {
		t.Errorf("the companion reads the forms %v", all)
	}
	read, err = forms.ListForms(main.as, &guestv1.ListFormsRequest{})
	w.must(err)
	if all := read.GetData(); len(all) != 2 || all[0].GetGuestId() == own || all[0].GetNext() != "" || all[1].GetGuestId() != own || all[1].GetNext() == "" {
		t.Errorf("the main guest reads the forms %v", all)
	}
	api := companion.api()
	_, start := api.StartCheckIn(companion.as, &guestv1.StartCheckInRequest{})
	_, again := api.AskAgain(companion.as, &guestv1.AskAgainRequest{})
	_, confirm := api.ConfirmDetails(companion.as, &guestv1.ConfirmDetailsRequest{})
	_, complete := api.CompleteCheckIn(companion.as, &guestv1.CompleteCheckInRequest{})
	for step, err := range map[string]error{"start": start, "ask again": again, "confirm": confirm, "complete": complete} {
		if status.Code(err) != codes.PermissionDenied {
			t.Errorf("a companion may %s: %v", step, err)
		}
	}
}

// misconduct is what a PMS does to a check-in, and what guest and staff read then.
type misconduct struct {
	name    string
	conduct sandbox.Conduct
	late    bool // late means that the PMS misbehaves only after the guest's press
	press   string
	stops   []string
	notices []string
	effects int
}

var misconducts = []misconduct{
	{name: "lies before", conduct: sandbox.Lies, press: "stopped", stops: []string{"partnerError"}, notices: []string{"checkInPartnerError"}},
	{name: "fails before", conduct: sandbox.Fails, press: "stopped", stops: []string{"partnerError"}, notices: []string{"checkInPartnerError"}},
	{name: "hangs before", conduct: sandbox.Hangs, press: "stopped", stops: []string{"partnerUnavailable"}, notices: []string{"checkInPartnerUnavailable"}},
	{name: "lies", conduct: sandbox.Lies, late: true, press: "stopped", stops: []string{"checkInRefused"}, notices: []string{"checkInRefused"}},
	{name: "fails", conduct: sandbox.Fails, late: true, press: "stopped", stops: []string{"noAnswer"}, notices: []string{"checkInNoAnswer"}},
	{name: "hangs", conduct: sandbox.Hangs, late: true, press: "stopped", stops: []string{"noAnswer"}, notices: []string{"checkInNoAnswer"}},
	{name: "sends no update", conduct: sandbox.NoUpdate, late: true, press: "waiting", effects: 1},
}

// partnerSecrets are parts of what the PMS says and of where it is. Guests read none of them.
var partnerSecrets = []string{"pmsBroken", "play page", "127.0.0.1", "check-in-status", "HTTP 500"}

// Whatever the PMS does, the guest reads what to do, staff get a notice, no code is shown, and what the PMS said stays with staff. When the
// PMS works again, the guest is checked in once.
func TestMisbehavingPMS(t *testing.T) {
	for _, m := range misconducts {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			g := w.bind(w.book("B-1", "1001", "R101"))
			if m.late {
				g.prepare()
				w.PMS.SetCheckInConduct("B-1", m.conduct)
			} else {
				g.fill()
				w.PMS.SetConduct("B-1", m.conduct)
			}
			g.press(m.late)
			g.reads(m.press, m.stops...)
			if got := w.notices(g.stay); !slices.Equal(got, m.notices) {
				t.Errorf("staff have the notices %v, want %v", got, m.notices)
			}
			if pin, err := g.pin(); err == nil {
				t.Errorf("the guest is shown the PIN %q", pin)
			}
			for _, secret := range partnerSecrets {
				if strings.Contains(g.everything(), secret) {
					t.Errorf("the guest reads %q in %s", secret, g.everything())
				}
			}
			if n := w.PMS.CheckInCount("B-1"); n != m.effects {
				t.Errorf("the PMS checked the guest in %d times", n)
			}
			if m.conduct == sandbox.Lies {
				shown, err := propertyv1.NewCheckInServiceClient(w.Public).GetCheckIn(w.Staff(t.Context()), &propertyv1.GetCheckInRequest{ReservationId: g.stay})
				w.must(err)
				if !strings.Contains(jsonOf(t, shown), "pmsBroken") {
					t.Errorf("staff do not read what the PMS said: %s", jsonOf(t, shown))
				}
			}
			g.recovers(m)
		})
	}
}

// press lets the guest press the last button, or else the first.
func (g *guest) press(last bool) {
	g.w.t.Helper()
	var err error
	if last {
		_, err = g.api().CompleteCheckIn(g.as, &guestv1.CompleteCheckInRequest{})
	} else {
		_, err = g.api().StartCheckIn(g.as, &guestv1.StartCheckInRequest{})
	}
	g.w.must(err)
}

// recovers checks that the guest is checked in once when the PMS works again.
func (g *guest) recovers(m misconduct) {
	w := g.w
	w.t.Helper()
	w.PMS.SetConduct("B-1", sandbox.Normal)
	w.PMS.SetCheckInConduct("B-1", sandbox.Normal)
	switch {
	case m.conduct == sandbox.NoUpdate:
		_, err := w.PMS.Push(w.t.Context(), "B-1", map[string]any{"state": "started"})
		w.must(err)
	case m.late: // the page of a stop has one button: try again
		_, err := g.api().AskAgain(g.as, &guestv1.AskAgainRequest{})
		w.must(err)
	default:
		_, err := g.api().AskAgain(g.as, &guestv1.AskAgainRequest{})
		w.must(err)
		g.prepare()
		g.press(true)
	}
	g.awaits("checkedIn")
	pin, err := g.pin()
	if n := w.PMS.CheckInCount("B-1"); err != nil || pin == "" || n != 1 {
		w.t.Errorf("afterwards: checked in %d times, PIN of %d digits, %v", n, len(pin), err)
	}
	w.Await("no notice is open", func(context.Context) (bool, error) { return len(w.notices(g.stay)) == 0, nil })
}
