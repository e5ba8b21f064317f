package reservation_test

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/reservation/explain"
	"latchkey.dev/internal/space"
)

// explained explains a stay.
func (h *testProperty) explained(rsv string) (e explain.Explanation) {
	h.t.Helper()
	e, err := explain.Of(h.db.View(h.ctx()), h.service(), h.scope, rsv)
	h.must(err)
	return e
}

// steps are the steps of some kinds, each with its minute after the morning, its kind and its door.
func (h *testProperty) steps(rsv string, kinds ...string) (out []string) {
	h.t.Helper()
	for _, s := range h.explained(rsv).Steps {
		if slices.Contains(kinds, s.Kind) {
			out = append(out, number(int(s.At.Sub(morning).Minutes()))+" "+s.Kind+" "+s.DoorName)
		}
	}
	return out
}

// moveLock puts a lock on a door, or takes it off for "".
func (h *testProperty) moveLock(name, door string) {
	h.t.Helper()
	if door != "" {
		door = h.at(door)
	}
	h.write(func(tx *db.Tx) error {
		if _, err := lock.AssignDoor(tx, h.id, h.at("lck-"+name), door); err != nil {
			return err
		}
		return h.service().Replan(tx, h.id, space.AffectedStays{All: true})
	})
}

// linked records that a lock at a door was lost, or is back.
func (h *testProperty) linked(name, door string, kind event.Kind) {
	h.t.Helper()
	subject := h.at("lck-" + name)
	if kind.Internal() {
		subject = event.InternalSubject(subject)
	}
	h.write(func(tx *db.Tx) error {
		return event.Append(tx, event.Event{PropertyID: h.id, Subject: subject, Kind: kind,
			Body: map[string]any{"lockId": h.at("lck-" + name), "doorId": h.at(door), "reason": "lockOffline"}})
	})
}

// Many openings of a gate by others leave the loss and the return of its lock in the timeline.
func TestManyOpeningsDoNotCrowdOutALoss(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
		lost := []string{"10 lockOffline g1", "11 lockOnline g1"}
		for n, kind := range []event.Kind{event.LockOffline, event.LockOnline} {
			h.clock.Set(morning.Add(time.Duration(10+n) * time.Minute))
			h.linked("g1", "g1", kind)
		}
		same(t, "at first", lost, h.steps(rsv, "lockOffline", "lockOnline"))
		for n := range 120 {
			h.clock.Set(morning.Add(20*time.Minute + time.Duration(n)*time.Second))
			h.reportEvent(lock.LockEvent{Sequence: int64(1 + n), Kind: "opened", OccurredAt: h.clock.Now()}, h.at("lck-g1"))
		}
		same(t, "when many have passed", lost, h.steps(rsv, "lockOffline", "lockOnline"))
	})
}

// The code is taken off the lock that the door had before: that is said, and is no word on the door.
func TestFormerLockOfADoorIsCleared(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
		h.moveLock("r2", "")
		h.moveLock("r1", "")
		h.moveLock("r2", "r1")
		h.clock.Set(morning.Add(5 * time.Minute))
		h.verify("r2")
		h.clock.Set(morning.Add(10 * time.Minute))
		h.verify("r1")
		same(t, "the door", "r1 verified", doorsOf(h.plan("A"))[0])
		same(t, "the story", []string{"0 codeVerified r1", "5 codeVerified r1", "10 formerCodeRemoved r1"},
			onDoor(h.steps(rsv, "codeVerified", "codeRemoved", "formerCodeRemoved"), "r1"))
		if last := h.lastEvidence(rsv, "r1"); last != slot.Verified {
			t.Errorf("the last evidence of r1 is %q", last)
		}
	})
}

// A check-out is taken back: the code of before is cleared when that of now is on the lock already.
func TestEarlierGrantIsCleared(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
		h.clock.Set(morning.Add(10 * time.Minute))
		h.put(state("A", "processed"))
		h.clock.Set(morning.Add(20 * time.Minute))
		h.put(state("A", "started"))
		before, now := h.slotsAt("r1")[0], h.slotsAt("r1")[1]
		says := func(minute int, s *ent.Slot) {
			h.clock.Set(morning.Add(time.Duration(minute) * time.Minute))
			h.write(func(tx *db.Tx) error {
				return h.reportEvidence(tx, "r1", []lock.Observation{{Number: s.Number, Observed: slot.Observed{
					Generation: uint64(s.Generation), Present: s.Present, Evidence: slot.Verified, At: tx.Now(),
				}}})
			})
		}
		says(21, now)
		says(22, before)
		same(t, "the story", []string{"0 codeVerified r1", "21 codeVerified r1", "22 formerCodeRemoved r1"},
			onDoor(h.steps(rsv, "codeVerified", "codeRemoved", "formerCodeRemoved"), "r1"))
		if last := h.lastEvidence(rsv, "r1"); last != slot.Verified {
			t.Errorf("the last evidence of r1 is %q", last)
		}
	})
}

// A swap of rooms changes the access of both stays, and each gets one step for it.
func TestSwapIsOneStep(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		a, b := h.checkIn("A", "r1", "r1", "g1"), h.checkIn("B", "r2", "r2", "g1")
		h.clock.Set(morning.Add(10 * time.Minute))
		h.write(func(tx *db.Tx) error {
			for _, to := range [][2]string{{"A", "r2"}, {"B", "r1"}} {
				_, err := h.service().Upsert(tx, h.scope, reservation.Patch{reservation.PMSID: to[0], reservation.SpaceID: theirs(to[1])}, nil)
				if err != nil {
					return err
				}
			}
			return nil
		})
		for _, s := range []reservation.Stored{a, b} {
			same(t, "the change", []string{"10 accessUpdated "}, h.steps(s.Row.ID, "accessUpdated"))
		}
	})
}

