package lock_test

import (
	"errors"
	"testing"

	"latchkey.dev/ent"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

func TestReportCountsOnlyForTheDesiredGeneration(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		first := s.mustPut(lk, "grt_a", "123456")
		var row *ent.Slot
		s.change(func(tx *db.Tx) (err error) {
			row, err = lock.UpdateSlot(tx, s.keys, lk, first, s.placeOf("grt_a", "654321"))
			return err
		})
		if learned := s.report(first, slot.Verified); len(learned) != 0 {
			t.Errorf("a report of the older code was believed: %+v", learned)
		}
		s.evidence(row.ID, slot.Queued)
		for _, c := range []struct {
			o    slot.Observed
			want slot.Evidence
		}{
			{slot.Observed{Evidence: slot.Sent}, slot.Sent},
			{slot.Observed{Evidence: slot.Sent, Result: slot.LockOffline}, slot.Sent},
			{slot.Observed{Evidence: slot.Unconfirmed, Result: slot.Timeout}, slot.Unconfirmed},
			{slot.Observed{Evidence: slot.Accepted, Present: true}, slot.Accepted},
			{slot.Observed{Evidence: slot.Verified, Present: true}, slot.Verified},
		} {
			c.o.Generation = uint64(row.Generation)
			learned := s.reportAs(row, c.o)
			if len(learned) != 1 || learned[0].After != c.want || s.row(learned[0].Slot.ID).Result != string(c.o.Result) {
				t.Errorf("%+v: learned %+v", c.o, learned)
			}
			if again := s.reportAs(row, c.o); len(again) != 0 {
				t.Errorf("%+v said twice is two changes", c.o)
			}
		}
		row = s.clear(lk, s.row(row.ID))
		late := slot.Observed{Generation: uint64(row.Generation) - 1, Evidence: slot.Verified, Present: true}
		s.reportAs(row, late)
		s.evidence(row.ID, slot.Removing)
	})
}

func TestForeignCodeIsKeptAndItsSlotNotUsed(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		row := s.mustPut(lk, "grt_a", "123456")
		s.reportAs(row, slot.Observed{Generation: uint64(row.Generation), Evidence: slot.Failed, Result: slot.Occupied})
		row = s.clear(lk, s.row(row.ID))
		s.evidence(row.ID, slot.Removed)
		for _, want := range []int{2, 3} {
			if next := s.mustPut(lk, "grt_b", "123456"); next.Number != want {
				t.Errorf("slot %d, want %d", next.Number, want)
			}
		}
		if _, err := s.put(lk, "grt_c", "123456"); err == nil {
			t.Error("the slot with a foreign code was given away")
		}
	})
}

func TestAReenrolledBridgeLearnsThatASlotMayHoldOwn(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		s.mustPut(lk, "grt_a", "123456")
		var code string
		s.clock.Advance(1e9)
		s.change(func(tx *db.Tx) (err error) {
			_, code, err = bridge.ReplaceJoinCode(tx, s.keys, s.ca, s.propertyID, s.bridge.ID)
			return err
		})
		e, err := s.apply(code)
		s.must(err)
		s.cert = s.parse(e.Certificate)
		open := s.connect("front")
		desired, err := lock.DesiredSlots(s.db.View(t.Context()), open, map[string]int64{lk.ID: 0})
		s.must(err)
		if len(desired) != 1 || !desired[0].NeedsMarkSent {
			t.Fatalf("desired %+v, want one to claim", desired)
		}
		s.change(func(tx *db.Tx) (err error) {
			desired, err = lock.MarkSent(tx, open, desired)
			return err
		})
		d, err := desired[0].Desired(t.Context(), s.keys)
		s.must(err)
		if !d.MayHoldOwn || d.Intent != slot.Present || string(d.PIN) != "123456" || desired[0].NeedsMarkSent {
			t.Errorf("desired %v claimed %v", d, d.MayHoldOwn)
		}
		again, err := lock.DesiredSlots(s.db.View(t.Context()), open, map[string]int64{lk.ID: 0})
		s.must(err)
		if again[0].NeedsMarkSent {
			t.Error("the claim was not stored")
		}
	})
}

// It may have been started from an old copy of its store, which does not hold the code.
func TestABridgeLearnsOfCodesThatItReportedBefore(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		row := s.mustPut(lk, "grt_a", "123456")
		claimed := func() bool {
			open := s.connect("front")
			desired, err := lock.DesiredSlots(s.db.View(t.Context()), open, map[string]int64{lk.ID: 0})
			s.must(err)
			d, err := desired[0].Desired(t.Context(), s.keys)
			s.must(err)
			return d.MayHoldOwn
		}
		if claimed() {
			t.Error("before it reported anything")
		}
		s.reportAs(row, slot.Observed{Generation: uint64(row.Generation), Present: true, Evidence: slot.Verified})
		row = s.clear(lk, row)
		if !claimed() {
			t.Error("MayHoldOwn is missing in the removal of a code that it reported")
		}
		s.reportAs(row, slot.Observed{Generation: uint64(row.Generation), Evidence: slot.Verified})
		if claimed() {
			t.Error("after the removal was proven")
		}
	})
}

func TestDesiredSlotsAreNewOnesRemovalsFirst(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		open := s.connect("front")
		one, two := s.mustPut(lk, "grt_a", "123456"), s.mustPut(lk, "grt_b", "123457")
		two = s.clear(lk, two)
		desired, err := lock.DesiredSlots(s.db.View(t.Context()), open, map[string]int64{lk.ID: 0})
		s.must(err)
		if len(desired) != 2 || desired[0].Number != 2 || desired[1].Number != 1 {
			t.Fatalf("desired %+v, want slot 2 cleared before slot 1 set", desired)
		}
		desired, err = lock.DesiredSlots(s.db.View(t.Context()), open, map[string]int64{lk.ID: one.Generation})
		s.must(err)
		if len(desired) != 1 || desired[0].Generation != two.Generation {
			t.Errorf("above generation %d: %+v", one.Generation, desired)
		}
	})
}

func TestBridgesAreNotifiedAfterTheCommit(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		var woken []string
		s.db.Subscribe(bridge.Changed, func(key string) { woken = append(woken, key) })
		err := s.db.Write(t.Context(), func(tx *db.Tx) error {
			if _, err := lock.AssignSlot(tx, s.keys, lk, s.placeOf("grt_a", "123456")); err != nil {
				return err
			}
			return errors.New("taken back")
		})
		if err == nil || len(woken) != 0 {
			t.Fatalf("woken by a change that failed: %v", woken)
		}
		s.change(func(tx *db.Tx) error {
			_, err := lock.AssignSlot(tx, s.keys, lk, s.placeOf("grt_a", "123456"))
			return err
		})
		if len(woken) != 1 || woken[0] != s.bridge.ID+" "+lk.ID {
			t.Errorf("woken: %v", woken)
		}
	})
}
