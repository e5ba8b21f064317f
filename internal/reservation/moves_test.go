package reservation_test

import (
	"strings"
	"testing"
	"time"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

func TestRoomMove(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1", "r1", "g1")
		pin := h.pins(s.Row.ID).PIN
		moved := h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		same(t, "moving", []string{"r2 queued", "g1 verified", "r1 verified movingOut"}, doorsOf(moved.Plan))
		same(t, "status", access.StatusUpdating, moved.Plan.Status)
		same(t, "both rooms", []string{"g1", "r1", "r2"}, h.present(s.Row.ID))

		h.reportSlots("r2", slot.Sent, "")
		h.clock.Advance(24 * time.Hour)
		h.sweep()
		same(t, "a deadline does not cut", []string{"g1", "r1", "r2"}, h.present(s.Row.ID))
		same(t, "but staff are notified", []string{"codeLate"}, h.notices(s.Row.ID))
		h.sweep()
		same(t, "once", []string{"codeLate"}, h.notices(s.Row.ID))

		h.reportSlots("r2", slot.Accepted, slot.OK)
		same(t, "accepted is not read back", []string{"g1", "r1", "r2"}, h.present(s.Row.ID))
		h.verify("r2")
		same(t, "the old one goes", []string{"g1", "r2"}, h.present(s.Row.ID))
		same(t, "status", access.StatusUpdating, h.plan("A").Status)
		h.verify("r1")
		same(t, "moved", []string{"r2 verified", "g1 verified"}, doorsOf(h.plan("A")))
		same(t, "status", access.StatusIssued, h.plan("A").Status)
		if h.pins(s.Row.ID).PIN != pin {
			t.Error("a room move changed the PIN")
		}
	})
}

func TestRoomMoveToALockThatCannotBeRead(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r2", func(c *slot.Capabilities) { c.ReadBack = false })
		s := h.checkIn("A", "r1", "r1", "g1")
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		h.reportSlots("r2", slot.Accepted, slot.OK)
		same(t, "accepted is all there is", []string{"g1", "r2"}, h.present(s.Row.ID))
	})
}

func TestMoveAndBack(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1", "r1", "g1")
		pin := h.pins(s.Row.ID).PIN
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		h.verify("r2")
		back := h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r1")})
		if n := len(h.slotsAt("r1")); n != 1 || h.wanted(h.slotsAt("r1")[0]) != pin {
			t.Errorf("%d slots on the lock that was left: a removal under way is taken back, the same PIN twice would be a duplicate", n)
		}
		same(t, "doors", []string{"r1 queued", "g1 verified", "r2 verified movingOut"}, doorsOf(back.Plan))
		h.verify("r1", "r2")
		same(t, "doors", []string{"r1 verified", "g1 verified"}, doorsOf(h.plan("A")))
	})
}

func TestSwap(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		a, b := h.checkIn("A", "r1", "r1", "g1"), h.checkIn("B", "r2", "r2", "g1")
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		same(t, "A makes first", []string{"g1", "r1", "r2"}, h.present(a.Row.ID))
		h.put(reservation.Patch{reservation.PMSID: "B", reservation.SpaceID: theirs("r1")})
		same(t, "A is out of the room that B has", []string{"g1", "r2"}, h.present(a.Row.ID))
		same(t, "and B out of A's", []string{"g1", "r1"}, h.present(b.Row.ID))
		h.verify("r1", "r2")
		same(t, "doors of A", []string{"r2 verified", "g1 verified"}, doorsOf(h.plan("A")))
		same(t, "doors of B", []string{"r1 verified", "g1 verified"}, doorsOf(h.plan("B")))
		if h.pins(a.Row.ID).PIN == h.pins(b.Row.ID).PIN {
			t.Error("two stays have one PIN")
		}
	})
}

// Another stay takes the room of a guest in house that the PMS has removed from the stay. The notice that this guest has no room stays.
func TestNoticeOfAMissingRoomOutlivesTheOldRoom(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		a := h.checkIn("A", "r1", "r1", "g1")
		holds := func() bool {
			return h.db.View(h.ctx()).Notice.Query().
				Where(entnotice.Subject(a.Row.ID), entnotice.Kind(string(notice.RoomNotAssigned)), entnotice.ResolvedAtIsNil()).ExistX(h.ctx())
		}
		check := func(what string, want bool) {
			t.Helper()
			if holds() != want {
				t.Errorf("%s: the notice holds: %v, want %v", what, !want, want)
			}
		}
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: ""})
		check("without a room", true)
		h.checkIn("B", "r1", "r1", "g1")
		check("after the other's check-in", true)
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		check("with a room", false)
	})
}

