package reservation_test

import (
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
)

// reportOpening reports an opening with a code, possibly late, as the bridge.
func (h *testProperty) reportOpening(sequence int64, at time.Time, s *ent.Slot, generation int64) {
	h.t.Helper()
	h.reportEvent(lock.LockEvent{Sequence: sequence, Kind: "opened", Slot: s.Number, Generation: generation, OccurredAt: at}, s.LockID)
}

// reportEvent reports an event at a lock, as the bridge.
func (h *testProperty) reportEvent(what lock.LockEvent, lockID string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		lk, err := lock.Get(tx, h.id, lockID)
		if err != nil {
			return err
		}
		what.Address = lk.Address
		_, learned, err := lock.StoreEvents(tx, h.at("brg"), epoch, []lock.LockEvent{what})
		if err != nil {
			return err
		}
		return h.applyEvidence(tx, learned)
	})
}

// The bridge got the code and its answers were lost: what it reports of the openings, and later of the removal, moves none.
func TestOpeningsKeepTheirTimes(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.checkIn("A", "r1").Row.ID
		row := h.slotsAt("r1")[0]
		for n := range 3 {
			h.clock.Set(morning.Add(time.Duration(10+n) * time.Minute))
			h.reportOpening(int64(1+n), h.clock.Now(), row, row.Generation)
		}
		h.clock.Set(morning.Add(20 * time.Minute))
		h.reportSlots("r1", slot.Verified, slot.OK)
		kinds := []string{"doorOpened", "checkedOut", "codeRemoved"}
		openings := []string{"10 doorOpened r1", "11 doorOpened r1", "12 doorOpened r1"}
		same(t, "during the stay", openings, h.steps(rsv, kinds...))
		h.clock.Set(morning.Add(30 * time.Minute))
		h.put(state("A", "processed"))
		h.clock.Set(morning.Add(31 * time.Minute))
		h.verify("r1")
		same(t, "after the stay", append(openings, "30 checkedOut ", "31 codeRemoved r1"), h.steps(rsv, kinds...))
	})
}

// A bridge reports an opening only after it has carried out new dates: the code was typed before them.
func TestOpeningBeforeNewDatesKeepsItsTime(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.checkIn("A", "r1", "r1").Row.ID
		h.clock.Set(morning.Add(12 * time.Minute))
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-26T11:00:00+01:00"})
		h.verify("r1")
		row := h.slotsAt("r1")[0]
		h.clock.Set(morning.Add(15 * time.Minute))
		for n := range 2 {
			h.reportOpening(int64(1+n), morning.Add(time.Duration(10+n)*time.Minute), row, row.Generation)
		}
		same(t, "the openings", []string{"10 doorOpened r1", "11 doorOpened r1"}, h.steps(rsv, "doorOpened"))
	})
}

// A bridge whose clock is behind reports an opening of before the code was asked for: it is of then, at the earliest.
func TestNoOpeningBeforeItsCode(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.clock.Set(morning.Add(5 * time.Minute))
		rsv := h.checkIn("A", "r1").Row.ID
		h.clock.Set(morning.Add(10 * time.Minute))
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		row := h.slotsAt("r2")[0]
		h.clock.Set(morning.Add(20 * time.Minute))
		h.reportOpening(1, morning.Add(7*time.Minute), row, row.Generation)
		same(t, "the story", []string{"10 roomChanged ", "10 doorOpened r2"}, h.steps(rsv, "roomChanged", "doorOpened"))
	})
}

// A lock is taken off one door and put on another, and its bridge reports late what happened at the first.
func TestOpeningHasTheDoorOfItsTime(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
		row := h.slotsAt("r1")[0]
		code := row.Generation
		h.clock.Set(morning.Add(10 * time.Minute))
		h.moveLock("r3", "")
		h.moveLock("r1", "")
		h.moveLock("r1", "r3")
		h.clock.Set(morning.Add(20 * time.Minute))
		h.reportOpening(1, morning.Add(5*time.Minute), row, code)
		same(t, "the opening", []string{"5 doorOpened r1"}, h.steps(rsv, "doorOpened"))
		for _, step := range h.explained(rsv).Steps {
			if step.DoorName == "r3" {
				t.Errorf("the guest never had r3: %+v", step)
			}
		}
	})
}

// The stay is over, its code is gone, and the slot is another's. Then the bridge reports that the door was opened before: by the
// stay that had the code.
func TestOpeningBelongsToTheStayThatHadTheSlot(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r1", func(c *slot.Capabilities) { c.Slots = 1 })
		first := h.checkIn("A", "r1", "r1", "g1").Row.ID
		row := h.slotsAt("r1")[0]
		code := row.Generation
		h.clock.Set(morning.Add(10 * time.Minute))
		h.put(state("A", "processed"))
		h.verify("r1", "g1")
		h.clock.Set(morning.Add(20 * time.Minute))
		second := h.checkIn("B", "r1", "r1", "g1").Row.ID
		if now := h.slotsAt("r1")[0]; now.ID != row.ID || now.GrantID == row.GrantID {
			t.Fatalf("the slot is of %s, and was of %s", now.GrantID, row.GrantID)
		}
		h.clock.Set(morning.Add(30 * time.Minute))
		h.reportOpening(1, morning.Add(5*time.Minute), row, code)
		same(t, "the stay that opened", []string{"5 doorOpened r1", "10 checkedOut "}, h.steps(first, "doorOpened", "checkedOut"))
		same(t, "the stay that has the slot", []string(nil), h.steps(second, "doorOpened"))
	})
}

// Openings by staff and refused strangers at the door of a room are steps; at a gate they are not.
func TestVisitorsOfARoomAreSteps(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
		at := func(minute int, kind event.Kind, name string, body map[string]any) {
			h.clock.Set(morning.Add(time.Duration(minute) * time.Minute))
			body["doorId"], body["lockId"] = h.at(name), h.at("lck-"+name)
			h.write(func(tx *db.Tx) error {
				return event.Append(tx, event.Event{PropertyID: h.id, Subject: h.at("lck-" + name), Kind: kind, Body: body})
			})
		}
		at(5, event.DoorDenied, "r1", map[string]any{"reason": "wrongPin"})
		at(6, event.DoorOpened, "r1", map[string]any{"actId": "act_1", "actor": "tok_1"})
		for n := range 250 {
			at(7+n, event.DoorDenied, "g1", map[string]any{"reason": "wrongPin"})
			at(7+n, event.DoorOpened, "r1", map[string]any{}) // by hand
		}
		same(t, "the story", []string{"5 otherCodeDenied r1", "6 doorOpenedByStaff r1"}, h.steps(rsv, "otherCodeDenied", "doorOpenedByStaff"))
		if h.explained(rsv).Truncated {
			t.Error("nothing was left out")
		}
		for room, want := range map[string]int{"r1": 1, "r2": 0} {
			unlocks, err := lock.RemoteUnlocks(h.db.View(h.ctx()), h.id, h.at(room), 50)
			h.must(err)
			if len(unlocks) != want {
				t.Errorf("%d remote unlocks at %s, want %d", len(unlocks), room, want)
			}
		}
		h.clock.Set(morning.Add(300 * time.Minute))
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		h.verify("r2", "r1")
		at(310, event.DoorDenied, "r1", map[string]any{"reason": "wrongPin"})
		same(t, "after a move", []string{"5 otherCodeDenied r1", "6 doorOpenedByStaff r1"}, h.steps(rsv, "otherCodeDenied", "doorOpenedByStaff"))
	})
}
