package reservation_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// A guest extends a booking soon after its end and keeps the PIN. A new stay with the id of an erased one is no extension: its guest gets
// another PIN, because the former guest knows the old one.
func TestNewStayGetsAPINOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		row := h.checkIn("A", "r1", "r1", "g1").Row
		pin := func() string {
			pins, err := access.RevealPINs(access.Reconciler{Tx: h.db.View(h.ctx()), Keys: h.keys}, h.id, row.ID)
			h.must(err)
			return pins.PIN
		}
		former := pin()
		h.clock.Set(row.ToAt.Add(time.Hour))
		h.sweep()
		h.write(func(tx *db.Tx) error { return h.service().EraseBooker(tx, h.read("A")) })
		h.clock.Advance(time.Hour)
		h.put(with(booking("A", "r1"), reservation.State, "started", reservation.LastName, "Hopper", reservation.PMSUpdatedAt, h.clock.Now(),
			reservation.From, h.clock.Now().Format(time.RFC3339), reservation.To, h.clock.Now().Add(2*day).Format(time.RFC3339)))
		if h.booker("A").LastName != "Hopper" || former == "" {
			t.Fatalf("no new stay, or no former PIN: %v", h.booker("A"))
		}
		if got := pin(); got == "" || got == former {
			t.Errorf("the new guest gets the PIN %q, and the former guest had %q", got, former)
		}
		for _, g := range h.db.View(h.ctx()).Grant.Query().AllX(h.ctx()) {
			if g.EndedAt != nil && g.EndReason != string(access.CheckedOut) {
				t.Errorf("the former access ended with %s", g.EndReason)
			}
		}
	})
}