// Locks with a single slot: a swap waits for the slots to become free, without another request.
func TestSwapOnFullLocks(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		for _, d := range []string{"r1", "r2"} {
			h.capable(d, func(c *slot.Capabilities) { c.Slots = 1 })
		}
		a, b := h.checkIn("A", "r1", "r1", "g1"), h.checkIn("B", "r2", "r2", "g1")
		moved := h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		same(t, "no room yet", []string{"r2 failed slotsFull", "g1 verified", "r1 verified movingOut"}, doorsOf(moved.Plan))
		h.put(reservation.Patch{reservation.PMSID: "B", reservation.SpaceID: theirs("r1")})
		for range 2 {
			h.verify("r1", "r2")
		}
		same(t, "A", []string{"g1", "r2"}, h.present(a.Row.ID))
		same(t, "B", []string{"g1", "r1"}, h.present(b.Row.ID))
		same(t, "doors of A", []string{"r2 verified", "g1 verified"}, doorsOf(h.plan("A")))
		same(t, "doors of B", []string{"r1 verified", "g1 verified"}, doorsOf(h.plan("B")))
	})
}

func TestDormBeds(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.put(with(booking("A", ""), reservation.BedID, theirs("b1"), reservation.RoomID, theirs("d1")))
		a := h.put(state("A", "started"))
		same(t, "doors of a bed", []string{"b1 queued", "d1 queued", "g1 queued"}, doorsOf(a.Plan))
		b := h.checkIn("B", "b2")
		h.verify("b1", "b2", "d1", "g1")
		same(t, "notices", []string(nil), append(h.notices(a.Row.ID), h.notices(b.Row.ID)...))
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.BedID: theirs("b3")})
		same(t, "the dorm stays, the locker moves", []string{"b1", "b3", "d1", "g1"}, h.present(a.Row.ID))
		h.verify("b3")
		same(t, "moved", []string{"b3", "d1", "g1"}, h.present(a.Row.ID))
		same(t, "B is where it was", []string{"b2", "d1", "g1"}, h.present(b.Row.ID))
	})
}

func TestSharers(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		a, b := h.checkIn("A", "r1", "r1", "g1"), h.checkIn("B", "r1", "r1", "g1")
		same(t, "doors of A", []string{"r1 verified", "g1 verified"}, doorsOf(h.plan("A")))
		same(t, "doors of B", []string{"r1 verified", "g1 verified"}, doorsOf(h.plan("B")))
		same(t, "reasons", []string{"spaceShared"}, reasonsOf(b.Plan))
		same(t, "staff", []string{"spaceShared"}, h.notices(b.Row.ID))
		h.put(state("B", "processed"))
		same(t, "A goes on", []string{"g1", "r1"}, h.present(a.Row.ID))
		same(t, "alone", []string(nil), reasonsOf(h.plan("A")))
	})
}

// One of two stays that share a room keeps it until its new room is proven to open, in either order of arrival. A third stay that is
// checked in to the room meanwhile ends that.
func TestSharerMovesOut(t *testing.T) {
	for _, mover := range []string{"A", "B"} {
		each(t, func(t *testing.T, h *testProperty) {
			h.checkIn("A", "r1", "r1", "g1")
			h.clock.Advance(time.Second)
			h.checkIn("B", "r1", "r1", "g1")
			h.clock.Advance(time.Second)
			moved := h.put(reservation.Patch{reservation.PMSID: mover, reservation.SpaceID: theirs("r2")})
			same(t, "makes first", []string{"r2 queued", "g1 verified", "r1 verified movingOut"}, doorsOf(moved.Plan))
			h.clock.Advance(time.Second)
			h.checkIn("C", "r1")
			same(t, "then breaks", []string{"g1", "r2"}, h.present(moved.Row.ID))
		})
	}
}

// Who stays on in a room after all has it alone, though another was in it meanwhile and is moving out.
func TestStayingOnAfterTheWindow(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		b := h.checkIn("B", "r1", "r1", "g1")
		h.clock.Advance(b.Row.ToAt.Add(2 * time.Hour).Sub(h.clock.Now()))
		h.sweep()
		h.verify("r1", "g1")
		until := func(d time.Duration) string { return h.clock.Now().Add(d).Format(time.RFC3339) }
		h.put(with(booking("A", "r1"), reservation.From, until(-time.Hour), reservation.To, until(48*time.Hour), reservation.State, "started"))
		h.verify("r1", "g1")
		h.clock.Advance(time.Minute)
		a := h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		h.clock.Advance(time.Minute)
		h.put(reservation.Patch{reservation.PMSID: "B", reservation.To: until(24 * time.Hour)})
		same(t, "A", []string{"g1", "r2"}, h.present(a.Row.ID))
		same(t, "B", []string{"g1", "r1"}, h.present(b.Row.ID))
	})
}

