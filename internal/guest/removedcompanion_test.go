package guest_test

import (
	"testing"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
)

// The main guest removes a companion. What the companion calls their phone, often a name, goes with the other data of the companion.
func TestRemovedCompanionLeavesNoNameOfAPhone(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, companion := h.fullStay(access.Confirmed)
		h.addPhone("phn_main", id, "")
		h.addPhone("phn_theirs", id, companion.GuestID)
		h.write(func(tx *db.Tx) error { return guest.RemoveCompanion(tx, h.keys, main, companion.GuestID) })
		if !h.isNamed("phn_main") || h.isNamed("phn_theirs") {
			t.Errorf("named: the main guest's phone %t, the companion's %t", h.isNamed("phn_main"), h.isNamed("phn_theirs"))
		}
	})
}
