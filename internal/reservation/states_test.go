package reservation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// checkIn books a room and checks the guest in, and has the locks hold the code.
func (h *house) checkIn(id, place string, doors ...string) reservation.Stored {
	h.t.Helper()
	h.put(booking(id, place))
	s := h.put(state(id, "started"))
	h.verify(doors...)
	return s
}

func TestIssue(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := h.put(booking("A", "r1"))
		same(t, "confirmed", access.StatusNone, s.Plan.Status)
		same(t, "doors of a confirmed stay", []string{"r1 planned notCheckedIn", "g1 planned notCheckedIn"}, doorsOf(s.Plan))
		if n := len(h.slots()); n != 0 {
			t.Fatalf("%d slots before check-in", n)
		}

		s = h.put(state("A", "started"))
		same(t, "issued", access.StatusIssued, s.Plan.Status)
		same(t, "doors", []string{"r1 queued", "g1 queued"}, doorsOf(s.Plan))
		if !s.Plan.Window.From.Equal(morning) || !s.Plan.Window.To.Equal(time.Date(2026, 11, 24, 10, 30, 0, 0, time.UTC)) {
			t.Errorf("the window is %+v: it opens now and ends with the late-out minutes", s.Plan.Window)
		}
		shown := h.pins(s.Row.ID)
		if len(shown.PIN) != 6 || len(shown.Gates) != 1 || shown.Gates[0].PIN != shown.PIN || shown.Gates[0].Name != "g1" {
			t.Fatalf("shown: %+v", shown)
		}
		for _, sl := range h.slots() {
			if h.wanted(sl) != shown.PIN {
				t.Errorf("slot on %s holds another PIN", sl.DoorID)
			}
		}

		h.verify("r1", "g1")
		same(t, "doors known to open", []string{"r1 verified", "g1 verified"}, doorsOf(h.plan("A")))
		same(t, "events", []string{"reservationPinGenerated", "access.issued"}, h.events(s.Row.ID))
		same(t, "events of the lock", []string{"credential.verified"}, h.events(h.at("lck-r1")))
		same(t, "nothing to tell staff", []string(nil), h.notices(s.Row.ID))
	})
}

func TestUsed(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.checkIn("A", "r1", "r1")
		sl := h.slots()[1]
		h.write(func(tx *db.Tx) error {
			_, learned, err := lock.Events(tx, h.at("brg"), epoch, []lock.Happened{
				{Sequence: 1, Address: "r1", Kind: "opened", Slot: sl.Number, Generation: sl.Generation, OccurredAt: tx.Now()},
			})
			if err != nil {
				return err
			}
			return h.learn(tx, learned)
		})
		same(t, "doors", []string{"r1 used", "g1 queued"}, doorsOf(h.plan("A")))
	})
}

// What is neither date, space nor state changes nothing on a lock.
func TestAnythingElse(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := h.checkIn("A", "r1", "r1", "g1")
		before, events := fmt.Sprint(h.slots()), h.events(s.Row.ID)
		h.clock.Advance(time.Hour)
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.LastName: "King", reservation.Adults: 3, reservation.Owing: 2.5, reservation.Currency: "EUR"})
		h.put(state("A", "started"))
		same(t, "slots", before, fmt.Sprint(h.slots()))
		same(t, "events", events, h.events(s.Row.ID))
	})
}

func TestDatesMove(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := h.checkIn("A", "r1", "r1", "g1")
		pin, grant := h.pins(s.Row.ID).PIN, h.grantOf(h.slots()[0].GrantID)
		h.clock.Advance(time.Hour)
		moved := h.put(reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-26T11:00:00+01:00"})
		same(t, "status", access.StatusUpdating, moved.Plan.Status)
		if !moved.Plan.Window.From.Equal(morning) || !moved.Plan.Window.To.Equal(time.Date(2026, 11, 26, 10, 30, 0, 0, time.UTC)) {
			t.Errorf("window %+v", moved.Plan.Window)
		}
		for _, sl := range h.slots() {
			if h.wanted(sl) != pin || !sl.NotAfter.Equal(moved.Plan.Window.To) || sl.Evidence != string(slot.Queued) {
				t.Errorf("slot of %s did not follow, or changed its PIN: until %v, %s", sl.DoorID, sl.NotAfter, sl.Evidence)
			}
		}
		if now := h.grantOf(grant.ID); now.KeyGeneration != grant.KeyGeneration+1 || h.pins(s.Row.ID).PIN != pin {
			t.Errorf("SmartKey generation %d after %d", now.KeyGeneration, grant.KeyGeneration)
		}
		h.verify("r1", "g1")
		same(t, "doors", []string{"r1 verified", "g1 verified"}, doorsOf(h.plan("A")))
		same(t, "events", []string{"reservationPinGenerated", "access.issued", "access.updated"}, h.events(s.Row.ID))
	})
}

