package lock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent"
	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/test/dbtest"
)

func TestAlarmsNotifyStaffOnceADay(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		n := int64(0)
		happen := func(kind, reason string, at time.Time) {
			t.Helper()
			n++
			s.change(func(tx *db.Tx) error {
				_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{{Sequence: n, Address: "front", Kind: kind, Reason: reason, OccurredAt: at}})
				return err
			})
		}
		notified := func(kind string) int {
			n, err := s.db.View(t.Context()).Notice.Query().Where(entnotice.Kind(kind), entnotice.Subject(lk.ID)).Count(t.Context())
			s.must(err)
			return n
		}
		day := start.Truncate(24 * time.Hour).Add(-72 * time.Hour)
		for _, at := range []time.Time{day, day.Add(time.Hour), day.Add(24 * time.Hour)} {
			happen("tampered", "slotChanged", at)
		}
		happen("tampered", "a maker's own word", day)
		happen("jammed", "", day)
		happen("lockedByHand", "", day)
		happen("doorOpened", "", day)
		if tampered, jammed := notified("lockTampered"), notified("lockJammed"); tampered != 3 || jammed != 1 {
			t.Errorf("%d and %d notices, want 3 and 1", tampered, jammed)
		}
		if texts := s.texts("lockJammed"); !strings.Contains(texts, "on 18 Nov 2026, 00:00;") {
			t.Errorf("what was three days ago is reported without its time: %s", texts)
		}
		happen("jammed", "again", s.clock.Now())
		if texts := s.texts("lockJammed"); strings.Count(texts, "This happened on") != 1 {
			t.Errorf("what is of now is reported with a time: %s", texts)
		}
		if tampered, jammed := len(s.events("lock.tampered")), len(s.events("lock.jammed")); tampered != 4 || jammed != 2 {
			t.Errorf("%d and %d events, want 4 and 2", tampered, jammed)
		}
	})
}

// Locks of beds are often named after them, and two dorms may have beds of equal names.
func TestNoticesNameTheDormOfABed(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		dbtest.Insert(t, s.db, "spaces", dbtest.Values{"id": "spc_dorm", "property_id": s.propertyID, "type": "Dorm", "name": "Dorm 6"})
		dbtest.Insert(t, s.db, "spaces", dbtest.Values{"id": "spc_bed", "property_id": s.propertyID, "type": "Bed", "name": "Bed A", "parent_id": "spc_dorm"})
		s.change(func(tx *db.Tx) error {
			if err := tx.Lock.UpdateOneID(lk.ID).SetDoorID("spc_bed").SetName("Bed A").Exec(t.Context()); err != nil {
				return err
			}
			_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{
				{Sequence: 1, Address: "front", Kind: "jammed", OccurredAt: start}, {Sequence: 2, Address: "front", Kind: "tampered", Reason: "slotChanged", OccurredAt: start},
			})
			return err
		})
		for _, kind := range []string{"lockJammed", "lockTampered"} {
			if texts := s.texts(kind); !strings.Contains(texts, "Dorm 6 · Bed A") {
				t.Errorf("%s does not name the dorm: %s", kind, texts)
			}
		}
	})
}

// texts are the notices of a kind.
func (s *site) texts(kind string) string {
	s.t.Helper()
	rows, err := s.db.View(s.t.Context()).Notice.Query().Where(entnotice.Kind(kind)).All(s.t.Context())
	s.must(err)
	var b strings.Builder
	for _, n := range rows {
		b.WriteString(notice.Text(n, message.Reader{}) + "\n")
	}
	return b.String()
}

// The battery was changed while the bridge was offline, and its journal has the alarm of the old one.
func TestALateAlarmOfAChargedBatteryIsIgnored(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		full, since := 90, start.Add(-time.Hour)
		s.change(func(tx *db.Tx) error {
			return tx.Lock.UpdateOneID(lk.ID).SetStatus(lock.Status{Online: true, BatteryPercent: &full, BatteryObservedAt: &since}).Exec(tx.Context())
		})
		for n, at := range []time.Time{since.Add(-time.Hour), since.Add(time.Minute), since.Add(2 * time.Minute)} {
			s.change(func(tx *db.Tx) error {
				_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{{Sequence: int64(n + 1), Address: "front", Kind: "batteryLow", OccurredAt: at}})
				return err
			})
			if notified := len(s.events("lock.batteryLow")); notified != min(n, 1) {
				t.Errorf("after what happened %v: recorded %d times", at, notified)
			}
		}
	})
}

// A lock that reports no charge cannot say that its battery was changed, so that the next low battery is news some time later.
func TestALowBatteryOfALockWithoutAChargeIsReportedAgain(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.door()
		for n, tt := range []struct {
			after  time.Duration
			events int
		}{{0, 1}, {24 * time.Hour, 1}, {300 * 24 * time.Hour, 2}} {
			s.clock.Set(start.Add(tt.after))
			s.change(func(tx *db.Tx) error {
				_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{{Sequence: int64(n + 1), Address: "front", Kind: "batteryLow", OccurredAt: s.clock.Now()}})
				return err
			})
			if events, texts := len(s.events("lock.batteryLow")), strings.Count(s.texts("batteryLow"), "\n"); events != tt.events || texts != tt.events {
				t.Errorf("after %v: %d events and %d notices, want %d", tt.after, events, texts, tt.events)
			}
		}
	})
}

