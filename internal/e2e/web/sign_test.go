package web_test

import (
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/test/browser"
)

// A guest signs on the own phone and at the tablet. Staff see the signature, and it holds nothing back afterwards.
func TestGuestSigns(t *testing.T) {
	t.Parallel()
	for _, kiosk := range []bool{false, true} {
		t.Run(map[bool]string{false: "phone", true: "kiosk"}[kiosk], func(t *testing.T) {
			w := open(t)
			drawn := "drawn"
			_, err := propertyv1.NewCheckInServiceClient(w.Public).UpdateCheckInSettings(w.Staff(t.Context()), &propertyv1.UpdateCheckInSettingsRequest{
				Settings: &propertyv1.CheckInSettingsChange{Signature: &drawn},
			})
			if err != nil {
				t.Fatal(err)
			}
			w.book("B-1", "1001", "R101", nil)
			p := w.walkToSignature(kiosk)
			p.WaitText("Lovelace")
			p.Click("I sign this form")
			p.WaitText("Draw your signature larger")
			p.Draw("canvas", [2]float64{.1, .7}, [2]float64{.3, .2}, [2]float64{.5, .8}, [2]float64{.9, .3})
			p.Click("Start again")
			p.Click("I sign this form")
			p.WaitText("Draw your signature larger")
			p.Draw("canvas", [2]float64{.1, .7}, [2]float64{.3, .2}, [2]float64{.5, .8}, [2]float64{.9, .3})
			p.Draw("canvas", [2]float64{.2, .2}, [2]float64{.2, .9})
			p.Click("I sign this form")
			walkTo(p, map[bool]string{false: "Your code", true: "You are checked in"}[kiosk])
			w.opens("Room 101", w.pinOn(p))
			w.seesSignature(t)
		})
	}
}

// walkToSignature takes a guest to the page of the signature.
func (w *world) walkToSignature(kiosk bool) *browser.Page {
	w.t.Helper()
	if kiosk {
		k := w.enrol()
		k.Next("Check in", "Find your booking")
		w.findAt(k, "1001", "Lovelace")
		k.WaitHeading("Is this your booking?")
		k.Click("Yes, check in")
		w.fillAtKiosk(k, "Ada", "Lovelace")
		walkTo(k, "Your signature")
		return k
	}
	p := browser.Open(w.t, browser.WithSize(browser.Phone))
	p.Visit(w.link())
	p.Next("Open my stay", "Your stay")
	fillName(p, "Ada", "Lovelace")
	p.Click("I am here: check in")
	walkTo(p, "Your signature")
	return p
}

// seesSignature fails unless staff read the strokes of the only guest.
func (w *world) seesSignature(t *testing.T) {
	t.Helper()
	staff := w.Staff(t.Context())
	found, err := propertyv1.NewReservationServiceClient(w.Public).ListReservations(staff, &propertyv1.ListReservationsRequest{})
	if err != nil || len(found.GetData().GetList()) == 0 {
		t.Fatalf("%v: %v", found, err)
	}
	for _, r := range found.GetData().GetList() {
		if r.GetPmsNumber() != "1001" {
			continue
		}
		api := propertyv1.NewCheckInServiceClient(w.Public)
		guests, err := api.ListGuests(staff, &propertyv1.ListGuestsRequest{ReservationId: r.GetId()})
		if err != nil {
			t.Fatal(err)
		}
		signed, err := api.GetSignature(staff, &propertyv1.GetSignatureRequest{ReservationId: r.GetId(), GuestId: guests.GetData().GetList()[0].GetGuest().GetId()})
		if err != nil || !strings.Contains(signed.GetData().GetSvg(), "<svg") {
			t.Errorf("the signature: %v, %v", signed, err)
		}
		return
	}
	t.Error("no reservation 1001")
}
