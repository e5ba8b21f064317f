package guest_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
)

func TestDeleteExpired(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva")
		h.bind(h.link(id, "", "ana@example.com"))
		_, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva"})
		h.must(refused)
		h.find(guest.Search{Number: "N-A", FamilyName: "Meyer"})
		left := func() [3]int {
			h.write(func(tx *db.Tx) error {
				_, err := guest.DeleteExpired(tx, tx.Now().Add(-24*time.Hour), 100)
				return err
			})
			r, ctx := h.db.Read(), t.Context()
			return [3]int{r.GuestLink.Query().CountX(ctx), r.GuestSession.Query().CountX(ctx), r.Attempts.Query().CountX(ctx)}
		}
		if got := left(); got != [3]int{1, 2, 3} {
			t.Errorf("on the first day: %v", got)
		}
		h.clock.Advance(2 * 24 * time.Hour)
		if got := left(); got != [3]int{1, 1, 0} {
			t.Errorf("during the stay: %v", got)
		}
		h.clock.Advance(11 * 24 * time.Hour)
		if got := left(); got != [3]int{0, 0, 0} {
			t.Errorf("after the stay: %v", got)
		}
	})
}
