package lock_test

import (
	"testing"
	"time"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

func TestGuessesSpendTheBudgetOnce(t *testing.T) {
	b := lock.GuessBudget{Limit: 4, Period: 10 * time.Minute}
	many := func(n int, from, every int) (at []int) {
		for i := range n {
			at = append(at, from+i*every)
		}
		return at
	}
	join := func(all ...[]int) (at []int) {
		for _, a := range all {
			at = append(at, a...)
		}
		return at
	}
	for _, c := range []struct {
		name string
		at   []int // seconds
		want []int // the alarms
	}{
		{"slips", many(4, 0, 1), nil},
		{"one too many", many(5, 0, 1), []int{4}},
		{"goes on and on", many(200, 0, 1), []int{4}},
		{"slips all day", many(200, 0, 300), nil},
		{"over the end of a span", join(many(1, 0, 1), many(3, 590, 1), many(2, 600, 1)), []int{600}},
		{"slower than the budget from then on", join(many(5, 0, 1), many(20, 900, 400)), []int{4}},
		{"a second time, much later", join(many(5, 0, 1), many(5, 5000, 1)), []int{4, 5004}},
		{"reported late", join(many(4, 5000, 1), []int{4000}, []int{5005}), []int{5005}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var g lock.GuessCounter
			var got []int
			for _, s := range c.at {
				var alarm bool
				if g, alarm = g.Add(start.Add(time.Duration(s)*time.Second), b); alarm {
					got = append(got, s)
				}
			}
			if len(got) != len(c.want) || len(got) > 0 && got[len(got)-1] != c.want[len(c.want)-1] {
				t.Errorf("alarms at %v, want %v", got, c.want)
			}
		})
	}
}

func TestGuessingAtKeypadsReachesStaff(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk, n := s.door(), int64(0)
		guess := func(times int, reason string) {
			t.Helper()
			s.change(func(tx *db.Tx) error {
				var batch []lock.LockEvent
				for range times {
					n++
					batch = append(batch, lock.LockEvent{Sequence: n, Address: "front", Kind: "denied", Reason: reason, OccurredAt: s.clock.Now()})
				}
				_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, batch)
				return err
			})
		}
		notified := func(subject string) int {
			n, err := s.db.View(t.Context()).Notice.Query().Where(entnotice.Kind("guessing"), entnotice.Subject(subject)).Count(t.Context())
			s.must(err)
			return n
		}
		guess(40, "outsideWindow")
		guess(40, "smartkey:expired")
		guess(lock.LockBudget.Limit-2, "wrongPin")
		guess(1, "smartkey:badSignature")
		guess(1, "smartkey:cloned")
		if got := notified(lk.ID) + notified(s.propertyID); got != 0 {
			t.Errorf("%d notices within the budget", got)
		}
		guess(10, "wrongPin")
		if a, b := notified(lk.ID), notified(s.propertyID); a != 1 || b != 0 {
			t.Errorf("%d notices of the lock and %d of the site, want 1 and 0", a, b)
		}
		guess(50, "wrongPin")
		if a, b := notified(lk.ID), notified(s.propertyID); a != 1 || b != 1 {
			t.Errorf("%d notices of the lock and %d of the site, want one each", a, b)
		}
		s.clock.Advance(-30 * 24 * time.Hour) // it had been that far ahead
		guess(60, "wrongPin")
		if a, b := notified(lk.ID), notified(s.propertyID); a != 2 || b != 2 {
			t.Errorf("after the clock was set right, %d notices of the lock and %d of the site, want two each", a, b)
		}
		if a, b := len(s.events("lock.guessBudgetSpent")), len(s.events("site.guessBudgetSpent")); a != 2 || b != 2 {
			t.Errorf("%d and %d events, want two each", a, b)
		}
	})
}

// A flapping bridge and a battery at its limit are notified once.
func TestFlappingIsNotifiedOnce(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		s.change(func(tx *db.Tx) error { return tx.Lock.UpdateOneID(lk.ID).SetDoorID("spc_1").Exec(tx.Context()) })
		look := func() {
			t.Helper()
			s.change(func(tx *db.Tx) error {
				_, err := bridge.CheckHealth(tx, "", 10)
				if err == nil {
					_, err = lock.CheckLinks(tx, "", 10)
				}
				return err
			})
		}
		count := func(kinds ...string) (n []int) {
			for _, k := range kinds {
				n = append(n, len(s.events(k)))
			}
			return n
		}
		is := func(what string, got []int, want ...int) {
			t.Helper()
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s: %v events, want %v", what, got, want)
					return
				}
			}
		}
		links := []string{"lock.offline", "lock.online", "bridge.offline", "bridge.online"}
		for range 50 {
			s.change(func(tx *db.Tx) error { return lock.CloseSession(tx, s.bridge.ID, s.epoch, bridge.Disconnected) })
			s.clock.Advance(5 * time.Second)
			look()
			s.connect("front")
			s.clock.Advance(5 * time.Second)
			look()
		}
		is("flapping", count(links...), 1, 1, 1, 1)
		s.change(func(tx *db.Tx) error { return lock.CloseSession(tx, s.bridge.ID, s.epoch, bridge.Disconnected) })
		s.clock.Advance(6 * time.Minute)
		look()
		look()
		is("away for good", count(links...), 2, 1, 2, 1)
		notices := func(kind string) int {
			n, err := s.db.View(t.Context()).Notice.Query().Where(entnotice.Kind(kind), entnotice.OnceKeyNotNil()).Count(t.Context())
			s.must(err)
			return n
		}
		if n := notices("bridgeUnreachable"); n != 1 {
			t.Errorf("%d notices of a bridge that is away", n)
		}
		s.connect("front")
		s.clock.Advance(2 * time.Minute)
		look()
		is("back", count(links...), 2, 2, 2, 2)
		if n := notices("bridgeUnreachable"); n != 0 {
			t.Error("the notice of a bridge that is back is open")
		}
		for i := range 20 {
			percent := 20 + i%2
			s.change(func(tx *db.Tx) error {
				_, _, err := lock.ApplyReports(tx, s.bridge.ID, s.epoch, []lock.LockReport{{Address: "front", Status: &lock.Status{Online: true, BatteryPercent: &percent}}})
				return err
			})
		}
		is("a battery at its limit", count("lock.batteryLow", "lock.batteryOk"), 1, 0)
		full, off := 100, int64(90_000)
		s.change(func(tx *db.Tx) error {
			_, _, err := lock.ApplyReports(tx, s.bridge.ID, s.epoch, []lock.LockReport{{Address: "front", Status: &lock.Status{Online: true, BatteryPercent: &full, ClockOffsetMS: &off}}})
			return err
		})
		is("a new battery, a wrong clock", count("lock.batteryLow", "lock.batteryOk", "lock.clockUntrusted", "lock.clockOk"), 1, 1, 1, 0)
		if notices("batteryLow") != 0 {
			t.Error("the notice of a battery that was changed is open")
		}
	})
}
