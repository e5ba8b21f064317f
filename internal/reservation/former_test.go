package reservation_test

import (
	"slices"
	"testing"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

// reaches has the bridge, which is online, reach a lock, or lose it.
func (h *testProperty) reaches(door string, yes bool) {
	h.t.Helper()
	h.settings(func(tx *db.Tx) error {
		return tx.Lock.UpdateOneID(h.at("lck-" + door)).SetStatus(lock.Status{Online: yes}).Exec(tx.Context())
	})
}

// takeOff takes the lock off a door.
func (h *testProperty) takeOff(door string) {
	h.t.Helper()
	h.settings(func(tx *db.Tx) error {
		return tx.Lock.UpdateOneID(h.at("lck-" + door)).ClearDoorID().Exec(tx.Context())
	})
	h.replan(space.AffectedStays{SpaceIDs: []string{h.at(door)}})
}

func to(place string) reservation.Patch {
	return reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs(place)}
}

func (h *testProperty) formerCode(what string, want bool) {
	h.t.Helper()
	same(h.t, what+": formerCode", want, slices.Contains(h.plan("A").Reasons, access.FormerCode))
}

// A door that an earlier grant's code may open stays in the plan until its lock is known to be empty.
func TestEarlierGrantIsInThePlanUntilRemoved(t *testing.T) {
	for _, c := range []struct {
		name   string
		away   string
		stay   func(h *testProperty)
		doors  []string
		status access.Status
	}{
		{"checked in again elsewhere", "r1", func(h *testProperty) {
			h.put(state("A", "processed"))
			h.put(with(state("A", "started"), reservation.SpaceID, theirs("r2")))
			h.verify("r2", "g1")
		}, []string{"r2 verified", "g1 verified", "r1 removing lockOffline"}, access.StatusUpdating},
		{"checked in again after a move", "r1", func(h *testProperty) {
			h.put(to("r3"))
			h.verify("r3")
			h.put(state("A", "processed"))
			h.put(state("A", "started"))
			h.verify("r3", "g1")
		}, []string{"r3 verified", "g1 verified", "r1 removing lockOffline"}, access.StatusUpdating},
		{"moved after a check-out was taken back", "r1", func(h *testProperty) {
			h.put(state("A", "processed"))
			h.put(state("A", "started"))
			h.put(to("r2"))
			h.verify("r2", "g1")
		}, []string{"r2 verified", "g1 verified", "r1 removing lockOffline"}, access.StatusUpdating},
		{"its lock taken off, and a check-out taken back", "g1", func(h *testProperty) {
			h.takeOff("r1")
			h.verify("r1")
			h.put(state("A", "processed"))
			h.put(state("A", "started"))
		}, []string{"r1 removed noLock", "g1 removing lockOffline"}, access.StatusRemoving},
		{"checked out for good", "r1", func(h *testProperty) {
			h.put(state("A", "processed"))
			h.put(with(state("A", "started"), reservation.SpaceID, theirs("r2")))
			h.verify("r2", "g1")
			h.put(state("A", "processed"))
			h.verify("r2", "g1")
		}, []string{"r2 removed checkedOut", "g1 removed checkedOut", "r1 removing lockOffline"}, access.StatusRemoving},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
				h.reaches(c.away, false)
				c.stay(h)
				p := h.plan("A")
				same(t, "doors", c.doors, doorsOf(p))
				same(t, "status", c.status, p.Status)
				h.formerCode("while the lock is away", true)
				if p.Window != nil && !slices.Contains(h.notices(rsv), "formerCode") {
					t.Errorf("staff: %v", h.notices(rsv))
				}

				h.reaches(c.away, true)
				h.verify(c.away)
				h.verify(c.away) // what waited for the place
				p = h.plan("A")
				if slices.ContainsFunc(p.Doors, func(d access.PlannedDoor) bool { return d.PIN == slot.Removing }) || p.Status == c.status {
					t.Errorf("once it is empty: %s, %v", p.Status, doorsOf(p))
				}
				h.formerCode("once it is empty", false)

				if p.Window == nil {
					return
				}
				if c.status == access.StatusRemoving { // no door of its own opens
					return
				}
				notices := func() int {
					return len(slices.DeleteFunc(h.notices(rsv), func(kind string) bool { return kind != "formerCode" }))
				}
				before := notices()
				h.reaches("g1", false)
				h.reset(rsv, access.PartPIN)
				same(t, "staff, when it comes back", before+1, notices())
			})
		})
	}
}