func TestEarlyCheckInOfALaterDay(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		p := with(booking("A", "r1"), reservation.From, "2026-11-22T15:00:00+01:00", reservation.State, "started")
		s := h.put(p)
		same(t, "doors", []string{"r1 queued windowInFuture", "g1 queued windowInFuture"}, doorsOf(s.Plan))
		same(t, "notices", []string{"windowInFuture"}, h.notices(s.Row.ID))
		if want := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC); !h.slots()[0].NotBefore.Equal(want) {
			t.Errorf("opens %v, want %v", h.slots()[0].NotBefore, want)
		}
		s = h.put(reservation.Patch{reservation.PMSID: "A", reservation.From: "2026-11-21T15:00:00+01:00"})
		same(t, "doors today", []string{"r1 queued", "g1 queued"}, doorsOf(s.Plan))
		if !h.slots()[0].NotBefore.Equal(morning) {
			t.Errorf("opens %v, want now", h.slots()[0].NotBefore)
		}
	})
}

func TestRoomMove(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := h.checkIn("A", "r1", "r1", "g1")
		pin := h.pins(s.Row.ID).PIN
		moved := h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		same(t, "moving", []string{"r2 queued", "g1 verified", "r1 verified movingOut"}, doorsOf(moved.Plan))
		same(t, "status", access.StatusUpdating, moved.Plan.Status)
		same(t, "both rooms", []string{"g1", "r1", "r2"}, h.present(s.Row.ID))

		h.says("r2", slot.Sent, "")
		h.clock.Advance(24 * time.Hour)
		h.sweep()
		same(t, "a deadline does not cut", []string{"g1", "r1", "r2"}, h.present(s.Row.ID))
		same(t, "but staff are told", []string{"codeLate"}, h.notices(s.Row.ID))
		h.sweep()
		same(t, "once", []string{"codeLate"}, h.notices(s.Row.ID))

		h.says("r2", slot.Accepted, slot.OK)
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
	each(t, func(t *testing.T, h *house) {
		h.capable("r2", func(c *slot.Capabilities) { c.ReadBack = false })
		s := h.checkIn("A", "r1", "r1", "g1")
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		h.says("r2", slot.Accepted, slot.OK)
		same(t, "accepted is all there is", []string{"g1", "r2"}, h.present(s.Row.ID))
	})
}

