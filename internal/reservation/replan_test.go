package reservation_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	entgrant "latchkey.dev/ent/grant"
	entreservation "latchkey.dev/ent/reservation"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

// due counts the stays that are marked to be planned.
func (h *testProperty) due() int {
	h.t.Helper()
	n, err := h.db.View(h.ctx()).Reservation.Query().Where(entreservation.PlanDueAtNotNil()).Count(h.ctx())
	h.must(err)
	return n
}

// codesAt counts the slots of the lock at a door that are in use.
func (h *testProperty) codesAt(door string) int {
	h.t.Helper()
	n, err := h.db.View(h.ctx()).Slot.Query().Where(entslot.LockID(h.at("lck-"+door)), entslot.Present(true)).Count(h.ctx())
	h.must(err)
	return n
}

// gate adds a gate for the whole property, with a lock, and has the stays planned again.
func (h *testProperty) gate(name string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		if err := tx.Gate.Create().SetID(h.at(name)).SetPropertyID(h.id).SetName(name).SetSpaceIds([]string{}).Exec(tx.Context()); err != nil {
			return err
		}
		if err := h.addLock(tx, name); err != nil {
			return err
		}
		return h.service().Replan(tx, h.id, space.AffectedStays{All: true})
	})
}

// A change of a property with many gates and stays plans some of them at once; the rest survives a process that is killed.
func TestPlanDuePlansDeferredStays(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		const gates, stays = 28, 25 // 300 / (29 + 2) = 9 at once
		h.caps.Slots = 2 * stays
		h.write(func(tx *db.Tx) error {
			return tx.Property.UpdateOneID(h.id).SetGatesAlone(true).Exec(tx.Context())
		})
		for i := range stays {
			h.checkIn("S"+number(i), "bare")
		}
		for i := range gates {
			h.write(func(tx *db.Tx) error {
				return tx.Gate.Create().SetID(h.at("far" + number(i))).SetPropertyID(h.id).SetName("far" + number(i)).SetSpaceIds([]string{}).Exec(tx.Context())
			})
		}
		h.gate("new")
		planned := h.codesAt("new")
		if planned == 0 || planned >= stays/2 || h.due() != stays-planned {
			t.Fatalf("the change planned %d stays and marked %d of %d", planned, h.due(), stays)
		}
		killed := errors.New("killed")
		err := h.db.Write(h.ctx(), func(tx *db.Tx) error {
			_, err := h.service().PlanDue(tx)
			return errors.Join(err, killed)
		})
		if !errors.Is(err, killed) || h.due() != stays-planned || h.codesAt("new") != planned {
			t.Fatalf("after a process that was killed %d stays are marked and %d planned: %v", h.due(), h.codesAt("new"), err)
		}
		for rounds := 0; h.due() > 0; rounds++ {
			before := h.due()
			h.write(func(tx *db.Tx) error { _, err := h.service().PlanDue(tx); return err })
			if done := before - h.due(); done <= 0 || done > planned {
				t.Fatalf("one transaction planned %d stays, want 1 to %d", done, planned)
			}
		}
		if n := h.codesAt("new"); n != stays {
			t.Errorf("%d of %d stays have a code at the new gate", n, stays)
		}
	})
}

func TestPlanDueSkipsStaysThatEnded(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1")
		h.write(func(tx *db.Tx) error {
			return tx.Reservation.Update().Where(entreservation.PropertyID(h.id)).SetPlanDueAt(tx.Now()).SetState("processed").Exec(tx.Context())
		})
		before := h.codesAt("r1")
		h.write(func(tx *db.Tx) error {
			due, err := h.service().PlanDue(tx)
			if len(due.IDs) != 1 || due.PropertyID != h.id {
				t.Errorf("%+v", due)
			}
			return err
		})
		if h.due() != 0 || h.codesAt("r1") != before {
			t.Errorf("%d marked, %d codes after %d", h.due(), h.codesAt("r1"), before)
		}
	})
}

func TestPostponedStayDoesNotBlockOthers(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1")
		h.checkIn("B", "r2")
		a, b := h.row("A").ID, h.row("B").ID
		h.write(func(tx *db.Tx) error {
			err := tx.Reservation.Update().Where(entreservation.PropertyID(h.id)).SetPlanDueAt(tx.Now()).Exec(tx.Context())
			return errors.Join(err, reservation.PostponePlan(tx, h.id, a), h.service().PlanOne(tx, h.id, a))
		})
		var due reservation.Due
		h.write(func(tx *db.Tx) (err error) { due, err = h.service().PlanDue(tx); return err })
		if len(due.IDs) != 1 || due.IDs[0] != b || h.due() != 1 {
			t.Errorf("%+v, %d marked", due, h.due())
		}
	})
}

// A clock that was ahead has marked a stay and was then set back: the stay does not wait until the clock has caught up. A retry waits.
func TestPlanDueAfterTheClockWasSetBack(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1")
		h.checkIn("B", "r2")
		h.markDue(-time.Hour, "A")
		h.markDue(-time.Minute, "B")
		var due reservation.Due
		h.write(func(tx *db.Tx) (err error) { due, err = h.service().PlanDue(tx); return err })
		if len(due.IDs) != 1 || due.IDs[0] != h.row("A").ID || h.due() != 1 {
			t.Errorf("planned %v, %d marked, want only the stay that is marked further ahead than a retry", due.IDs, h.due())
		}
	})
}

