package reservation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
)

// walker does at random what PMSs, bridges, staff and time do.
type walker struct {
	*testProperty
	r     *rand.Rand
	stays []string
	past  []string // what was done, for a failure to be read
}

var (
	places  = []string{"r1", "r2", "r3", "b1", "b2", "b3", "bare", "r9"} // r9 is not mapped
	locked  = []string{"r1", "r2", "r3", "d1", "b1", "b2", "b3", "b4", "g1"}
	answers = []struct {
		evidence slot.Evidence
		result   slot.Result
	}{
		{slot.Verified, slot.OK}, {slot.Verified, slot.OK}, {slot.Accepted, slot.OK}, {slot.Sent, ""}, {slot.Unconfirmed, slot.Timeout},
		{slot.Failed, slot.Duplicate}, {slot.Failed, slot.Occupied}, {slot.Failed, slot.InvalidFormat},
	}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func (w *walker) step() {
	w.t.Helper()
	id := pick(w.r, w.stays)
	do := func(what string, p reservation.Patch) {
		w.past = append(w.past, fmt.Sprintf("%s %s", id, what))
		w.put(p)
	}
	switch w.r.IntN(12) {
	case 0, 1:
		s := pick(w.r, []string{"started", "started", "started", "confirmed", "processed", "canceled", "optional"})
		do(s, state(id, s))
	case 2, 3:
		place := pick(w.r, places)
		do("to "+place, reservation.Patch{reservation.PMSID: id, reservation.SpaceID: theirs(place)})
	case 4:
		to := w.clock.Now().Add(time.Duration(w.r.IntN(72)) * time.Hour)
		do("until "+to.String(), reservation.Patch{
			reservation.PMSID: id, reservation.From: w.clock.Now().Add(-time.Hour).Format(time.RFC3339), reservation.To: to.Format(time.RFC3339)})
	case 5:
		w.past = append(w.past, id+" reset")
		w.reset(w.read(id).ID, access.PartPIN, access.PartGates)
	case 6:
		w.past = append(w.past, "hours pass")
		w.clock.Advance(time.Duration(w.r.IntN(8)) * time.Hour)
		w.online(true)
		w.sweep()
	case 7:
		on := w.r.IntN(3) > 0
		w.past = append(w.past, fmt.Sprint("online ", on))
		w.online(on)
	default:
		door, a := pick(w.r, locked), pick(w.r, answers)
		w.past = append(w.past, fmt.Sprint(door, " says ", a))
		w.reportSlots(door, a.evidence, a.result)
	}
}

// mayOpen checks that each door that a code of a stay may open is in its plan, and that the status of the plan is not complete
// while a former code may open.
func (w *walker) mayOpen(id string, p access.Plan, its map[string]*ent.Grant, slots []*ent.Slot) {
	w.t.Helper()
	for _, s := range slots {
		if its[s.GrantID] == nil || s.Evidence == string(slot.Removed) {
			continue
		}
		i := slices.IndexFunc(p.Doors, func(d access.PlannedDoor) bool { return d.ID == s.DoorID })
		if i < 0 {
			w.t.Errorf("%s: its code may open %s, which is not in the plan", id, s.DoorID)
			continue
		}
		if e := p.Doors[i].PIN; e == access.None || e == slot.Planned || e == slot.Removed {
			w.t.Errorf("%s: its code may open %s, and the plan says %s", id, s.DoorID, e)
		}
		former := !s.Present || s.Former && s.SeenGeneration != s.Generation
		switch p.Status {
		case access.StatusNone, access.StatusIssued, access.StatusPartial, access.StatusRemoved:
			if former {
				w.t.Errorf("%s: a former code may open %s, and the plan is %s", id, s.DoorID, p.Status)
			}
		}
	}
}

// check looks at what must hold at any moment.
func (w *walker) check() {
	w.t.Helper()
	shown, slots := map[string]string{}, w.slots()
	for _, id := range w.stays {
		rsv := w.read(id).ID
		grants, err := w.db.View(w.ctx()).Grant.Query().Where(entgrant.ReservationID(rsv)).All(w.ctx())
		w.must(err)
		open, held, unsettled := 0, 0, 0
		its := map[string]*ent.Grant{}
		for _, g := range grants {
			its[g.ID] = g
			if g.EndedAt == nil {
				open++
			}
		}
		for _, s := range slots {
			g := its[s.GrantID]
			if g == nil {
				continue
			}
			if s.Present && g.EndedAt != nil {
				w.t.Errorf("%s: a code is wanted that belongs to no stay", id)
			}
			if s.Present {
				held++
			}
			if s.Evidence != string(slot.Removed) {
				unsettled++
			}
		}
		p := w.plan(id)
		w.mayOpen(id, p, its, slots)
		if open > 1 || open == 0 && held > 0 {
			w.t.Errorf("%s: %d grants are open, and %d codes are wanted", id, open, held)
		}
		if p.Status == access.StatusRemoved && unsettled > 0 {
			w.t.Errorf("%s: said to be removed, and %d slots are not known to be empty", id, unsettled)
		}
		pin := w.pins(rsv).PIN
		if pin != "" && shown[pin] != "" {
			w.t.Errorf("%s and %s have one PIN", id, shown[pin])
		}
		shown[pin] = id
		if kinds := w.events(rsv); slices.Contains(kinds, "access.removed") && !slices.Contains(kinds, "access.issued") {
			w.t.Errorf("%s: removed before it was issued: %v", id, kinds)
		}
	}
}

// settle lets all locks apply their desired codes until nothing changes, and then checks the invariants.
func (w *walker) settle() {
	w.t.Helper()
	w.online(true)
	w.sweep()
	for range 6 {
		w.verify(locked...)
	}
	reserved := 0
	for _, id := range w.stays {
		row, p := w.read(id), w.plan(id)
		for _, d := range p.Doors {
			waits := d.Reason == access.MovingOut && row.PmsSpaceID != nil && *row.PmsSpaceID == theirs("r9")
			explained := d.Reason == access.NoLock || d.Reason == lock.SlotsFull || d.Reason == access.NotCheckedIn || waits
			if p.Window != nil && d.PIN != slot.Verified && d.PIN != slot.Used && !explained {
				w.t.Errorf("%s: %s is %s for the reason %q after all locks answered", id, d.Name, d.PIN, d.Reason)
			}
			if d.Reason == access.MovingOut && !waits && !slices.Contains(p.Reasons, lock.SlotsFull) {
				w.t.Errorf("%s: is moving out of %s for ever", id, d.Name)
			}
		}
		if p.Window == nil && p.Status != access.StatusNone && p.Status != access.StatusRemoved {
			w.t.Errorf("%s: %s after all locks answered", id, p.Status)
		}
		shown := w.pins(row.ID)
		for _, s := range w.slots() {
			if s.Present && w.grantOf(s.GrantID).ReservationID == row.ID {
				code := w.wanted(s)
				if code != shown.PIN && !slices.ContainsFunc(shown.Gates, func(g access.GatePIN) bool { return g.PIN == code }) {
					w.t.Errorf("%s: the lock of %s holds a code that is not shown", id, s.DoorID)
				}
			}
		}
		if p.Window != nil {
			reserved += 2
		}
	}
	for _, id := range w.stays {
		w.put(state(id, "processed"))
	}
	for range 3 {
		w.verify(locked...)
	}
	for _, id := range w.stays {
		if p := w.plan(id); p.Status != access.StatusRemoved && p.Status != access.StatusNone {
			w.t.Errorf("%s: %s at the end", id, p.Status)
		}
	}
	if n := w.livePINs(); n != 0 {
		w.t.Errorf("%d PINs are reserved when all is over", n)
	}
}

// Whatever happens in whatever order: one grant a stay, nothing wanted without one, nothing called removed that may be
// there, no digits twice; and when the locks answer, all is as the reservations say.
func TestWalk(t *testing.T) {
	for engine, walks := range map[string]uint64{"sqlite": 10, "postgres": 2} {
		t.Run(engine, func(t *testing.T) {
			for seed := range walks {
				w := &walker{testProperty: open(t, engine), r: rand.New(rand.NewPCG(seed, 7)), stays: []string{"A", "B", "C"}}
				for _, d := range locked {
					w.capable(d, func(c *slot.Capabilities) { c.Slots = 6 })
				}
				for _, id := range w.stays {
					w.put(booking(id, pick(w.r, places)))
				}
				for range 60 {
					w.step()
					w.check()
					if t.Failed() {
						break
					}
				}
				if !t.Failed() {
					w.settle()
				}
				if t.Failed() {
					t.Fatalf("seed %d: %q", seed, w.past)
				}
			}
		})
	}
}
