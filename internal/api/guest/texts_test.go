package guest_test

import (
	"testing"

	"google.golang.org/grpc/metadata"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/property"
)

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
