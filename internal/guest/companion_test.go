package guest_test

import (
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/reservation"
)

// The main guest removes a companion who has answered on a link of their own before the check-in only, and changes no guest after the check-out.
func TestCompanionWhoAnsweredStays(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		book := func(state string) string {
			return h.book(hotel, "A", "Silva", reservation.Adults, 3, reservation.State, state)
		}
		id := book("confirmed")
		a, p := h.guestOf(id, ""), h.party(id)
		answered, silent := p.Members[1].Row.ID, p.Members[2].Row.ID
		own := h.guestOf(id, answered)
		h.must(h.save(own, answered, rule.NameStep, "firstName", "Bo", "lastName", "Berg"))
		remove := func(guestID string) func(tx *db.Tx) error {
			return func(tx *db.Tx) error { return guest.RemoveCompanion(tx, h.keys, a, guestID) }
		}
		book("started")
		h.refused(fault.NotYourAnswer, remove(answered))
		h.write(remove(silent))
		book("processed")
		h.refused(fault.StayEnded, remove(answered))
		h.refused(fault.StayEnded, func(tx *db.Tx) error { return guest.SetParty(tx, h.keys, a, 4, 0) })
		h.refused(fault.StayEnded, func(tx *db.Tx) error { return guest.InviteCompanion(tx, h.keys, a, answered, "bo@example.com") })
		if got := len(h.party(id).Members); got != 2 {
			t.Errorf("%d guests are left", got)
		}
	})
}
