package lock_test

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
)

func TestCommandWaitsForADrainedBridge(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		gone := func(reason bridge.OfflineReason) {
			s.change(func(tx *db.Tx) error {
				_, err := tx.Bridge.UpdateOneID(s.bridge.ID).SetOnline(true).Save(tx.Context())
				if err != nil {
					return err
				}
				return lock.CloseSession(tx, s.bridge.ID, s.epoch, reason)
			})
		}
		for _, reason := range []bridge.OfflineReason{bridge.Disconnected, bridge.NoHeartbeat, bridge.TooSlow, bridge.OutOfOrder} {
			gone(reason)
			if _, err := s.store(lk); !fault.Has(err, fault.BridgeOffline) {
				t.Errorf("%s: %v", reason, err)
			}
		}
		gone(bridge.ShuttingDown)
		o, err := s.store(lk)
		s.must(err)
		if o.Node != "" || o.Epoch != 0 {
			t.Errorf("the order says it is known where the bridge is: %+v", o)
		}
		if err := s.claim(s.bridge.ID, s.epoch+1, o.CommandID); err == nil {
			t.Error("a session that has not begun claimed the command")
		}
		s.clock.Advance(bridge.MoveTimeout + time.Millisecond)
		if _, err := s.store(lk); !fault.Has(err, fault.BridgeOffline) {
			t.Errorf("long after: %v", err)
		}
	})
}

func TestReleasedCommandIsClaimedOnceByAnotherSession(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		o, err := s.store(lk)
		s.must(err)
		s.must(s.claim(s.bridge.ID, s.epoch, o.CommandID))
		give := func(propertyID, commandID string) {
			s.change(func(tx *db.Tx) error { return lock.ReleaseCommand(tx, propertyID, commandID) })
		}
		give("prp_other", o.CommandID)
		if err := s.claim(s.bridge.ID, s.epoch, o.CommandID); err == nil {
			t.Error("another property released the command")
		}
		give(s.propertyID, o.CommandID)
		s.must(s.claim(s.bridge.ID, s.epoch, o.CommandID))
		if _, err := s.end(s.bridge.ID, o.CommandID, lock.CommandDone); err != nil {
			t.Error(err)
		}
		give(s.propertyID, o.CommandID)
		if err := s.claim(s.bridge.ID, s.epoch, o.CommandID); err == nil {
			t.Error("a command that was done is claimed again")
		}
	})
}

// A node that stops is no loss of its bridges; one that comes to no other is lost all the same.
func TestADrainedBridgeThatStaysOfflineIsLost(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		s.change(func(tx *db.Tx) error { return tx.Lock.UpdateOneID(lk.ID).SetDoorID("spc_1").Exec(tx.Context()) })
		notified := func(what string, want int) {
			t.Helper()
			for range 2 {
				s.change(lock.MarkDrainedBridgesLost)
			}
			if locks, bridges := len(s.events("lock.offline")), len(s.events("bridge.offline")); locks != want || bridges != want {
				t.Errorf("%s: recorded the loss of %d locks and %d bridges, want %d", what, locks, bridges, want)
			}
		}
		leave := func() {
			s.change(func(tx *db.Tx) error { return lock.CloseSession(tx, s.bridge.ID, s.epoch, bridge.ShuttingDown) })
		}
		leave()
		s.clock.Advance(30 * time.Second)
		notified("on its way", 0)
		s.connect("front")
		s.clock.Advance(10 * time.Minute)
		notified("back", 0)
		leave()
		s.clock.Advance(bridge.MaxSilence + time.Second)
		notified("away", 1)
		s.clock.Advance(10 * time.Minute)
		s.change(func(tx *db.Tx) error { _, err := bridge.CheckHealth(tx, "", 10); return err })
		if !strings.Contains(s.texts("bridgeUnreachable"), "cellar") {
			t.Error("staff are not notified")
		}
		s.connect("front")
		if n := len(s.events("bridge.online")); n != 1 {
			t.Errorf("recorded %d times that it is online", n)
		}
	})
}
