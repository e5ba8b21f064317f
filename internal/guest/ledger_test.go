package guest_test

import (
	"testing"

	entdisclosure "latchkey.dev/ent/disclosure"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// A call is recorded once for each guest, with as many statements for 39 guests as for one.
func TestRecordDisclosures(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.Adults, 30, reservation.Children, 9)
		members := h.party(id).Members
		record := func(call string, guests int, groups ...rule.Group) (statements int) {
			var all []guest.Disclosed
			for _, m := range members[:guests] {
				all = append(all, guest.Disclosed{GuestID: m.Row.ID, Groups: groups})
			}
			run := dbtest.Statements(t, nil, func() {
				h.write(func(tx *db.Tx) error {
					row, err := tx.Reservation.Get(tx.Context(), id)
					if err == nil {
						err = guest.RecordDisclosures(tx, row, guest.WhyCheckIn, call, all)
					}
					return err
				})
			})
			return len(run)
		}
		recorded := func(call string, want int) {
			t.Helper()
			if n := h.db.View(t.Context()).Disclosure.Query().Where(entdisclosure.PropertyID(hotel), entdisclosure.Call(call)).CountX(t.Context()); n != want {
				t.Errorf("%s: %d disclosures, want %d", call, n, want)
			}
		}
		if one, many := record("one", 1, "identity"), record("many", 39, "identity"); one != many {
			t.Errorf("%d statements for one guest, %d for 39", one, many)
		}
		recorded("one", 1)
		recorded("many", 39)
		record("many", 39, "identity")
		recorded("many", 39)
		record("many", 39, "identity", "contact")
		recorded("many", 78)
		record("none", 0)
		recorded("none", 0)
	})
}