// Three stays change rooms in a circle, with one slot on each lock: no stay waits forever.
func TestRotation(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rooms := []string{"r1", "r2", "r3"}
		for i, r := range rooms {
			h.capable(r, func(c *slot.Capabilities) { c.Slots = 1 })
			h.checkIn(number(i), r, r, "g1")
		}
		for i := range rooms {
			h.put(reservation.Patch{reservation.PMSID: number(i), reservation.SpaceID: theirs(rooms[(i+1)%3])})
		}
		for range 3 {
			h.verify(rooms...)
		}
		for i := range rooms {
			same(t, "doors", []string{rooms[(i+1)%3] + " verified", "g1 verified"}, doorsOf(h.plan(number(i))))
		}
	})
}

// A move to a room without a mapping keeps the old door until the new one is proven to open.
func TestMoveToAnUnmappedRoom(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1", "r1", "g1")
		moved := h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r9")})
		same(t, "doors", []string{"g1 verified movingOut", "r1 verified movingOut"}, doorsOf(moved.Plan))
		same(t, "staff", []string{"spaceUnknown"}, h.notices(s.Row.ID))
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-25T11:00:00+01:00"})
		if sl := h.slotsAt("r1")[0]; !sl.NotAfter.Equal(time.Date(2026, 11, 25, 10, 30, 0, 0, time.UTC)) {
			t.Errorf("what stays open does not follow the dates: until %v", sl.NotAfter)
		}
		h.space("r9", "Room", "", true)
		h.lock("r9")
		h.replan(space.AffectedStays{Externals: []space.External{{IntegrationID: h.scope.IntegrationID, ID: theirs("r9")}}})
		h.verify("r9")
		same(t, "moved", []string{"g1", "r9"}, h.present(s.Row.ID))
	})
}

// A lock that is put on another door takes the codes of the old door along until they are cleared: at once.
func TestLockMovedToAnotherDoor(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1", "g1")
		h.write(func(tx *db.Tx) error {
			if _, err := lock.AssignDoor(tx, h.id, h.at("lck-r3"), ""); err != nil {
				return err
			}
			if _, err := lock.AssignDoor(tx, h.id, h.at("lck-r1"), ""); err != nil {
				return err
			}
			if _, err := lock.AssignDoor(tx, h.id, h.at("lck-r3"), h.at("r1")); err != nil {
				return err
			}
			return h.service().Replan(tx, h.id, space.AffectedStays{SpaceIDs: []string{h.at("r1"), h.at("r3")}})
		})
		if old := h.slotsAt("r1"); len(old) != 1 || old[0].Present {
			t.Errorf("the lock that was taken off holds %+v", old)
		}
		if now := h.slotsAt("r3"); len(now) != 1 || !now[0].Present || now[0].DoorID != h.at("r1") {
			t.Errorf("the lock on the door holds %+v", now)
		}
		same(t, "doors", []string{"g1", "r1"}, h.present(s.Row.ID))
	})
}

// Staff replace the PIN of a guest on the move, whose old lock does not accept the PIN of the new one. The old door, the only one that opens,
// gets a new PIN that its lock accepts.
func TestNewPINDuringAMove(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r1", func(c *slot.Capabilities) { c.Alphabet = "789" })
		h.capable("r2", func(c *slot.Capabilities) { c.Alphabet = "123" })
		a := h.checkIn("A", "r1", "r1", "g1")
		before := h.pins(a.Row.ID).PIN
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		h.reset(a.Row.ID, access.PartPIN)
		old := h.slotsAt("r1")
		if len(old) != 1 || !old[0].Present {
			t.Fatalf("codes at the old door: %+v", old)
		}
		if pin := h.wanted(old[0]); strings.Trim(pin, "789") != "" || pin == before {
			t.Error("the old lock does not accept the PIN, or has the former one")
		}
		before = h.wanted(old[0])
		h.reset(a.Row.ID, access.PartPIN)
		if pin := h.wanted(h.slotsAt("r1")[0]); strings.Trim(pin, "789") != "" || pin == before {
			t.Error("the second new PIN is not at the old door")
		}
	})
}
