package guest_test

import (
	"slices"
	"testing"

	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/reservation"
)

// A code is mailed to an address that a guest gave only if the same session pressed check-in or came by a mail. The address of the PMS
// stays.
func TestMailAddress(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.Email, "x.1@guest.booking.com")
		byTwoFacts := func(address string) actor.Actor {
			found, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva", Address: address})
			h.must(refused)
			a, err := guest.Authenticate(h.db.View(t.Context()), h.keys, found.Session.Token)
			h.must(err)
			return a
		}
		set := func(a actor.Actor, address string) {
			h.write(func(tx *db.Tx) error { return guest.SetMailAddress(tx, h.keys, a, address) })
		}
		want := func(what string, want ...string) {
			t.Helper()
			got, err := guest.TrustedAddresses(h.db.View(t.Context()), h.keys, hotel, id)
			h.must(err)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v; want %v", what, got, want)
			}
		}
		stranger, owner := byTwoFacts("192.0.2.1"), byTwoFacts("192.0.2.2")
		set(stranger, "stranger@example.com")
		want("given before the check-in")
		press := func(a actor.Actor) {
			h.write(func(tx *db.Tx) error {
				return tx.Stay.Update().Where(entstay.PropertyID(hotel), entstay.ReservationID(id)).SetAttemptSession(a.ID).Exec(tx.Context())
			})
		}
		press(owner)
		want("another session checked in")
		set(owner, "ana@example.com")
		want("the same session checked in", "ana@example.com")
		kiosk := h.byTwoFacts("")
		phone := h.authenticate(h.bind(h.handOver(kiosk).Secret).Token)
		set(phone, "phone@example.com")
		want("a phone that took the stay from a kiosk, and another session checked in")
		press(kiosk)
		want("a phone that took the stay from the kiosk that checked in", "phone@example.com")
		set(kiosk, "kiosk@example.com")
		press(phone)
		want("a kiosk that handed the stay to the phone that checked in")
		press(owner)
		set(h.guestOf(id, ""), "mailed@example.com")
		want("a session of a mail", "mailed@example.com")
		for _, address := range []string{"thief@example.com", "mailed@example.com"} {
			h.refused(fault.MainGuestOnly, func(tx *db.Tx) error { return guest.SetMailAddress(tx, h.keys, owner, address) })
		}
		want("two facts replace no address of a mail's session", "mailed@example.com")
		p, _, err := guest.ViewParty(h.db.View(t.Context()), h.keys, hotel, id)
		h.must(err)
		h.write(func(tx *db.Tx) error {
			_, err := guest.SaveStep(tx, h.keys, owner, p.Members[0].Row.ID, rule.NameStep, map[string]string{"firstName": "Ana"})
			return err
		})
		want("an answer was changed", "mailed@example.com")
		companion := h.guestOf(id, p.Members[0].Row.ID)
		h.refused(fault.MainGuestOnly, func(tx *db.Tx) error { return guest.SetMailAddress(tx, h.keys, companion, "x@example.com") })
		h.book(hotel, "A", "Silva", reservation.State, "started")
		h.refused(fault.MainGuestOnly, func(tx *db.Tx) error { return guest.SetMailAddress(tx, h.keys, stranger, "x@example.com") })
	})
}
