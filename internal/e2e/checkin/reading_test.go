package checkin

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// anyPartner lets the server call the PMSs of several properties of a test.
func anyPartner(c *sandbox.Config) { c.Server.Partner.Allow = []string{"127.0.0.1"} }

// A partner reads a guest's data while the guest stays, as far as the guest shares them and the property marks them mandatory: the same over
// REST, gRPC and Connect, as a list of guests and with the reservation. The guest sees each read, also refused ones.
func TestPartnerReadsGuests(t *testing.T) {
	t.Parallel()
	w := open(t, anyPartner)
	w.set(map[string]any{"mandatoryGroups": map[string]any{"list": []string{"identity"}}})
	g := w.bind(w.book("B-1", "1001", "R101"))
	elsewhere := w.OpenProperty()
	share := func(groups ...string) {
		t.Helper()
		_, err := guestv1.NewFormServiceClient(w.Public).SetSharing(g.as, &guestv1.SetSharingRequest{Groups: groups})
		w.must(err)
	}
	push := func(state string) {
		t.Helper()
		_, err := w.PMS.Push(t.Context(), "B-1", map[string]any{"state": state})
		w.must(err)
	}
	// reads fails the test unless each way of reading the guests gives the main guest with these fields, or a reason.
	reads := func(c e2etest.Caller, want, reason string) {
		t.Helper()
		for _, p := range e2etest.Protocols {
			of := func(name string) e2etest.RPC {
				return e2etest.FindRPC("latchkey.partner.v1.ReservationService/" + name)
			}
			listed, err := w.Call(t.Context(), p, c, of("ListGuests"), &partnerv1.ListGuestsRequest{Id: g.stay})
			w.must(err)
			got, err := w.Call(t.Context(), p, c, of("GetReservation"), &partnerv1.GetReservationRequest{Id: g.stay, Extend: []string{"guests"}})
			w.must(err)
			found, err := w.Call(t.Context(), p, c, of("FindReservation"), &partnerv1.FindReservationRequest{PmsId: "B-1", Extend: []string{"guests"}})
			w.must(err)
			for _, o := range []e2etest.Outcome{listed, got, found} {
				if o.Reason != reason || p == e2etest.REST && reason != "" && o.HTTP != map[bool]int{true: 404, false: 403}[reason == "reservationNotFound"] {
					t.Errorf("%s by %s: %s, want %q", p, c.Name, o, reason)
				}
			}
			if reason != "" {
				continue
			}
			main := got.Reply.(*partnerv1.GetReservationResponse).GetData().GetMainCustomer()
			again := found.Reply.(*partnerv1.FindReservationResponse).GetData().GetMainCustomer()
			list := listed.Reply.(*partnerv1.ListGuestsResponse).GetData().GetList()
			if a, b, c := jsonOf(t, main), jsonOf(t, again), jsonOf(t, list[0].GetPerson()); a != want || b != want || c != want || len(list) != 1 {
				t.Errorf("%s: the partner reads %s, %s and %s; want %s", p, a, b, c, want)
			}
		}
	}
	pms := w.Partner()
	reads(pms, "", "outsideStay")
	share("identity")
	reads(pms, "", "outsideStay")
	stay, err := guestv1.NewStayServiceClient(w.Public).GetStay(g.as, &guestv1.GetStayRequest{})
	w.must(err)
	g.answers(stay.GetData().GetGuests()[0].GetId(), "1980-05-02")
	g.prepare()
	g.press(true)
	g.awaits("checkedIn")
	push("started")

	const name = `{"firstName":"Ada","lastName":"Lovelace","nationality":"GB"}`
	reads(pms, name, "")
	reads(elsewhere.Partner(), "", "reservationNotFound")
	reads(e2etest.ConnectApp(t, w.World, "Another PMS"), "", "reservationNotFound")
	share("contact") // the property does not mark it mandatory
	reads(pms, "", "notShared")
	share()
	reads(pms, "", "notShared")
	share("identity", "contact")
	reads(pms, name, "")
	push("processed")
	reads(pms, "", "outsideStay")

	ledger, err := guestv1.NewStayServiceClient(w.Public).ListDisclosures(g.as, &guestv1.ListDisclosuresRequest{})
	w.must(err)
	var lines []string
	for _, d := range ledger.GetData().GetList() {
		lines = append(lines, fmt.Sprintf("%s %v %s %d", d.GetWhy(), d.GetGroups(), d.GetRefused(), d.GetTimes()))
	}
	// Reads with the same result within an hour are one line. Three protocols read three times in each step.
	want := []string{"read [] notShared 18", "read [identity]  18", "checkIn [identity]  1", "read [] outsideStay 27"}
	if !slices.Equal(lines, want) {
		t.Errorf("the guest's ledger has %q, want %q", lines, want)
	}
}

// A reservation with its guests needs the scope of the guests.
func TestGuestsNeedTheirScope(t *testing.T) {
	t.Parallel()
	w := open(t)
	app := e2etest.ConnectApp(t, w.World, "Reservations alone", "reservations:write", "reservations:read")
	o, err := w.Do(t.Context(), app, http.MethodPatch, "/v1/reservations", map[string]any{
		"pmsMeta": map[string]any{"id": "B-1"}, "pmsNumber": "1001", "state": "started", "booker": map[string]any{"lastName": "Lovelace"},
		"fromDate": e2etest.LocalDate(0), "toDate": e2etest.LocalDate(2),
	})
	if err != nil || !o.OK() {
		t.Fatal(o, err)
	}
	for path, want := range map[string]string{"": "", "?extend=guests": "scopeMissing", "/guests": "scopeMissing"} {
		o, err := w.Do(t.Context(), app, http.MethodGet, fmt.Sprintf("/v1/reservations/%v%s", o.Data()["id"], path), nil)
		if err != nil || o.Reason != want {
			t.Errorf("%q: %s, %v; want %q", path, o, err, want)
		}
	}
}