func TestMoveAndBack(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
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
	each(t, func(t *testing.T, h *house) {
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

// Locks with a single slot: a swap waits for the slots to become free, and needs nobody to ask again.
func TestSwapOnFullLocks(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
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

func TestRemoved(t *testing.T) {
	for _, c := range []struct {
		to     string
		reason fault.Reason
	}{
		{"confirmed", fault.NotCheckedIn}, {"optional", fault.NotFirm}, {"enquired", fault.NotFirm}, {"requested", fault.NotFirm},
		{"processed", fault.CheckedOut}, {"canceled", fault.ReservationCanceled},
	} {
		t.Run(c.to, func(t *testing.T) {
			each(t, func(t *testing.T, h *house) {
				s := h.checkIn("A", "r1", "r1", "g1")
				out := h.put(state("A", c.to))
				same(t, "status", access.StatusRemoving, out.Plan.Status)
				same(t, "doors", []string{"r1 removing " + string(c.reason), "g1 removing " + string(c.reason)}, doorsOf(out.Plan))
				same(t, "shown", access.Shown{}, h.pins(s.Row.ID))
				h.says("r1", slot.Unconfirmed, slot.Timeout)
				h.verify("g1")
				same(t, "status", access.StatusRemoving, h.plan("A").Status)
				if n := h.livePINs(); n != 1 {
					t.Errorf("%d PINs reserved while a lock may hold one", n)
				}
				h.verify("r1")
				same(t, "status", access.StatusRemoved, h.plan("A").Status)
				if kinds := h.events(s.Row.ID); kinds[len(kinds)-1] != "access.removed" || slices.Index(kinds, "access.removed") != len(kinds)-1 {
					t.Errorf("events %v: removed is said once, at the end", kinds)
				}
				if n := h.livePINs(); n != 0 {
					t.Errorf("%d PINs reserved after all locks are known to be empty", n)
				}
			})
		})
	}
}

func TestCheckOutTakenBack(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := h.checkIn("A", "r1", "r1", "g1")
		pin := h.pins(s.Row.ID).PIN
		h.put(state("A", "processed"))
		again := h.put(state("A", "started"))
		if next := h.pins(s.Row.ID).PIN; next == pin || next == "" {
			t.Error("a check-out taken back draws a new PIN")
		}
		same(t, "doors", []string{"r1 queued", "g1 queued"}, doorsOf(again.Plan))
		h.verify("r1", "g1")
		same(t, "doors", []string{"r1 verified", "g1 verified"}, doorsOf(h.plan("A")))
		if slices.Contains(h.events(s.Row.ID), "access.removed") {
			t.Errorf("%v: a stay that has access is not removed", h.events(s.Row.ID))
		}
	})
}

// A code of an earlier grant that a lock away still holds is not forgotten because a later one never reached it.
func TestRemovedIsSaidOfAllGrants(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := h.checkIn("A", "r1", "r1", "g1")
		h.put(state("A", "confirmed"))
		h.online(false)
		h.put(state("A", "started"))
		out := h.put(state("A", "processed"))
		same(t, "status", access.StatusRemoving, out.Plan.Status)
		if slices.Contains(h.events(s.Row.ID), "access.removed") {
			t.Error("removed, and the lock holds the first code")
		}
		h.online(true)
		h.verify("r1", "g1")
		same(t, "status", access.StatusRemoved, h.plan("A").Status)
		if kinds := h.events(s.Row.ID); kinds[len(kinds)-1] != "access.removed" {
			t.Errorf("events %v", kinds)
		}
	})
}

func TestWindowEnds(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := h.checkIn("A", "r1", "r1", "g1")
		pin := h.pins(s.Row.ID).PIN
		h.clock.Set(time.Date(2026, 11, 24, 10, 30, 0, 0, time.UTC))
		same(t, "over and not swept yet", access.StatusRemoving, h.plan("A").Status)
		if n := h.sweep(); n != 1 {
			t.Errorf("%d windows ended", n)
		}
		same(t, "doors", []string{"r1 removing windowPast", "g1 removing windowPast"}, doorsOf(h.plan("A")))
		h.verify("r1", "g1")
		same(t, "status", access.StatusRemoved, h.plan("A").Status)
		same(t, "nothing more to end", 0, h.sweep())

		h.clock.Advance(2 * time.Hour)
		h.online(true)
		s = h.put(reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-25T11:00:00+01:00"})
		same(t, "one night more", []string{"r1 queued", "g1 queued"}, doorsOf(s.Plan))
		if h.pins(s.Row.ID).PIN != pin {
			t.Error("one night more changed the PIN")
		}
		h.clock.Set(time.Date(2026, 11, 25, 10, 30, 0, 0, time.UTC))
		h.sweep()
		h.verify("r1", "g1")
		if h.livePINs() != 1 {
			t.Error("the PIN is kept in case the stay goes on")
		}
		h.clock.Advance(24 * time.Hour)
		h.sweep()
		if h.livePINs() != 0 {
			t.Error("the PIN is kept for ever")
		}
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-30T11:00:00+01:00"})
		if h.pins(s.Row.ID).PIN == "" || h.pins(s.Row.ID).PIN == pin {
			t.Error("a day later the stay has a PIN, and another one")
		}
	})
}

func TestCheckedOutAfterTheWindow(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.checkIn("A", "r1", "r1", "g1")
		h.clock.Set(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
		h.sweep()
		h.verify("r1", "g1")
		out := h.put(state("A", "processed"))
		same(t, "status", access.StatusRemoved, out.Plan.Status)
		if h.livePINs() != 0 {
			t.Error("a stay that is checked out keeps its PIN")
		}
	})
}

// A check-in whose end is past gives nothing, and says so.
func TestCheckInTooLate(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.put(booking("A", "r1"))
		h.clock.Set(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
		s := h.put(state("A", "started"))
		same(t, "reasons", []string{"windowPast"}, reasonsOf(s.Plan))
		same(t, "status", access.StatusNone, s.Plan.Status)
	})
}

