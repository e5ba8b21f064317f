package reservation_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
)

// A stay ends, and its slot is given to the next stay. Only the access of the next stay changes.
func TestReusedSlotDoesNotChangeTheEndedStay(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r1", func(c *slot.Capabilities) { c.Slots = 1 })
		ended := h.checkIn("A", "r1", "r1", "g1").Row.ID
		row := h.slotsAt("r1")[0]
		h.clock.Set(morning.Add(10 * time.Minute))
		h.put(state("A", "processed"))
		h.verify("r1", "g1")
		changedAt := func() time.Time {
			at, err := reservation.LastAccessEventAt(h.db.View(h.ctx()), h.id, ended)
			h.must(err)
			return at
		}
		removedAt := changedAt()

		since := morning.Add(20 * time.Minute)
		h.clock.Set(since)
		next := h.checkIn("B", "r1", "r1", "g1").Row.ID
		if now := h.slotsAt("r1")[0]; now.ID != row.ID || now.GrantID == row.GrantID {
			t.Fatalf("the slot is of %s, and was of %s", now.GrantID, row.GrantID)
		}
		rows, _, err := reservation.ListByAccessEvent(h.db.View(h.ctx()), h.scope, reservation.Query{Size: 10, Since: since})
		h.must(err)
		var changed []string
		for _, r := range rows {
			changed = append(changed, r.ID)
		}
		same(t, "reservations whose access changed", []string{next}, changed)
		same(t, "when the access of the ended stay changed", removedAt, changedAt())
	})
}
