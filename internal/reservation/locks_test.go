package reservation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/access/code"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

func TestUnmapped(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.put(with(booking("A", ""), reservation.SpaceID, theirs("r9"), reservation.State, "started"))
		same(t, "reasons", []string{"spaceUnknown"}, reasonsOf(s.Plan))
		same(t, "staff", []string{"spaceUnknown"}, h.notices(s.Row.ID))
		same(t, "events", []string{"access.failed"}, h.events(s.Row.ID))
		same(t, "no PIN without a door", access.StayPINs{}, h.pins(s.Row.ID))
		h.listed("r9")
		same(t, "reasons", []string{"spaceNotMapped"}, reasonsOf(h.plan("A")))

		h.space("r9", "Room", "", true)
		h.lock("r9")
		h.replan(space.AffectedStays{Externals: []space.External{{IntegrationID: h.scope.IntegrationID, ID: theirs("r9")}}})
		same(t, "mapped", []string{"r9 queued", "g1 queued"}, doorsOf(h.plan("A")))
		same(t, "events", []string{"access.failed", "reservationPinGenerated", "access.issued"}, h.events(s.Row.ID))
	})
}

func TestRoomWithoutALock(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "bare")
		same(t, "doors", []string{"bare none noLock"}, doorsOf(s.Plan))
		same(t, "status", access.StatusNone, s.Plan.Status)
		same(t, "no PIN, no event", []string(nil), h.events(s.Row.ID))
		same(t, "no PIN", access.StayPINs{}, h.pins(s.Row.ID))

		h.checkIn("B", "r1", "r1", "g1")
		h.put(reservation.Patch{reservation.PMSID: "B", reservation.SpaceID: theirs("bare")})
		b := h.plan("B")
		same(t, "the old door goes at once", access.StatusRemoving, b.Status)
		h.verify("r1", "g1")
		same(t, "doors", []string{"bare none noLock"}, doorsOf(h.plan("B")))

		h.settings(func(tx *db.Tx) error { return tx.Property.UpdateOneID(h.id).SetGatesAlone(true).Exec(tx.Context()) })
		h.replan(space.AffectedStays{All: true})
		same(t, "gates alone", []string{"bare none noLock", "g1 queued"}, doorsOf(h.plan("A")))
		shared := h.pins(s.Row.ID)
		same(t, "the PIN opens the gate", shared.PIN, shared.Gates[0].PIN)
		h.reset(s.Row.ID, access.PartGates)
		own := h.pins(s.Row.ID)
		same(t, "no PIN that opens nothing", "", own.PIN)
		if len(own.Gates) != 1 || own.Gates[0].PIN == shared.PIN {
			t.Error("the gate has no PIN of its own")
		}
	})
}

func TestLockUnreachable(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.online(false)
		s := h.checkIn("A", "r1")
		same(t, "doors", []string{"r1 queued lockOffline", "g1 queued lockOffline"}, doorsOf(s.Plan))
		same(t, "status", access.StatusIssued, s.Plan.Status)
		out := h.put(state("A", "processed"))
		same(t, "what no bridge was notices is gone at once", access.StatusRemoved, out.Plan.Status)
	})
}

// A bridge that fell silent is away, whatever its row says.
func TestBridgeSilent(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.clock.Advance(bridge.MaxSilence + time.Second)
		s := h.checkIn("A", "r1")
		same(t, "doors", []string{"r1 queued lockOffline", "g1 queued lockOffline"}, doorsOf(s.Plan))
	})
}

func TestBridgeRevoked(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.write(func(tx *db.Tx) error { _, err := bridge.Revoke(tx, h.id, h.at("brg"), lock.MarkLinksLost); return err })
		s := h.checkIn("A", "r1")
		same(t, "doors", []string{"r1 queued bridgeRevoked", "g1 queued bridgeRevoked"}, doorsOf(s.Plan))
		same(t, "status", access.StatusFailed, s.Plan.Status)
		same(t, "staff", []string{"bridgeRevoked"}, h.notices(s.Row.ID))
		same(t, "events", []string{"reservationPinGenerated", "access.failed"}, h.events(s.Row.ID)[:2])
	})
}

func TestSlotsFull(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
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

// A lock may have fewer slots than its bridge first assumed. Once the bridge knows, a code that the lock refused goes to another slot.
func TestRefusedCodeMovesToASlotThatTheLockHas(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1", "r1", "g1")
		h.put(state("A", "processed"))
		h.verify("r1")
		b := h.checkIn("B", "r1", "g1")
		h.reportSlots("r1", slot.Failed, slot.SlotsFull)
		same(t, "refused", []string{"r1 failed slotsFull", "g1 verified"}, doorsOf(h.plan("B")))
		h.capable("r1", func(c *slot.Capabilities) { c.Slots = 1 })
		h.replan(space.AffectedStays{SpaceIDs: []string{h.at("r1")}})
		same(t, "in another slot", []string{"r1 queued", "g1 verified"}, doorsOf(h.plan("B")))
		h.verify("r1")
		same(t, "status", access.StatusIssued, h.plan("B").Status)
		same(t, "staff", []string(nil), h.openProblems(b.Row.ID))
	})
}