// While a phone or a code of the stay may still open a door, its openings are steps, even after the stay and after the access is
// removed.
func TestOpeningsAfterTheStayAreSteps(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r1", func(c *slot.Capabilities) { c.RemoteUnlock = true })
		rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
		row := h.slotsAt("r1")[0]
		grant := h.db.View(h.ctx()).Grant.Query().Where(entgrant.ReservationID(rsv)).OnlyX(h.ctx())
		phone := lock.PhoneActorPrefix + id.New(id.Phone)
		var order lock.UnlockCommand
		h.write(func(tx *db.Tx) (err error) {
			if err := tx.Bridge.UpdateOneID(h.at("brg")).SetLastSeenAt(tx.Now()).Exec(tx.Context()); err != nil {
				return err
			}
			order, err = lock.StoreSmartKeyCommand(tx, lock.Node{}, h.id, row.LockID, phone, grant.ID, lock.SmartKeyUnlock, time.Now().Add(lock.MaxDeadline))
			if err != nil {
				return err
			}
			_, err = lock.ClaimCommand(tx, h.at("brg"), epoch, order.CommandID)
			return err
		})
		h.clock.Set(morning.Add(10 * time.Minute))
		h.put(state("A", "processed"))
		h.verify("r1", "g1")
		h.clock.Set(morning.Add(11 * time.Minute))
		h.write(func(tx *db.Tx) error {
			_, err := lock.FinishCommand(tx, h.at("brg"), order.CommandID, lock.CommandDone, "ok", tx.Now())
			return err
		})
		h.clock.Set(morning.Add(12 * time.Minute))
		h.reportEvent(lock.LockEvent{Sequence: 1, Kind: "denied", Reason: lock.RefusedKeyPrefix + "revoked", Actor: phone, GrantID: grant.ID, OccurredAt: h.clock.Now()}, row.LockID)
		h.clock.Set(morning.Add(20 * time.Minute))
		h.reportOpening(2, morning.Add(9*time.Minute), row, row.Generation)
		same(t, "the story", []string{"9 doorOpened r1", "10 checkedOut ", "10 accessRemoved ", "11 doorOpenedByPhone r1", "12 phoneDenied r1"},
			h.steps(rsv, "checkedOut", "accessRemoved", "doorOpened", "doorOpenedByPhone", "phoneDenied"))
	})
}

// lastEvidence is what the steps say last of the code at a door.
func (h *testProperty) lastEvidence(rsv, door string) (last slot.Evidence) {
	h.t.Helper()
	for _, s := range h.explained(rsv).Steps {
		if s.DoorName == door && s.Evidence != "" {
			last = s.Evidence
		}
	}
	return last
}

func onDoor(steps []string, door string) (out []string) {
	for _, s := range steps {
		if len(s) > len(door) && s[len(s)-len(door)-1:] == " "+door {
			out = append(out, s)
		}
	}
	return out
}

// A stay gets a room whose lock loses its connection, and leaves it before there is evidence for its code. The steps about that lock
// stay, and later events of it are no steps.
func TestDoorLeftBeforeEvidenceIsExplained(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
		link := func(minute int, kind event.Kind) {
			h.clock.Set(morning.Add(time.Duration(minute) * time.Minute))
			h.linked("r2", "r2", kind)
		}
		h.online(false)
		h.clock.Set(morning.Add(time.Minute))
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		link(2, event.LockOnline)
		link(3, event.LockOffline)
		links := func() []string { return onDoor(h.steps(rsv, "lockOffline", "lockOnline"), "r2") }
		want := []string{"1 lockOffline r2", "2 lockOnline r2", "3 lockOffline r2"}
		same(t, "in the room", want, links())
		h.clock.Set(morning.Add(4 * time.Minute))
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r3")})
		h.verify("r3") // only then it leaves r2
		link(5, event.LockOnline)
		link(6, event.LockOffline)
		same(t, "after the move", want, links())
	})
}

// A lock is lost and is back while a stay has a code on it. The stay's history says so also when the slot was given to another stay
// and the lock was put on another door.
func TestLossesOfAMovedLockStay(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r1", func(c *slot.Capabilities) { c.Slots = 1 })
		rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
		for n, kind := range []event.Kind{event.LockOffline, event.LockOnline} {
			h.clock.Set(morning.Add(time.Duration(5+n) * time.Minute))
			h.linked("r1", "r1", kind)
		}
		want := []string{"5 lockOffline r1", "6 lockOnline r1"}
		same(t, "during the stay", want, h.steps(rsv, "lockOffline", "lockOnline"))
		h.clock.Set(morning.Add(10 * time.Minute))
		h.put(state("A", "processed"))
		h.verify("r1", "g1")
		same(t, "after the stay", want, h.steps(rsv, "lockOffline", "lockOnline"))
		h.clock.Set(morning.Add(20 * time.Minute))
		h.checkIn("B", "r1", "r1", "g1")
		h.moveLock("r3", "")
		h.moveLock("r1", "r3")
		same(t, "after the lock was moved", want, h.steps(rsv, "lockOffline", "lockOnline"))
	})
}

// A lock that never had a code of the stay says nothing about the stay, although it is on a door of the stay for a while.
func TestLockWithoutACodeOfTheStayIsNoStep(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
		link := func(minute int, name string, kind event.Kind) {
			h.clock.Set(morning.Add(time.Duration(minute) * time.Minute))
			h.linked(name, "r1", kind)
		}
		link(5, "r1", event.LockOffline)
		link(6, "r3", event.LockOnline) // it hangs on r1 for a while
		same(t, "the story", []string{"5 lockOffline r1"}, h.steps(rsv, "lockOffline", "lockOnline"))
	})
}