// The end of the alarm closes the problem of a low battery. A lock with a known charge is judged by that.
func TestTheEndOfALowBattery(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk, sequence := s.door(), int64(0)
		hear := func(kind string) {
			t.Helper()
			sequence++
			s.change(func(tx *db.Tx) error {
				_, _, err := lock.StoreEvents(tx, s.bridge.ID, s.epoch, []lock.LockEvent{{Sequence: sequence, Address: "front", Kind: kind, OccurredAt: s.clock.Now()}})
				return err
			})
		}
		is := func(after string, low bool, events, ends int) {
			t.Helper()
			open, err := s.db.View(t.Context()).Notice.Query().Where(entnotice.Kind("batteryLow"), entnotice.ResolvedAtIsNil()).Count(t.Context())
			s.must(err)
			known := s.again(lk).BatteryNotifiedAt != nil
			if known != low || (open == 1) != low || len(s.events("lock.batteryLow")) != events || len(s.events("lock.batteryOk")) != ends {
				t.Errorf("%s: low %v, %d open notices, %d alarms, %d ends", after, known, open, len(s.events("lock.batteryLow")), len(s.events("lock.batteryOk")))
			}
		}
		hear("batteryOk")
		is("never low", false, 0, 0)
		hear("batteryLow")
		is("low", true, 1, 0)
		hear("batteryOk")
		hear("batteryOk")
		is("fine again", false, 1, 1)
		hear("batteryLow")
		is("low the same day", true, 2, 1)
		charge := 10
		s.change(func(tx *db.Tx) error {
			return tx.Lock.UpdateOneID(lk.ID).SetStatus(lock.Status{Online: true, BatteryPercent: &charge}).Exec(tx.Context())
		})
		hear("batteryOk")
		is("with a low charge", true, 2, 1)
	})
}

// A stay hears that its lock is jammed until the bolt moves, also if nothing else about the stay changes.
func TestAFreeBoltEndsTheNoticesOfStays(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		open := s.connect("front", "back")
		var locks []*ent.Lock
		for i := range 2 {
			lk, err := lock.Get(s.db.View(t.Context()), s.propertyID, open.Locks[i].ID)
			s.must(err)
			s.mustPut(lk, "grt_both", "123456")
			locks = append(locks, lk)
		}
		s.mustPut(locks[0], "grt_front", "234567")
		move := func(bolt string, addresses ...string) {
			t.Helper()
			for _, address := range addresses {
				s.change(func(tx *db.Tx) error {
					_, _, err := lock.ApplyReports(tx, s.bridge.ID, s.epoch, []lock.LockReport{{Address: address, Status: &lock.Status{Online: true, Bolt: bolt}}})
					return err
				})
			}
		}
		is := func(after string, want ...string) {
			t.Helper()
			keys, err := s.db.View(t.Context()).Notice.Query().Where(entnotice.OnceKeyNotNil()).Order(entnotice.ByOnceKey()).Select(entnotice.FieldOnceKey).Strings(t.Context())
			s.must(err)
			if !slices.Equal(keys, want) {
				t.Errorf("%s: %v, want %v", after, keys, want)
			}
		}
		both, front := notice.LockJammed.Key("grt_both"), notice.LockJammed.Key("grt_front")
		move("jammed", "front", "back")
		for _, key := range []string{both, front} {
			s.change(func(tx *db.Tx) error {
				return notice.Add(tx, notice.Notice{PropertyID: s.propertyID, Kind: notice.LockJammed, Subject: "rsv_1", OnceKey: key, Params: message.Params{"what": message.Message{Kind: "jammed.stay"}}})
			})
		}
		move("jammed", "front")
		is("it is still jammed", both, front)
		move("locked", "front")
		is("the other lock of a stay is jammed", both)
		move("unlocked", "back")
		is("both move")
	})
}

// Staff are notified again of a battery that stays low for longer than notices are kept.
func TestNoticeOfALowBatteryThatRetentionDeleted(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.door()
		for n, percent := range []int{15, 14, 22, 90, 88} {
			want := map[bool]int{true: 1}[percent < 50]
			s.clock.Set(start.Add(time.Duration(n) * time.Hour))
			s.change(func(tx *db.Tx) error {
				_, _, err := lock.ApplyReports(tx, s.bridge.ID, s.epoch, []lock.LockReport{{Address: "front", Status: &lock.Status{Online: true, BatteryPercent: &percent}}})
				return err
			})
			if notified := strings.Count(s.texts("batteryLow"), "\n"); notified != want {
				t.Errorf("at %d percent: %d notices, want %d", percent, notified, want)
			}
			s.change(func(tx *db.Tx) error { _, err := notice.Forget(tx, tx.Now().Add(time.Second), 10); return err })
		}
		if n := len(s.events("lock.batteryLow")); n != 1 {
			t.Errorf("recorded %d times", n)
		}
	})
}