func TestDormBeds(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
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
	each(t, func(t *testing.T, h *house) {
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

func TestUnmapped(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := h.put(with(booking("A", ""), reservation.SpaceID, theirs("r9"), reservation.State, "started"))
		same(t, "reasons", []string{"spaceUnknown"}, reasonsOf(s.Plan))
		same(t, "staff", []string{"spaceUnknown"}, h.notices(s.Row.ID))
		same(t, "events", []string{"access.failed"}, h.events(s.Row.ID))
		same(t, "no PIN without a door", access.Shown{}, h.pins(s.Row.ID))
		h.listed("r9")
		same(t, "reasons", []string{"spaceNotMapped"}, reasonsOf(h.plan("A")))

		h.space("r9", "Room", "", true)
		h.lock("r9")
		h.replan(space.Touched{Externals: []space.External{{IntegrationID: h.scope.IntegrationID, ID: theirs("r9")}}})
		same(t, "mapped", []string{"r9 queued", "g1 queued"}, doorsOf(h.plan("A")))
		same(t, "events", []string{"access.failed", "reservationPinGenerated", "access.issued"}, h.events(s.Row.ID))
	})
}

// A move to a room that is not mapped yet locks nobody out: the old door stays until the new one is known to open.
func TestMoveToAnUnmappedRoom(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
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
		h.replan(space.Touched{Externals: []space.External{{IntegrationID: h.scope.IntegrationID, ID: theirs("r9")}}})
		h.verify("r9")
		same(t, "moved", []string{"g1", "r9"}, h.present(s.Row.ID))
	})
}

func TestRoomWithoutALock(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := h.checkIn("A", "bare")
		same(t, "doors", []string{"bare none noLock"}, doorsOf(s.Plan))
		same(t, "status", access.StatusNone, s.Plan.Status)
		same(t, "no PIN, no event", []string(nil), h.events(s.Row.ID))
		same(t, "no PIN", access.Shown{}, h.pins(s.Row.ID))

		h.checkIn("B", "r1", "r1", "g1")
		h.put(reservation.Patch{reservation.PMSID: "B", reservation.SpaceID: theirs("bare")})
		b := h.plan("B")
		same(t, "the old door goes at once", access.StatusUpdating, b.Status)
		h.verify("r1", "g1")
		same(t, "doors", []string{"bare none noLock"}, doorsOf(h.plan("B")))

		h.settings(func(tx *db.Tx) error { return tx.Property.UpdateOneID(h.id).SetGatesAlone(true).Exec(tx.Context()) })
		h.replan(space.Touched{All: true})
		same(t, "gates alone", []string{"bare none noLock", "g1 queued"}, doorsOf(h.plan("A")))
	})
}

func TestLockAway(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.online(false)
		s := h.checkIn("A", "r1")
		same(t, "doors", []string{"r1 queued lockOffline", "g1 queued lockOffline"}, doorsOf(s.Plan))
		same(t, "status", access.StatusIssued, s.Plan.Status)
		out := h.put(state("A", "processed"))
		same(t, "what no bridge was told is gone at once", access.StatusRemoved, out.Plan.Status)
	})
}

// A bridge that fell silent is away, whatever its row says.
func TestBridgeSilent(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.clock.Advance(lock.Silence + time.Second)
		s := h.checkIn("A", "r1")
		same(t, "doors", []string{"r1 queued lockOffline", "g1 queued lockOffline"}, doorsOf(s.Plan))
	})
}

func TestBridgeRevoked(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.write(func(tx *db.Tx) error { _, err := lock.Revoke(tx, h.id, h.at("brg")); return err })
		s := h.checkIn("A", "r1")
		same(t, "doors", []string{"r1 queued bridgeRevoked", "g1 queued bridgeRevoked"}, doorsOf(s.Plan))
		same(t, "status", access.StatusFailed, s.Plan.Status)
		same(t, "staff", []string{"bridgeRevoked"}, h.notices(s.Row.ID))
		same(t, "events", []string{"reservationPinGenerated", "access.failed"}, h.events(s.Row.ID)[:2])
	})
}

