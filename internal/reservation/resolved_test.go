package reservation_test

import (
	"testing"
	"time"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/access/code"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
)

// openProblems lists the kinds of the notices about a stay whose problem is still open, the oldest first.
func (h *testProperty) openProblems(rsv string) (kinds []string) {
	h.t.Helper()
	rows, err := h.db.View(h.ctx()).Notice.Query().
		Where(entnotice.PropertyID(h.id), entnotice.Subject(rsv), entnotice.OnceKeyNotNil()).Order(entnotice.ByID()).All(h.ctx())
	h.must(err)
	for _, n := range rows {
		kinds = append(kinds, n.Kind)
	}
	return kinds
}

// What kept a guest out is no problem any more when the access has ended. Staff must not see it as open for years.
func TestProblemsEndWithTheAccess(t *testing.T) {
	for name, end := range map[string]func(h *testProperty){
		"checked out":        func(h *testProperty) { h.put(state("B", "processed")) },
		"the window is over": func(h *testProperty) { h.clock.Advance(4 * 24 * time.Hour); h.sweep() },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				h.checkIn("A", "r1", "r1", "g1")
				b := h.checkIn("B", "r1")
				h.reportSlots("r1", slot.Failed, slot.InvalidFormat)
				same(t, "before", []string{"spaceShared", "lockRefused"}, h.openProblems(b.Row.ID))
				end(h)
				same(t, "after", []string(nil), h.openProblems(b.Row.ID))
			})
		})
	}
}

// A code that a lock may still hold after the check-out stays a problem until the lock has removed it.
func TestProblemOfARemainingCode(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		a := h.checkIn("A", "r1")
		h.settings(func(tx *db.Tx) error {
			return tx.Bridge.UpdateOneID(h.at("brg")).SetRevokedAt(tx.Now()).Exec(tx.Context())
		})
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.Adults: 2})
		same(t, "in house", []string{"bridgeRevoked"}, h.openProblems(a.Row.ID))
		h.put(state("A", "processed"))
		same(t, "checked out", []string{"bridgeRevoked"}, h.openProblems(a.Row.ID))
		h.settings(func(tx *db.Tx) error { return tx.Bridge.UpdateOneID(h.at("brg")).ClearRevokedAt().Exec(tx.Context()) })
		h.verify("r1", "g1")
		same(t, "removed", []string(nil), h.openProblems(a.Row.ID))
	})
}

// The PMS corrects the room of a bed: nothing changes at the doors, but the problem is over.
func TestProblemsOfTheSpaceEnd(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.put(with(booking("A", ""), reservation.BedID, theirs("b1"), reservation.RoomID, theirs("r1")))
		a := h.put(state("A", "started"))
		same(t, "another room than that of the bed", []string{"spacesDisagree"}, h.openProblems(a.Row.ID))
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.BedID: theirs("b1"), reservation.RoomID: theirs("d1")})
		same(t, "the room of the bed", []string(nil), h.openProblems(a.Row.ID))
	})
}

// A stay is alone in its room once the others have left it. The PMS sends nothing about the stay itself.
func TestTheLastSharerOfARoom(t *testing.T) {
	for name, leave := range map[string]func(h *testProperty, id string){
		"checked out": func(h *testProperty, id string) { h.put(state(id, "processed")) },
		"moved": func(h *testProperty, id string) {
			h.put(reservation.Patch{reservation.PMSID: id, reservation.SpaceID: theirs("r1")})
		},
		"not in the same nights": func(h *testProperty, id string) {
			h.put(reservation.Patch{reservation.PMSID: id, reservation.From: "2027-01-10T15:00:00+01:00", reservation.To: "2027-01-12T11:00:00+01:00"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				h.checkIn("A", "r2", "r2")
				h.checkIn("B", "r2", "r2")
				c := h.checkIn("C", "r2", "r2")
				leave(h, "A")
				same(t, "two are left", []string{"spaceShared"}, h.openProblems(c.Row.ID))
				leave(h, "B")
				same(t, "alone", []string(nil), h.openProblems(c.Row.ID))
			})
		})
	}
}

// A code ended whose replaced PIN was not passed on: its PIN cannot be read any more, so that nothing else would end the notice.
func TestProblemOfAReplacedPINEndsWithTheCode(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		c := h.code(code.Spec{Kind: code.Staff, Holder: "Cleaning", DoorIDs: []string{h.at("r1")}})
		h.write(func(tx *db.Tx) error {
			_, _, err := code.Reveal(access.Reconciler{Tx: tx, Keys: h.keys}, c, "test")
			return err
		})
		h.reportSlots("r1", slot.Failed, slot.Duplicate)
		same(t, "replaced", []string{"codeRedrawn"}, h.openProblems(c.ID))
		h.ends(c)
		same(t, "ended", []string(nil), h.openProblems(c.ID))
	})
}
