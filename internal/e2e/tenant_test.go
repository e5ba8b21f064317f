package e2e

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/smartkey"
)

// tenant is a property with one of everything that has an id.
type tenant struct {
	*e2etest.World
	ids     map[string]string // by kind
	tablet  *e2etest.Tablet
	session string // token of a guest's session
	person  signedIn
}

func (a *tenant) guest() e2etest.Caller { return e2etest.Bearer("guest", a.session) }

func (a *tenant) kiosk() e2etest.Caller { return e2etest.Bearer("tablet", a.tablet.Token) }

// invited switches invitations on and returns the id of the first mail.
func invited(t testing.TB, w *e2etest.World, staff context.Context) (mailID string) {
	t.Helper()
	c := propertyv1.NewMailServiceClient(w.Public)
	if _, err := c.SetInvitations(staff, &propertyv1.SetInvitationsRequest{IntegrationId: w.IntegrationID, Enabled: true}); err != nil {
		t.Fatal(err)
	}
	w.Await("an invitation", func(context.Context) (bool, error) {
		mails, err := c.ListMails(staff, &propertyv1.ListMailsRequest{State: "mailbox"})
		if err != nil || len(mails.GetData().GetList()) == 0 {
			return false, err
		}
		mailID = mails.GetData().GetList()[0].GetId()
		return true, nil
	})
	return mailID
}

