package guest_test

import (
	"testing"

	"google.golang.org/grpc/metadata"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// The page asks whether answers are kept for the next stay only in a booking of one room, with an address that reaches the guest.
func TestStayAsksForTheProfile(t *testing.T) {
	each(t, func(x *fixture) {
		caller, stay := x.book("A", 1, 0)
		asks := func() bool {
			x.Helper()
			read, err := x.stays.GetStay(caller, &guestv1.GetStayRequest{})
			x.must(err)
			return read.GetData().KeepProfile != nil
		}
		change := func(pmsID, email string) {
			x.Helper()
			x.write(func(tx *db.Tx) error {
				_, err := x.deps.Reservations.Upsert(tx, reservation.Scope{PropertyID: hotel, IntegrationID: integration}, reservation.Patch{
					reservation.PMSID: pmsID, reservation.Number: pmsID, reservation.LastName: "Silva", reservation.State: "confirmed", reservation.GroupID: "G",
					reservation.Email: email, reservation.Adults: 1, reservation.From: "2026-11-21T15:00:00Z", reservation.To: "2026-11-24T11:00:00Z",
				}, nil)
				return err
			})
		}
		if asks() {
			t.Errorf("stay %s without an address asks", stay)
		}
		change("A", "x.1@guest.booking.com")
		if asks() {
			t.Error("a stay with the address of an agency asks")
		}
		change("A", "ana@example.com")
		if !asks() {
			t.Error("the only room of a group does not ask")
		}
		change("B", "ana@example.com")
		if asks() {
			t.Error("one of two rooms asks")
		}
	})
}

// A guest reads the property's texts in the language that the call asks for, else in the property's, and in the default language where a text is
// not translated.
func TestTextsInTheGuestsLanguage(t *testing.T) {
	each(t, func(x *fixture) {
		rules, directions, spanish := "Be quiet.", "Turn left.", "es"
		x.write(func(tx *db.Tx) error {
			_, err := property.UpdateCheckInSettings(tx, hotel, property.CheckInChange{
				HouseRules: &rules, Directions: &directions, Language: &spanish,
				Texts: &map[string]property.LocalTexts{"de": {HouseRules: "Leise sein."}, "es": {HouseRules: "Silencio."}},
			})
			return err
		})
		caller, _ := x.book("A", 1, 0)
		for accept, want := range map[string]string{"": "Silencio.", "ja": "Silencio.", "de-AT,en;q=0.5": "Leise sein.", "fr": "Be quiet."} {
			read, err := x.stays.GetStay(metadata.NewIncomingContext(caller, metadata.Pairs("accept-language", accept)), &guestv1.GetStayRequest{})
			x.must(err)
			if stay := read.GetData(); stay.GetHouseRules() != want || stay.GetProperty().GetDirections() != directions {
				x.Errorf("%q: the rules are %q, the directions %q", accept, stay.GetHouseRules(), stay.GetProperty().GetDirections())
			}
		}
	})
}
