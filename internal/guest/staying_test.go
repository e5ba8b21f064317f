package guest_test

import (
	"testing"
	"time"

	entproperty "latchkey.dev/ent/property"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// A stay that the PMS has started ends with the late check-out, also if the PMS says nothing more.
func TestStayingEndsWithTheLateCheckOut(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.write(func(tx *db.Tx) error {
			return tx.Property.Update().Where(entproperty.ID(hotel)).SetLateOutMinutes(90).Exec(tx.Context())
		})
		p := h.party(h.book(hotel, "A", "Silva", reservation.State, string(access.Started)))
		end := p.Reservation.ToAt.Add(90 * time.Minute)
		for at, want := range map[time.Time]bool{p.Reservation.ToAt: true, end.Add(-time.Nanosecond): true, end: false, end.Add(time.Hour): false} {
			if got := p.IsStaying(at); got != want {
				t.Errorf("at %s: %v", at, got)
			}
		}
		other := h.party(h.book(hotel, "B", "Meyer"))
		if other.IsStaying(other.Reservation.FromAt.Add(time.Hour)) {
			t.Error("a guest whom the PMS has not checked in is staying")
		}
	})
}