// furnish gives a property one of everything. What the PMS calls it is the same at every property.
func furnish(t testing.TB, w *e2etest.World) *tenant {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	staff := w.Staff(ctx)
	// They began yesterday: notices about future arrivals come from background checks and not from a call.
	e2etest.PushReservation(t, w, "SHARED-1", map[string]any{"state": "started", "roomId": "R101", "fromDate": e2etest.LocalDate(-1)})
	e2etest.PushReservation(t, w, "SHARED-2", map[string]any{
		"booker": map[string]any{"lastName": "Lovelace", "email": "ada@example.com"}, "state": "confirmed", "bedId": "D4-A", "fromDate": e2etest.LocalDate(-1)})
	one, err := w.PMS.Do(ctx, "GET", "/v1/reservations/find?pmsId=SHARED-1", nil)
	must(err)
	locks, err := propertyv1.NewLockServiceClient(w.Public).ListLocks(staff, &propertyv1.ListLocksRequest{PageSize: 200})
	must(err)
	act, err := propertyv1.NewLockServiceClient(w.Public).UnlockLock(staff, &propertyv1.UnlockLockRequest{Id: locks.GetData().GetList()[0].GetId()})
	must(err)
	w.PMS.SetSpaces(sandbox.PMSSpaces()[1:])
	_, err = propertyv1.NewIntegrationServiceClient(w.Public).ReadSpaces(staff, &propertyv1.ReadSpacesRequest{Id: w.IntegrationID})
	must(err)
	conflicts, err := propertyv1.NewMappingServiceClient(w.Public).ListConflicts(staff, &propertyv1.ListConflictsRequest{})
	must(err)
	notices, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(staff, &propertyv1.ListNoticesRequest{})
	must(err)
	in, err := propertyv1.NewIntegrationServiceClient(w.Public).GetIntegration(staff, &propertyv1.GetIntegrationRequest{Id: w.IntegrationID})
	must(err)
	key, err := propertyv1.NewApiKeyServiceClient(w.Public).GetApiKey(staff, &propertyv1.GetApiKeyRequest{})
	must(err)
	people, err := adminv1.NewTokenServiceClient(w.Socket).ListStaffTokens(ctx, &adminv1.ListStaffTokensRequest{PropertyId: w.PropertyID})
	must(err)
	bridges, err := propertyv1.NewBridgeServiceClient(w.Public).ListBridges(staff, &propertyv1.ListBridgesRequest{})
	must(err)
	own, err := propertyv1.NewIntegrationServiceClient(w.Public).ListIntegrations(staff, &propertyv1.ListIntegrationsRequest{})
	must(err)
	made, err := propertyv1.NewCodeServiceClient(w.Public).CreateCode(staff, &propertyv1.CreateCodeRequest{Kind: "staff", Holder: "Cleaning", AllRooms: true})
	must(err)
	ids := map[string]string{
		"cod": made.GetData().GetId(),
		"prp": w.PropertyID, "int": w.IntegrationID, "rsv": one.Data()["id"].(string), "gat": w.Spaces[sandbox.FrontDoor],
		"spc": w.Spaces["Room 102"], "spc dorm": w.Spaces[sandbox.DormName], "spc bed": w.Spaces["Bed B"],
		"lck": locks.GetData().GetList()[0].GetId(), "brg": bridges.GetData().GetList()[0].GetId(), "act": act.GetData().GetId(),
		"cfl": conflicts.GetData().GetList()[0].GetId(), "ntc": notices.GetData().GetList()[0].GetId(),
		"tok access": in.GetData().GetAccessTokens()[0].GetId(), "tok key": key.GetData().GetId(), "tok staff": people.GetData().GetList()[0].GetId(),
	}
	for _, i := range own.GetData().GetList() {
		if i.AppId == nil {
			ids["int own"] = i.GetId()
		}
	}
	tablet := e2etest.EnrolTablet(t, w, "Lobby")
	session := tablet.GuestSession(t, "N-SHARED-2", "Lovelace")
	stay, err := guestv1.NewStayServiceClient(w.Public).GetStay(e2etest.AsGuest(ctx, session), &guestv1.GetStayRequest{})
	must(err)
	devices, err := guestv1.NewStayServiceClient(w.Public).ListDevices(e2etest.AsGuest(ctx, session), &guestv1.ListDevicesRequest{})
	must(err)
	ids["ses"] = devices.GetData().GetList()[0].GetId()
	ids["ksk"], ids["gst"] = tablet.ID, stay.GetData().GetGuests()[0].GetId()
	ids["mai"] = invited(t, w, staff)
	hook, err := w.Do(ctx, w.Partner(), "PATCH", "/v1/webhooks", map[string]any{"url": w.PMSURL() + "/events", "enabled": false})
	must(err)
	ids["whk"], _ = hook.Data()["id"].(string)
	ids["phn"] = enrolled(t, w, one.Data()["id"].(string))
	for kind, v := range ids {
		if !strings.HasPrefix(v, kind[:3]+"_") {
			t.Fatalf("the id of a %s is %q", kind, v)
		}
	}
	person := signUp(t, w, w.PropertyID+"@example.com")
	ids["pss"] = person.sessionID
	invitation, err := propertyv1.NewPersonServiceClient(w.Public).InvitePerson(staff, &propertyv1.InvitePersonRequest{Email: "shared@example.com", Role: "manager"})
	must(err)
	everyone, err := propertyv1.NewPersonServiceClient(w.Public).ListPeople(staff, &propertyv1.ListPeopleRequest{})
	must(err)
	ids["pln"], ids["prs"] = invitation.GetData().GetId(), everyone.GetData().GetList()[0].GetId()
	return &tenant{w, ids, tablet, session, person}
}

// enrolled lets a phone into a stay and returns its id.
func enrolled(t testing.TB, w *e2etest.World, reservationID string) string {
	t.Helper()
	ctx, api := t.Context(), guestv1.NewSmartKeyServiceClient(w.Public)
	l, err := propertyv1.NewSmartKeyServiceClient(w.Public).CreateSmartKeyLink(w.Staff(ctx), &propertyv1.CreateSmartKeyLinkRequest{ReservationId: reservationID})
	if err != nil {
		t.Fatal(err)
	}
	look, err := api.GetEnrolment(ctx, &guestv1.GetEnrolmentRequest{Link: l.GetLink()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := smartkey.NewPhone(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := p.SignPossession(smartkey.PossessionSpec{Property: look.GetPropertyId(), Purpose: smartkey.Enrol, Challenge: look.GetChallenge()}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := api.Enrol(ctx, &guestv1.EnrolRequest{Link: l.GetLink(), Possession: raw})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetPhoneId()
}