func TestSlotsFull(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.capable("r1", func(c *slot.Capabilities) { c.Slots = 1 })
		h.checkIn("A", "r1", "r1", "g1")
		b := h.checkIn("B", "r1", "g1")
		same(t, "doors", []string{"r1 failed slotsFull", "g1 queued"}, doorsOf(b.Plan))
		same(t, "status", access.StatusPartial, b.Plan.Status)
		events := h.events(b.Row.ID)
		for range 3 {
			h.put(state("B", "started"))
		}
		same(t, "trying again is no event", events, h.events(b.Row.ID))
		h.put(state("A", "processed"))
		h.verify("r1")
		same(t, "a slot that becomes free goes to who waits", []string{"r1 queued", "g1 verified"}, doorsOf(h.plan("B")))
	})
}

func TestDuplicate(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := h.checkIn("A", "r1", "g1")
		drawn := map[string]bool{h.pins(s.Row.ID).PIN: true}
		for n := range 5 {
			h.says("r1", slot.Failed, slot.Duplicate)
			pin := h.pins(s.Row.ID).PIN
			if drawn[pin] || pin == "" {
				t.Fatalf("redraw %d gave no new PIN", n+1)
			}
			drawn[pin] = true
			for _, sl := range h.slots() {
				if h.wanted(sl) != pin {
					t.Fatalf("%s holds another PIN than %s shows", sl.DoorID, "the stay")
				}
			}
		}
		h.says("r1", slot.Failed, slot.Duplicate)
		if !drawn[h.pins(s.Row.ID).PIN] {
			t.Error("drawing anew has no end")
		}
		same(t, "doors", []string{"r1 failed duplicateOnLock", "g1 queued"}, doorsOf(h.plan("A")))
		same(t, "staff", []string{"duplicateOnLock"}, h.notices(s.Row.ID))
		if kinds := h.events(s.Row.ID); kinds[len(kinds)-1] != "access.failed" {
			t.Errorf("events %v", kinds)
		}
	})
}

func TestRefusedAndOccupied(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := h.checkIn("A", "r1", "g1")
		h.says("r1", slot.Failed, slot.Occupied)
		same(t, "another slot of the lock", []string{"r1 queued", "g1 verified"}, doorsOf(h.plan("A")))
		if rows := h.slotsAt("r1"); len(rows) != 2 || rows[0].Present || !rows[0].Foreign || !rows[1].Present {
			t.Errorf("slots of the lock: %+v", rows)
		}
		h.says("r1", slot.Failed, slot.InvalidFormat)
		same(t, "refused", []string{"r1 failed lockRefused", "g1 verified"}, doorsOf(h.plan("A")))
		same(t, "staff", []string{"lockRefused"}, h.notices(s.Row.ID))
	})
}

func TestPINPerDoor(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.capable("g1", func(c *slot.Capabilities) { c.Alphabet = "1234" })
		h.capable("r1", func(c *slot.Capabilities) { c.Alphabet = "56789" })
		s := h.checkIn("A", "r1", "r1", "g1")
		same(t, "doors", []string{"r1 verified", "g1 verified ownPin"}, doorsOf(h.plan("A")))
		shown := h.pins(s.Row.ID)
		if shown.PIN == "" || len(shown.Gates) != 1 || shown.Gates[0].PIN == shown.PIN {
			t.Errorf("shown %+v", shown)
		}
		h.capable("r2", func(c *slot.Capabilities) { c.ForbiddenPatterns = []string{"("} })
		moved := h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		same(t, "no PIN is possible", []string{"r2 failed pinNotPossible", "g1 verified ownPin", "r1 verified movingOut"}, doorsOf(moved.Plan))
		same(t, "staff", []string{"pinNotPossible"}, h.notices(s.Row.ID))
	})
}

func TestShortPIN(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.capable("r1", func(c *slot.Capabilities) { c.PINMax = 4 })
		s := h.checkIn("A", "r1", "r1", "g1")
		if len(h.pins(s.Row.ID).PIN) != 4 {
			t.Errorf("a lock that takes four digits got %d", len(h.pins(s.Row.ID).PIN))
		}
		same(t, "staff are warned", []string{"shortPin"}, h.notices(s.Row.ID))
	})
}

// A lock that is put on another door takes the codes of the old door along until they are cleared: at once.
func TestLockPutElsewhere(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
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
			return h.keeper().Replan(tx, h.id, space.Touched{SpaceIDs: []string{h.at("r1"), h.at("r3")}})
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
