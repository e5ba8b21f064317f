package guest_test

import (
	"testing"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
)

// addPhone stores a named phone of the main guest, or of a companion.
func (h *fixture) addPhone(id, reservationID, guestID string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		return tx.Phone.Create().SetID(id).SetPropertyID(hotel).SetReservationID(reservationID).SetGuestID(guestID).SetLabel([]byte("sealed")).
			SetKey([]byte(id)).SetKeyID(id).SetSubject(id).SetCreatedAt(tx.Now()).Exec(tx.Context())
	})
}

// isNamed reports whether a phone has a name.
func (h *fixture) isNamed(phoneID string) bool {
	h.t.Helper()
	return len(h.db.View(h.t.Context()).Phone.GetX(h.t.Context(), phoneID).Label) > 0
}

// Staff gave a guest a link after an erasure, and the phone joined with a name. The next erasure reaches that name too.
func TestErasureOfAnErasedStay(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, _ := h.fullStay(access.Confirmed)
		if !h.erase(h.requestErasure(main)) {
			t.Fatal("the first erasure is not done")
		}
		h.addPhone("phn_later", id, "")
		var again guest.Erasure
		h.write(func(tx *db.Tx) (err error) {
			again, err = guest.RequestErasureFor(tx, h.keys, hotel, id, "", "Ada")
			return err
		})
		if !h.erase(again) {
			t.Fatal("the second erasure is not done")
		}
		if h.isNamed("phn_later") {
			t.Error("the name of the phone is kept")
		}
	})
}