// A bolt that is known not to move is a reason of the plan.
func TestJammedLockDoesNotOpen(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
		jam := func(bolt string) {
			h.settings(func(tx *db.Tx) error {
				return tx.Lock.UpdateOneID(h.at("lck-r1")).SetStatus(lock.Status{Online: true, Bolt: bolt}).Exec(tx.Context())
			})
		}
		jam("jammed")
		p := h.put(state("A", "started")).Plan
		same(t, "doors", []string{"r1 verified lockJammed", "g1 verified"}, doorsOf(p))
		same(t, "status", access.StatusPartial, p.Status)
		same(t, "staff", []string{"lockJammed"}, h.notices(rsv))
		same(t, "the door", []string{"“r1”."}, h.affected(rsv))
		jam("locked")
		same(t, "status once it moves", access.StatusIssued, h.plan("A").Status)
	})
}

// A place that an earlier grant's code still has is not free for the present one: the door opens to the former code alone.
func TestLockFullOfFormerCodes(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r1", func(c *slot.Capabilities) { c.Slots = 1 })
		h.checkIn("A", "r1", "r1", "g1")
		h.put(state("A", "processed"))
		h.put(state("A", "started"))
		same(t, "doors", []string{"r1 failed slotsFull", "g1 queued"}, doorsOf(h.plan("A")))
		h.formerCode("until it is empty", true)
		h.verify("r1") // empty
		h.formerCode("once it is empty", false)
	})
}

// What a lock out of reach may hold does not change because its bridge has stored what to do.
func TestFormerCodeMayOpenUntilTheLockAnswers(t *testing.T) {
	for name, change := range map[string]func(h *testProperty, rsv string){
		"another PIN": func(h *testProperty, rsv string) { h.reset(rsv, access.PartPIN) },
		"an end brought forward": func(h *testProperty, _ string) {
			h.put(reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-22T11:00:00+01:00"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
				h.reaches("r1", false)
				change(h, rsv)
				h.verify("g1")
				for _, says := range []struct {
					evidence slot.Evidence
					result   slot.Result
				}{{}, {slot.Sent, ""}, {slot.Sent, slot.LockOffline}, {slot.Unconfirmed, slot.Timeout}} {
					if says.evidence != "" {
						h.reportSlots("r1", says.evidence, says.result)
					}
					p := h.plan("A")
					same(t, "status", access.StatusUpdating, p.Status)
					h.formerCode(string(says.evidence), true)
					if p.Doors[0].Reason != lock.LockOffline || !p.Doors[0].MayBeInstalled {
						t.Errorf("%+v", p.Doors[0])
					}
				}
				h.reaches("r1", true)
				h.verify("r1")
				same(t, "status", access.StatusIssued, h.plan("A").Status)
				h.formerCode("verified", false)
			})
		})
	}
}

// A lock out of reach that was never given a code has none to open to, however often the stay changes.
func TestFirstCodeForAnUnreachableLockIsNotFormer(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.reaches("r1", false)
		s := h.checkIn("A", "r1", "g1")
		same(t, "the bridge was given it", true, s.Plan.Doors[0].MayBeInstalled)
		for _, e := range []slot.Evidence{"", slot.Sent} {
			if e != "" {
				h.reportSlots("r1", e, slot.LockOffline)
			}
			p := h.plan("A")
			same(t, "doors", []string{"r1 " + map[slot.Evidence]string{"": "queued", slot.Sent: "sent"}[e] + " lockOffline", "g1 verified"}, doorsOf(p))
			same(t, "reasons", []string{"lockOffline"}, reasonsOf(p))
			same(t, "status", access.StatusIssued, p.Status)
		}
		same(t, "the bridge says that it has not written it", false, h.plan("A").Doors[0].MayBeInstalled)
		h.online(false)
		same(t, "the bridge says nothing since then", true, h.plan("A").Doors[0].MayBeInstalled)
		h.online(true)
		h.reset(s.Row.ID, access.PartPIN)
		h.formerCode("the bridge may have written it meanwhile", true)
		h.reportObserved("r1", slot.Observed{Evidence: slot.Sent, Cleared: true})
		same(t, "the bridge has not", []string{"lockOffline"}, reasonsOf(h.plan("A")))
		same(t, "status", access.StatusUpdating, h.plan("A").Status)
		same(t, "staff", []string{"formerCode"}, h.notices(s.Row.ID))
	})
}