// The gate of two rooms has a single place, and more than a few stays of the house that it does not serve, or that have no
// lock of their own, came before the waiting stay.
func TestFreedGateSlotGoesToAWaitingStay(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("g1", func(c *slot.Capabilities) { c.Slots = 1 })
		h.write(func(tx *db.Tx) error {
			return tx.Gate.UpdateOneID(h.at("g1")).SetSpaceIds([]string{h.at("r1"), h.at("d1"), h.at("bare")}).Exec(tx.Context())
		})
		h.capable("r3", func(c *slot.Capabilities) { c.Slots = 50 })
		h.checkIn("A", "r1", "r1", "g1")
		for i := range 21 {
			h.checkIn("o"+number(i), "r3")
			h.checkIn("n"+number(i), "bare")
		}
		for _, id := range []string{"B", "C"} {
			bed := map[string]string{"B": "b1", "C": "b2"}[id]
			b := h.checkIn(id, bed, bed, "d1")
			same(t, "doors", "g1 failed slotsFull", doorsOf(b.Plan)[2])
		}
		h.put(state("A", "processed"))
		h.verify("g1") // gone
		h.verify("g1") // and B's is there
		same(t, "who came first", []string{"b1 verified", "d1 verified", "g1 verified"}, doorsOf(h.plan("B")))
		same(t, "the next", []string{"b2 verified", "d1 verified", "g1 failed slotsFull"}, doorsOf(h.plan("C")))
	})
}

func TestDuplicate(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1", "g1")
		drawn := map[string]bool{h.pins(s.Row.ID).PIN: true}
		for n := range 5 {
			h.reportSlots("r1", slot.Failed, slot.Duplicate)
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
		h.reportSlots("r1", slot.Failed, slot.Duplicate)
		if !drawn[h.pins(s.Row.ID).PIN] {
			t.Error("drawing again has no end")
		}
		same(t, "doors", []string{"r1 failed duplicateOnLock", "g1 queued"}, doorsOf(h.plan("A")))
		same(t, "staff", []string{"duplicateOnLock"}, h.notices(s.Row.ID))
		if kinds := h.events(s.Row.ID); kinds[len(kinds)-1] != "access.failed" {
			t.Errorf("events %v", kinds)
		}
	})
}

func TestRefusedAndOccupied(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1", "g1")
		h.reportSlots("r1", slot.Failed, slot.Occupied)
		same(t, "another slot of the lock", []string{"r1 queued", "g1 verified"}, doorsOf(h.plan("A")))
		if rows := h.slotsAt("r1"); len(rows) != 2 || rows[0].Present || !rows[0].Foreign || !rows[1].Present {
			t.Errorf("slots of the lock: %+v", rows)
		}
		h.reportSlots("r1", slot.Failed, slot.InvalidFormat)
		same(t, "refused", []string{"r1 failed lockRefused", "g1 verified"}, doorsOf(h.plan("A")))
		same(t, "staff", []string{"lockRefused"}, h.notices(s.Row.ID))
	})
}

func TestNoticeNamesEachDoor(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1")
		h.reportSlots("r1", slot.Failed, slot.InvalidFormat)
		same(t, "a door", []string{"“r1”."}, h.affected(s.Row.ID))
		h.reportSlots("g1", slot.Failed, slot.InvalidFormat)
		same(t, "one notice", []string{"lockRefused"}, h.notices(s.Row.ID))
		same(t, "both doors", []string{"“r1” “g1”."}, h.affected(s.Row.ID))
	})
}

func TestPINPerDoor(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
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
		same(t, "the door", []string{"“r2”."}, h.affected(s.Row.ID))
	})
}

