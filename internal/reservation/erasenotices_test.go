package reservation_test

import (
	"slices"
	"testing"

	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// After the retention period, a lock that still holds the code keeps the notice that staff must act. The notices about the guest go.
func TestBlockedStayKeepsNoticesAboutItsCode(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.keep = 30 * day
		row := h.checkIn("A", "r1", "r1", "g1").Row
		dbtest.Insert(t, h.db, "stays", dbtest.Values{"id": "sty_one", "property_id": h.id, "reservation_id": row.ID})
		h.put(state("A", "processed"))
		for name, values := range map[string]dbtest.Values{
			"ntc_lock":   {"kind": "bridgeRevoked", "once_key": "grt_1/bridgeRevoked"},
			"ntc_unread": {"kind": "messageUnread", "once_key": "gst_1/messageUnread"},
		} {
			values["id"], values["property_id"], values["subject"] = name, h.id, row.ID
			dbtest.Insert(t, h.db, "notices", values)
		}
		h.clock.Set(row.ToAt.Add(31 * day))
		if _, blocked := h.retire(); !slices.Equal(blocked, []reservation.Block{reservation.BlockedByLock}) {
			t.Fatalf("blocked by %v", blocked)
		}
		if left := h.db.View(h.ctx()).Notice.Query().IDsX(h.ctx()); !slices.Equal(left, []string{"ntc_lock"}) {
			t.Errorf("the notices %v are left", left)
		}
	})
}