// The plan is updating from a change until the locks are known to have followed, in each reading.
func TestUpdatingUntilTheLocksConfirm(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *testProperty, rsv string)
		doors  []string
	}{
		"dates": {func(h *testProperty, _ string) {
			h.put(reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-26T11:00:00+01:00"})
		}, []string{"r1", "g1"}},
		"another PIN":         {func(h *testProperty, rsv string) { h.reset(rsv, access.PartPIN) }, []string{"r1", "g1"}},
		"other PINs at gates": {func(h *testProperty, rsv string) { h.reset(rsv, access.PartGates) }, []string{"g1"}},
		"a room move, whose former room another stay has": {func(h *testProperty, _ string) {
			h.put(to("r2"))
			h.put(with(booking("B", "r1"), reservation.State, "started"))
			h.verify("r1")
		}, []string{"r2"}},
		"another lock on the door": {func(h *testProperty, _ string) {
			h.takeOff("r1")
			h.verify("r1")
			h.settings(func(tx *db.Tx) error {
				return tx.Lock.UpdateOneID(h.at("lck-r3")).SetDoorID(h.at("r1")).Exec(tx.Context())
			})
			h.replan(space.AffectedStays{SpaceIDs: []string{h.at("r1")}})
			h.verify("g1")
		}, []string{"r3"}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				rsv := h.checkIn("A", "r1").Row.ID
				same(t, "on its way for the first time", access.StatusIssued, h.plan("A").Status)
				h.verify("r1", "g1")
				h.clock.Advance(1000)
				c.change(h, rsv)
				same(t, "changed", access.StatusUpdating, h.plan("A").Status)
				for _, d := range c.doors {
					same(t, "until "+d+" has followed", access.StatusUpdating, h.plan("A").Status)
					h.reportSlots(d, slot.Sent, "")
					same(t, "sent", access.StatusUpdating, h.plan("A").Status)
					h.verify(d)
				}
				same(t, "all have followed", access.StatusIssued, h.plan("A").Status)
			})
		})
	}
}

// The digits of a PIN that was replaced stay reserved while a slot that is being cleared may hold them.
func TestReplacedPINStaysReservedWhileALockMayHoldIt(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
		h.reaches("r1", false)
		h.put(to("r2"))
		h.verify("r2") // r1 is being cleared
		h.reset(rsv, access.PartPIN)
		h.verify("r2", "g1")
		same(t, "PINs while r1 may hold the first", 2, h.livePINs())
		h.reportSlots("r1", slot.Unconfirmed, slot.Timeout)
		same(t, "PINs while the state is unknown", 2, h.livePINs())
		h.verify("r1")
		same(t, "PINs once r1 is empty", 1, h.livePINs())
	})
}

// Where the space is switched off, or its lock taken off, no door opens, and the plan says so.
func TestPlanWithoutAnOpenDoorIsNotIssued(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1", "r1", "g1")
		h.settings(func(tx *db.Tx) error { return tx.Space.UpdateOneID(h.at("r1")).SetIsActive(false).Exec(tx.Context()) })
		h.replan(space.AffectedStays{SpaceIDs: []string{h.at("r1")}})
		same(t, "switched off", access.StatusFailed, h.plan("A").Status)
		same(t, "its doors", []string{"r1 removing spaceInactive", "g1 removing"}, doorsOf(h.plan("A")))
		h.verify("r1", "g1")
		same(t, "switched off, and the codes are gone", access.StatusFailed, h.plan("A").Status)
		same(t, "its doors", []string{"r1 removed spaceInactive"}, doorsOf(h.plan("A")))

		h.put(with(booking("B", "r2"), reservation.State, "started"))
		h.verify("r2", "g1")
		h.takeOff("r2")
		same(t, "the lock taken off", access.StatusRemoving, h.plan("B").Status)
		h.verify("r2", "g1")
		same(t, "the lock taken off, and the codes are gone", access.StatusNone, h.plan("B").Status)
		same(t, "its doors", []string{"r2 removed noLock"}, doorsOf(h.plan("B")))
	})
}

// A lock that is put on another door takes its codes with it until they are known to be gone.
func TestCodeOpensThePresentDoorOfItsLock(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1", "r1", "g1")
		h.takeOff("r2")
		h.settings(func(tx *db.Tx) error {
			return tx.Lock.UpdateOneID(h.at("lck-r1")).SetDoorID(h.at("r2")).Exec(tx.Context())
		})
		h.replan(space.AffectedStays{SpaceIDs: []string{h.at("r1"), h.at("r2")}})
		same(t, "doors", []string{"r1 none noLock", "g1 removing", "r2 removing"}, doorsOf(h.plan("A")))
		h.verify("r1", "g1")
		same(t, "doors", []string{"r1 removed noLock"}, doorsOf(h.plan("A")))
	})
}

// Two stays share a private space where their windows overlap.
func TestSharedNeedsOverlappingWindows(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		started := func(id, from, to string) reservation.Stored {
			return h.put(with(booking(id, "r1"), reservation.State, "started",
				reservation.From, from+"T15:00:00+01:00", reservation.To, to+"T11:00:00+01:00"))
		}
		started("A", "2026-11-21", "2026-11-24")
		later := started("B", "2026-12-20", "2026-12-22")
		same(t, "a month later", []string{"windowInFuture"}, reasonsOf(later.Plan))
		same(t, "the present one", []string(nil), reasonsOf(h.plan("A")))
		started("C", "2026-11-22", "2026-11-25")
		same(t, "a night of both", []string{"spaceShared"}, reasonsOf(h.plan("A")))
		same(t, "a month later", []string{"windowInFuture"}, reasonsOf(h.plan("B")))
	})
}
