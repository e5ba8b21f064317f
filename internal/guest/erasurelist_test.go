package guest_test

import (
	"testing"
	"time"

	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
)

// The list of erasures shows all, also if the answers of one stay cannot be read. Staff look there when an erasure is late.
func TestErasuresAreListedWithUnreadableAnswers(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		broken, _, _ := h.fullStay(access.Confirmed)
		whole := h.book(hotel, "B", "Meyer")
		for _, id := range []string{broken, whole} {
			h.write(func(tx *db.Tx) error {
				_, err := guest.RequestErasureFor(tx, h.keys, hotel, id, "", "Ada")
				return err
			})
		}
		h.write(func(tx *db.Tx) error {
			return tx.Guest.Update().Where(entguest.PropertyID(hotel), entguest.ReservationID(broken)).SetPerson([]byte("broken")).Exec(tx.Context())
		})
		list, err := guest.ListErasures(h.db.View(t.Context()), h.keys, hotel, guest.ErasurePage{Limit: 10})
		if h.must(err); len(list) != 2 {
			t.Fatalf("%d erasures are listed", len(list))
		}
		for _, e := range list {
			if !e.DueAt.Equal(morning.Add(24*time.Hour)) || e.Zone == nil {
				t.Errorf("%s is due at %s", e.Row.ReservationID, e.DueAt)
			}
		}
	})
}
