package lock_test

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent"
	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// hear has the bridge report something of the lock "front", and returns the lock.
func (s *site) hear(h lock.LockReport) *ent.Lock {
	s.t.Helper()
	h.Address = "front"
	var id string
	s.change(func(tx *db.Tx) error {
		locks, _, err := lock.ApplyReports(tx, s.bridge.ID, s.epoch, []lock.LockReport{h})
		if err == nil {
			id = locks[0].ID
		}
		return err
	})
	lk, err := lock.Get(s.db.View(s.t.Context()), s.propertyID, id)
	s.must(err)
	return lk
}

func TestALockHasTheNameOfItsBridgeUntilStaffRenameIt(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		if lk := s.door(); lk.Name != "front" {
			t.Errorf("without a name from anybody: %q", lk.Name)
		}
		for _, name := range []string{"room 101", "room 102"} {
			if lk := s.hear(lock.LockReport{Name: name}); lk.Name != name {
				t.Errorf("%q, want %q", lk.Name, name)
			}
		}
		lk := s.hear(lock.LockReport{Status: &lock.Status{Online: true}})
		if lk.Name != "room 102" {
			t.Errorf("after a report without a name: %q", lk.Name)
		}
		s.change(func(tx *db.Tx) error { _, err := lock.Rename(tx, s.propertyID, lk.ID, "Suite"); return err })
		if lk := s.hear(lock.LockReport{Name: "room 103"}); lk.Name != "Suite" {
			t.Errorf("the bridge replaced the name that staff gave with %q", lk.Name)
		}
	})
}

func TestDiscoveredLockHasTheNameOfItsBridge(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		hello := bridge.Hello{Node: "nod_a", BootID: "boot", Clock: s.clock.Now()}
		open, err := s.greet(s.cert, hello, lock.LockReport{Address: "0x1", Name: "room 101", Capabilities: &s.caps})
		s.must(err)
		lk, err := lock.Get(s.db.View(t.Context()), s.propertyID, open.Locks[0].ID)
		s.must(err)
		if lk.Name != "room 101" {
			t.Errorf("%q", lk.Name)
		}
	})
}

// Locks behind a broker that is offline are not notified as empty batteries, and the broker is notified once.
func TestABridgeWithoutItsBrokerIsReportedAsThat(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		s.change(func(tx *db.Tx) error { return tx.Lock.UpdateOneID(lk.ID).SetDoorID("spc_1").Exec(tx.Context()) })
		for _, cause := range []string{slot.BrokerUnreachable, slot.GatewayOffline} {
			s.connect("front")
			lk = s.hear(lock.LockReport{Status: &lock.Status{OfflineCause: cause}})
			states, err := lock.LoadStates(s.db.View(t.Context()), s.clock.Now(), s.propertyID, []*ent.Lock{lk})
			s.must(err)
			if st := states[lk.ID]; st.Online || st.OfflineReason != cause {
				t.Errorf("%s: %+v", cause, st)
			}
			s.clock.Advance(16 * time.Minute)
			s.touch("nod_a", s.epoch)
			for range 2 {
				s.change(func(tx *db.Tx) error { _, err := lock.CheckLinks(tx, "", 10); return err })
			}
			if text := s.texts(cause); strings.Count(text, "\n") != 1 || !strings.Contains(text, "“cellar”") || s.texts("lockUnreachable") != "" {
				t.Errorf("%s: %q, and %q", cause, text, s.texts("lockUnreachable"))
			}
			s.hear(lock.LockReport{Status: &lock.Status{Online: true}})
			s.clock.Advance(10 * time.Minute)
			s.change(func(tx *db.Tx) error { _, err := lock.CheckLinks(tx, "", 10); return err })
			open, err := s.db.View(t.Context()).Notice.Query().Where(entnotice.Kind(cause), entnotice.OnceKeyNotNil()).Count(t.Context())
			s.must(err)
			if open != 0 {
				t.Errorf("%s: the notice is still open", cause)
			}
		}
	})
}

// A lock does not answer. Then Zigbee2MQTT is away at its bridge: staff are notified when that lasts for 15 minutes, not
// because the lock was offline for longer. The notice is resolved when Zigbee2MQTT is back, though the lock is not.
func TestTheAgeOfAnOfflineCauseCounts(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		s.change(func(tx *db.Tx) error { return tx.Lock.UpdateOneID(lk.ID).SetDoorID("spc_1").Exec(tx.Context()) })
		s.hear(lock.LockReport{Status: &lock.Status{}})
		check := func(what string, after time.Duration, bridgeOnline bool, notices, open int) {
			t.Helper()
			s.clock.Advance(after)
			if bridgeOnline {
				s.touch("nod_a", s.epoch)
			}
			s.change(func(tx *db.Tx) error { _, err := lock.CheckLinks(tx, "", 10); return err })
			stillOpen, err := s.db.View(t.Context()).Notice.Query().Where(entnotice.Kind(slot.GatewayOffline), entnotice.OnceKeyNotNil()).Count(t.Context())
			s.must(err)
			if all := strings.Count(s.texts(slot.GatewayOffline), "\n"); all != notices || stillOpen != open {
				t.Errorf("%s: %d notices, %d open; want %d, %d", what, all, stillOpen, notices, open)
			}
		}
		gatewayOffline := lock.LockReport{Status: &lock.Status{OfflineCause: slot.GatewayOffline}}
		check("a lock that does not answer", time.Hour, true, 0, 0)
		s.hear(gatewayOffline)
		check("Zigbee2MQTT restarts", 15*time.Second, true, 0, 0)
		s.clock.Advance(10 * time.Minute)
		battery := 50
		s.hear(lock.LockReport{Status: &lock.Status{OfflineCause: slot.GatewayOffline, BatteryPercent: &battery}})
		check("Zigbee2MQTT is away", 5*time.Minute, true, 1, 1)
		s.hear(lock.LockReport{Status: &lock.Status{}})
		check("Zigbee2MQTT is back", time.Minute, true, 1, 0)
		s.hear(gatewayOffline)
		check("the bridge is away itself", 16*time.Minute, false, 1, 0)
		check("the bridge is back", time.Second, true, 2, 1)
		s.connect()
		check("the bridge no longer drives the lock", 16*time.Minute, true, 2, 0)
	})
}