// The guest is shown the PIN of each door that the code of the room or bed does not open: without it the dorm, or the old room, is shut.
func TestShownPINOfAnotherDoor(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		kind := func(pin string) string { // the row of the keypad from which the digits are
			for i, digits := range []string{"123", "456", "789"} {
				if pin != "" && strings.Trim(pin, digits) == "" {
					return fmt.Sprint(i + 1)
				}
			}
			return "none"
		}
		shown := func(rsv string) (all []string) {
			pins := h.pins(rsv)
			for _, g := range pins.Gates {
				all = append(all, g.Name+" "+kind(g.PIN))
			}
			slices.Sort(all)
			return append([]string{kind(pins.PIN)}, all...)
		}
		for door, digits := range map[string]string{"b1": "123", "d1": "456", "g1": "456", "r1": "789", "r2": "123"} {
			h.capable(door, func(c *slot.Capabilities) { c.Alphabet = digits })
		}
		h.capable("r3", func(c *slot.Capabilities) { c.ForbiddenPatterns = []string{"("} })
		h.put(with(booking("A", ""), reservation.BedID, theirs("b1"), reservation.RoomID, theirs("d1")))
		a := h.put(state("A", "started"))
		same(t, "a bed", []string{"1", "d1 2", "g1 2"}, shown(a.Row.ID))
		b := h.checkIn("B", "r1", "r1", "g1")
		same(t, "a room", []string{"3", "g1 2"}, shown(b.Row.ID))
		h.put(reservation.Patch{reservation.PMSID: "B", reservation.SpaceID: theirs("r2")})
		same(t, "moving", []string{"1", "g1 2", "r1 3"}, shown(b.Row.ID))
		h.put(reservation.Patch{reservation.PMSID: "B", reservation.SpaceID: theirs("r3")})
		same(t, "to a lock that takes no PIN", []string{"none", "g1 2", "r1 3", "r2 1"}, shown(b.Row.ID))
	})
}

func TestShortPIN(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r1", func(c *slot.Capabilities) { c.PINMax = 4 })
		s := h.checkIn("A", "r1", "r1", "g1")
		if len(h.pins(s.Row.ID).PIN) != 4 {
			t.Errorf("a lock that takes four digits got %d", len(h.pins(s.Row.ID).PIN))
		}
		same(t, "staff are warned", []string{"shortPin"}, h.notices(s.Row.ID))
		same(t, "the door", []string{"“r1”."}, h.affected(s.Row.ID))
	})
}

// A code from before a change stays on an unreachable lock, and the plan does not call the door shut: neither the former PIN nor
// dates that were taken back.
func TestChangeForAnUnreachableLock(t *testing.T) {
	for name, change := range map[string]func(h *testProperty, rsv string, round int){
		"another PIN": func(h *testProperty, rsv string, _ int) { h.reset(rsv, access.PartPIN) },
		"other dates": func(h *testProperty, _ string, round int) {
			h.put(reservation.Patch{reservation.PMSID: "A", reservation.From: fmt.Sprintf("2026-11-22T%d:00:00+01:00", 15+round)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				s := h.checkIn("A", "r1", "r1", "g1")
				for round := range 2 {
					h.online(false)
					change(h, s.Row.ID, round)
					p := h.plan("A")
					if !slices.Contains(p.Reasons, access.FormerCode) || !p.Doors[0].MayBeInstalled {
						t.Errorf("reasons %v, doors %+v", p.Reasons, p.Doors)
					}
					same(t, "status", access.StatusUpdating, p.Status)
					notices := slices.DeleteFunc(h.notices(s.Row.ID), func(kind string) bool { return kind != "formerCode" })
					same(t, "staff, each time", round+1, len(notices))
					h.online(true)
					h.verify("r1", "g1")
					if p = h.plan("A"); slices.Contains(p.Reasons, access.FormerCode) || p.Doors[0].MayBeInstalled {
						t.Errorf("once it was reported: reasons %v, doors %+v", p.Reasons, p.Doors)
					}
				}
				b := h.checkIn("B", "r2", "r2", "g1")
				h.online(false)
				h.put(state("B", "processed"))
				again := h.put(state("B", "started"))
				same(t, "a check-out that is taken back", true, slices.Contains(again.Plan.Reasons, access.FormerCode))
				same(t, "staff", true, slices.Contains(h.notices(b.Row.ID), "formerCode"))
				first := h.checkIn("C", "r3")
				same(t, "a first code", false, slices.Contains(first.Plan.Reasons, access.FormerCode))
			})
		})
	}
}

// A code that was never sent to its lock frees its slot once the code is not desired, because no evidence will follow.
func TestSlotFreedAtOnceGoesToAWaitingStay(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r1", func(c *slot.Capabilities) { c.Slots = 2 })
		h.online(false)
		desk := h.code(code.Spec{Kind: code.Staff, Holder: "Desk", DoorIDs: []string{h.at("r1")}})
		h.checkIn("A", "r1")
		for _, id := range []string{"B", "C"} {
			same(t, "no room", "r1 failed slotsFull", doorsOf(h.checkIn(id, "r1").Plan)[0])
		}
		h.put(state("A", "canceled"))
		same(t, "after a stay", "r1 queued lockOffline", doorsOf(h.plan("B"))[0])
		h.ends(desk)
		same(t, "after a code", "r1 queued lockOffline", doorsOf(h.plan("C"))[0])
	})
}
