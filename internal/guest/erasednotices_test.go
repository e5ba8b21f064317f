package guest_test

import (
	"testing"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/test/dbtest"
)

// A lock may hold a code of the stay longer than the guest's data are kept. Staff keep the notice that they must act.
func TestErasureKeepsNoticesAboutCodesOnLocks(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, _ := h.fullStay(access.Confirmed)
		for name, values := range map[string]dbtest.Values{
			"ntc_open":     {"kind": "formerCode", "once_key": "grt_1/formerCode"},
			"ntc_resolved": {"kind": "formerCode"},
			"ntc_help":     {"kind": "checkInHelp"},
			"ntc_unread":   {"kind": "messageUnread", "once_key": "gst_1/messageUnread"},
		} {
			values["id"], values["property_id"], values["subject"] = name, hotel, id
			dbtest.Insert(t, h.db, "notices", values)
		}
		if !h.erase(h.requestErasure(main)) {
			t.Fatal("it is not done")
		}
		if left := h.db.View(t.Context()).Notice.Query().IDsX(t.Context()); len(left) != 1 || left[0] != "ntc_open" {
			t.Errorf("the notices %v are left, want only the open one about a code on a lock", left)
		}
	})
}
