package guest_test

import (
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
)

// A guest's language is one that has texts. A companion without one has that of the main guest; another property's guests keep theirs.
func TestLanguageOfGuest(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, other := h.book(hotel, "A", "Silva"), h.book(hostel, "A", "Silva")
		session, foreign := h.bind(h.link(id, "", "ana@example.com")), h.bind(h.link(other, "", "ana@example.com"))
		caller, err := guest.Authenticate(h.db.View(t.Context()), h.keys, session.Token)
		h.must(err)
		want := func(propertyID, reservationID, guestID, want string) {
			t.Helper()
			if got, err := guest.LanguageOf(h.db.View(t.Context()), propertyID, reservationID, guestID); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
		want(hotel, id, "", "")
		h.write(func(tx *db.Tx) error { return guest.ChooseLanguage(tx, h.keys, caller, "de-AT", false) })
		h.write(func(tx *db.Tx) error { return guest.ChooseLanguage(tx, h.keys, caller, "", false) })
		for _, unknown := range []string{"tlh", "d", "en/../de", "deutsch"} {
			h.refused(fault.InvalidFields, func(tx *db.Tx) error { return guest.ChooseLanguage(tx, h.keys, caller, unknown, false) })
		}
		want(hotel, id, "", "de")
		want(hotel, id, "gst_unknown", "de")
		want(hostel, other, "", "")
		h.write(func(tx *db.Tx) error { return guest.SetLanguage(tx, hostel, foreign.ReservationID, "", "fr") })
		want(hostel, other, "", "fr")
		want(hotel, id, "", "de")

		// The browser of another device does not change it; a choice does.
		set := func(language string) {
			h.write(func(tx *db.Tx) error { return guest.SetFirstLanguage(tx, hotel, id, "", language) })
		}
		set("fr")
		want(hotel, id, "", "de")
		h.write(func(tx *db.Tx) error { return guest.ChooseLanguage(tx, h.keys, caller, "es", false) })
		want(hotel, id, "", "es")
		h.write(func(tx *db.Tx) error { return guest.ChooseLanguage(tx, h.keys, caller, "de", true) })
		want(hotel, id, "", "es")
		fresh := h.book(hotel, "B", "Silva")
		h.bind(h.link(fresh, "", "bo@example.com"))
		h.write(func(tx *db.Tx) error { return guest.SetFirstLanguage(tx, hotel, fresh, "", "fr") })
		want(hotel, fresh, "", "fr")
	})
}
