package guest_test

import (
	"encoding/hex"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
)

// A profile is kept until it was not used for a time. A stay to which it is offered uses it.
func TestDeleteUnusedProfiles(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := hex.EncodeToString(guest.AddressMAC(h.keys, hotel, "ana@example.com"))
		h.write(func(tx *db.Tx) error {
			raw, err := h.keys.Seal(tx.Context(), hotel, "guestProfile/"+id, []byte(`{"firstName":"Ana"}`))
			if err != nil {
				return err
			}
			return tx.GuestProfile.Create().SetID(id).SetPropertyID(hotel).SetPerson(raw).SetUpdatedAt(tx.Now()).SetCreatedAt(tx.Now()).Exec(tx.Context())
		})
		const kept = 30 * 24 * time.Hour
		left := func() (n int) {
			h.write(func(tx *db.Tx) error {
				_, err := guest.DeleteUnusedProfiles(tx, tx.Now().Add(-kept), 100)
				return err
			})
			return h.db.View(t.Context()).GuestProfile.Query().CountX(t.Context())
		}
		h.clock.Advance(24 * time.Hour)
		h.bind(h.link(h.book(hotel, "A", "Silva"), "", "ana@example.com"))
		h.clock.Advance(kept)
		if left() != 1 {
			t.Error("the profile is erased although a stay used it")
		}
		h.clock.Advance(time.Second)
		if left() != 0 {
			t.Error("an unused profile is kept")
		}
	})
}

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
			r, ctx := h.db.View(t.Context()), t.Context()
			return [3]int{r.GuestLink.Query().CountX(ctx), r.GuestSession.Query().CountX(ctx), r.Attempts.Query().CountX(ctx)}
		}
		if got := left(); got != [3]int{1, 2, 5} {
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