// replanSpaces plans the stays of some spaces again.
func (h *testProperty) replanSpaces(spaces ...string) error {
	var t space.AffectedStays
	for _, s := range spaces {
		t.SpaceIDs = append(t.SpaceIDs, h.at(s))
		t.Externals = append(t.Externals, space.External{IntegrationID: h.scope.IntegrationID, ID: theirs(s)})
	}
	return h.db.Write(h.ctx(), func(tx *db.Tx) error { return h.service().Replan(tx, h.id, t) })
}

// markDue marks stays to be planned from some time before now.
func (h *testProperty) markDue(ago time.Duration, ids ...string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		return tx.Reservation.Update().Where(entreservation.PropertyID(h.id), entreservation.PmsIDIn(ids...)).SetPlanDueAt(tx.Now().Add(-ago)).Exec(tx.Context())
	})
}

func TestReplanPlansTheTouchedStaysFirst(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		const waiting = 101 // 300 / (1 + 2) = 100 at once
		var ids []string
		for i := range waiting {
			ids = append(ids, "W"+number(i))
			h.put(booking(ids[i], "bare"))
		}
		h.checkIn("A", "r1")
		h.markDue(time.Hour, ids...)
		h.markDue(time.Minute, "A")
		h.must(h.replanSpaces("r1"))
		if due := h.row("A").PlanDueAt; due != nil {
			t.Errorf("the stay in the touched space still waits, since %v", due)
		}
		if n := h.due(); n != waiting {
			t.Errorf("%d other stays wait, want %d", n, waiting)
		}
	})
}

func TestReplanKeepsTheQueueOfDueStays(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		const stays = 102 // 300 / (1 + 2) = 100 at once
		var ids []string
		for i := range stays {
			ids = append(ids, "S"+number(i))
			h.put(booking(ids[i], "bare"))
		}
		h.write(func(tx *db.Tx) error {
			return tx.Reservation.Update().Where(entreservation.PropertyID(h.id)).SetState("started").Exec(tx.Context())
		})
		h.markDue(time.Hour, ids[:100]...)
		h.markDue(time.Minute, ids[100])
		h.markDue(-time.Minute, ids[101]) // put off
		h.must(h.replanSpaces("bare"))
		if h.due() != 2 {
			t.Fatalf("%d stays wait, want the latest 2", h.due())
		}
		if due := h.row(ids[100]).PlanDueAt; due == nil || !due.Equal(morning.Add(-time.Minute)) {
			t.Errorf("the stay that was due is due at %v", due)
		}
		if due := h.row(ids[101]).PlanDueAt; due == nil || !due.Equal(morning) {
			t.Errorf("the postponed stay is due at %v", due)
		}
	})
}

func TestFailingStayDoesNotRefuseAChange(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1")
		h.checkIn("B", "r2")
		// A new grant for B violates the rule that a reservation has one open grant.
		h.write(func(tx *db.Tx) error {
			return tx.Grant.Update().Where(entgrant.PropertyID(h.id), entgrant.ReservationID(h.row("B").ID)).SetEndedAt(tx.Now()).Exec(tx.Context())
		})
		h.markDue(time.Hour, "B")
		h.must(h.replanSpaces("r1"))
		if h.row("B").PlanDueAt == nil {
			t.Error("the stay in the other space is no longer marked")
		}
		h.must(h.replanSpaces("r1", "r2"))
		if h.row("A").PlanDueAt == nil || h.row("B").PlanDueAt == nil {
			t.Error("the stays of a batch that failed are no longer marked")
		}
		err := h.db.Write(h.ctx(), func(tx *db.Tx) error { return h.service().PlanOne(tx, h.id, h.row("B").ID) })
		if err == nil {
			t.Error("the plan of B does not fail: this test checks nothing")
		}
	})
}

// SQLite allows 1,000 levels of an expression and 32,766 parameters; a property may have 10,000 spaces.
func TestReplanOfManySpaces(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1")
		h.markDue(-time.Minute, "A")
		spaces := []string{"r1"}
		for i := range 10_000 {
			spaces = append(spaces, "s"+number(i))
		}
		h.must(h.replanSpaces(spaces...))
		if due := h.row("A").PlanDueAt; due != nil {
			t.Errorf("the stay in one of many touched spaces still waits, until %v", due)
		}
	})
}

// assignLock moves a lock to a door and plans the stays at both doors again, as the dashboard does.
func (h *testProperty) assignLock(name, from, to string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		touched, err := space.StaysAtDoors(tx, h.id, h.at(from), h.at(to))
		if err != nil {
			return err
		}
		if _, err := lock.AssignDoor(tx, h.id, h.at("lck-"+name), h.at(to)); err != nil {
			return err
		}
		return h.service().Replan(tx, h.id, touched)
	})
}

// A guest keeps the code on the old door while the new one does not open. If the lock of the old door is moved to another room meanwhile, the
// code must leave it: it would open the room of other guests.
func TestLockOfALeftDoorMoves(t *testing.T) {
	for name, leave := range map[string]reservation.Patch{
		"the guest moves out":       {reservation.PMSID: "A", reservation.SpaceID: theirs("r2")},
		"the room is taken away":    {reservation.PMSID: "A", reservation.SpaceID: nil},
		"the new room has no entry": {reservation.PMSID: "A", reservation.SpaceID: theirs("r9")},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				a := h.checkIn("A", "r1", "r1", "g1")
				h.put(leave)
				if !slices.Contains(h.present(a.Row.ID), "r1") {
					t.Fatal("the guest has left the door at once")
				}
				h.assignLock("r1", "r1", "bare")
				if slices.Contains(h.present(a.Row.ID), "r1") {
					t.Error("the code opens the room that the lock was moved to")
				}
			})
		})
	}
}
