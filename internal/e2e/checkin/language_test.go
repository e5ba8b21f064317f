package checkin

import (
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// The language that a guest chose stays the language of mails when another device, whose browser has another language, saves answers and checks in. A
// choice there changes it.
func TestChosenLanguageIsKept(t *testing.T) {
	t.Parallel()
	w := open(t)
	g := w.bind(w.book("B-1", "1001", "R101"))
	stays, forms := guestv1.NewStayServiceClient(w.Public), guestv1.NewFormServiceClient(w.Public)
	stay, err := stays.GetStay(g.as, &guestv1.GetStayRequest{})
	w.must(err)
	guestID := stay.GetData().GetGuests()[0].GetId()
	reads := func(what, want string) {
		t.Helper()
		out, err := guestv1.NewPrivacyServiceClient(w.Public).ExportData(g.as, &guestv1.ExportDataRequest{})
		w.must(err)
		if got := out.GetData().GetGuests()[0].GetLanguage(); got != want {
			t.Errorf("after %s the guest reads %q, want %q", what, got, want)
		}
	}
	save := func(language string, ofBrowser bool) {
		t.Helper()
		_, err := forms.SaveStep(g.as, &guestv1.SaveStepRequest{
			GuestId: guestID, Step: "name", Answers: map[string]string{"firstName": "Ada", "lastName": "Lovelace"}, Language: language, LanguageOfBrowser: ofBrowser,
		})
		w.must(err)
	}
	save("fr", true)
	reads("the first answers", "fr")
	_, err = stays.SetLanguage(g.as, &guestv1.SetLanguageRequest{Language: "es"})
	w.must(err)
	save("de", true)
	reads("answers on another device", "es")
	_, err = g.api().StartCheckIn(g.as, &guestv1.StartCheckInRequest{Language: "de", LanguageOfBrowser: true})
	w.must(err)
	reads("a check-in on another device", "es")
	save("de", false)
	reads("a choice on another device", "de")
}
