package lock_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

// A reading is stored when it changes by a step, and never for a report that repeats it. A lock keeps a bounded number of each kind.
func TestHistoryOfALock(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.connect("front")
		lockID, err := s.db.View(t.Context()).Lock.Query().OnlyID(t.Context())
		s.must(err)
		s.change(func(tx *db.Tx) error { return tx.Lock.UpdateOneID(lockID).SetDoorID("spc_1").Exec(tx.Context()) })
		report := func(online bool, battery int, clock int64) {
			t.Helper()
			s.clock.Advance(time.Minute)
			s.change(func(tx *db.Tx) error {
				_, _, err := lock.ApplyReports(tx, s.bridge.ID, s.epoch, []lock.LockReport{{Address: "front", Status: &lock.Status{Online: online, BatteryPercent: &battery, ClockOffsetMS: &clock}}})
				return err
			})
		}
		values := func(kind lock.SampleKind, since time.Time) (all []int64) {
			t.Helper()
			history, err := lock.History(s.db.View(t.Context()), s.propertyID, lockID, since)
			s.must(err)
			for _, sample := range history[kind] {
				all = append(all, sample.Value)
			}
			return all
		}
		expect := func(what string, want, got []int64) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
		}
		for _, battery := range []int{100, 99, 98, 98, 97, 98, 96, 50} {
			report(true, battery, 4000)
		}
		expect("battery", []int64{100, 98, 96, 50}, values(lock.BatterySample, time.Time{}))
		expect("battery since the last reading", []int64{96, 50}, values(lock.BatterySample, s.clock.Now()))
		for _, clock := range []int64{4000, 8999, 9000, 9000, 1000} {
			report(true, 50, clock)
		}
		expect("clock", []int64{4000, 9000, 1000}, values(lock.ClockSample, time.Time{}))
		report(false, 50, 1000)
		report(false, 50, 1000)
		report(true, 50, 1000)
		expect("link", []int64{0, 1}, values(lock.LinkSample, time.Time{}))

		events, err := lock.LastEvents(s.db.View(t.Context()), s.propertyID, lockID, 1)
		s.must(err)
		if len(events) != 1 {
			t.Errorf("the last events are %v", events)
		}
		if other, err := lock.LastEvents(s.db.View(t.Context()), "prp_other", lockID, 1); err != nil || len(other) > 0 {
			t.Errorf("another property reads %v, %v", other, err)
		}

		for range 17 {
			s.change(func(tx *db.Tx) error {
				for i := range 30 {
					battery := 10 + 80*(i%2)
					if _, _, err := lock.ApplyReports(tx, s.bridge.ID, s.epoch, []lock.LockReport{{Address: "front", Status: &lock.Status{Online: true, BatteryPercent: &battery}}}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if n := len(values(lock.BatterySample, time.Time{})); n != 500 {
			t.Errorf("%d readings are kept", n)
		}
		s.change(func(tx *db.Tx) error {
			_, err := lock.DeleteSamples(tx, s.clock.Now().Add(time.Hour), 10_000)
			return err
		})
		expect("battery after the retention", []int64{90}, values(lock.BatterySample, time.Time{}))
		expect("clock after the retention", []int64{1000}, values(lock.ClockSample, time.Time{}))
		expect("link after the retention", []int64{1}, values(lock.LinkSample, time.Time{}))
	})
}
