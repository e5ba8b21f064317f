package lock_test

import (
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

func (s *site) bridgeRow() *ent.Bridge {
	s.t.Helper()
	br, err := bridge.Get(s.db.View(s.t.Context()), s.propertyID, s.bridge.ID)
	s.must(err)
	return br
}

// lose has a sweep take the bridge in session for lost.
func (s *site) lose() {
	s.t.Helper()
	s.clock.Advance(bridge.MaxSilence + time.Second)
	s.change(lock.MarkSilentBridgesOffline)
	if br := s.bridgeRow(); br.Online || br.OfflineReason != string(bridge.NodeLost) {
		s.t.Fatalf("online %v, reason %q", br.Online, br.OfflineReason)
	}
}

func (s *site) touch(node string, epoch int64) {
	s.t.Helper()
	s.change(func(tx *db.Tx) error { return lock.RecordHeartbeats(tx, node, map[string]int64{s.bridge.ID: epoch}) })
}

// A bridge in session that was taken for lost is online again with the next touch of the node that holds it.
// After a kill -9 of server and bridge the database says that the bridge is online.
func TestASingleServerStartsWithoutBridgesOnline(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		s.change(func(tx *db.Tx) error { return tx.Lock.UpdateOneID(lk.ID).SetDoorID("spc_1").Exec(tx.Context()) })
		s.change(bridge.MarkAllOffline)
		if br := s.bridgeRow(); bridge.IsOnline(br, s.clock.Now()) || br.OfflineReason != string(bridge.ShuttingDown) {
			t.Errorf("online %v, reason %q", br.Online, br.OfflineReason)
		}
		if n := len(s.events("bridge.offline")); n != 0 {
			t.Errorf("a restart is reported %d times", n)
		}
		s.clock.Advance(bridge.MaxSilence + time.Second)
		s.change(lock.MarkDrainedBridgesLost)
		if n := len(s.events("bridge.offline")); n != 1 {
			t.Errorf("a bridge that does not come back is reported %d times", n)
		}
		s.connect("front")
		if br := s.bridgeRow(); !bridge.IsOnline(br, s.clock.Now()) {
			t.Error("offline in a session")
		}
	})
}

func TestAHeartbeatRestoresALostBridge(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		s.change(func(tx *db.Tx) error {
			gate := tx.Gate.Create().SetID("gat_1").SetPropertyID(s.propertyID).SetName("gate").SetSpaceIds([]string{})
			if err := gate.Exec(tx.Context()); err != nil {
				return err
			}
			_, err := lock.AssignDoor(tx, s.propertyID, lk.ID, "gat_1")
			return err
		})
		s.lose()
		s.touch("nod_b", s.epoch)
		s.touch("nod_a", s.epoch-1)
		if s.bridgeRow().Online {
			t.Error("online again by another node, or an older session")
		}
		s.touch("nod_a", s.epoch)
		br := s.bridgeRow()
		if !bridge.IsOnline(br, s.clock.Now()) || br.OfflineReason != "" || br.Epoch != s.epoch {
			t.Errorf("online %v, reason %q, last seen %v", br.Online, br.OfflineReason, br.LastSeenAt)
		}
		if _, err := s.store(lk); err != nil {
			t.Errorf("an opening afterwards: %v", err)
		}
		for kind, want := range map[string]int{"bridge.offline": 1, "bridge.online": 1, "lock.offline": 1, "lock.online": 1} {
			if n := len(s.events(kind)); n != want {
				t.Errorf("%d events %s, want %d", n, kind, want)
			}
		}
	})
}

// A touch that comes late, after the session ended, does not bring the bridge back, whatever it was taken for before.
func TestAHeartbeatRestoresNoEndedSession(t *testing.T) {
	for _, taken := range []bool{false, true} {
		each(t, func(t *testing.T, s *site) {
			s.door()
			if taken {
				s.lose()
			}
			s.change(func(tx *db.Tx) error { return lock.CloseSession(tx, s.bridge.ID, s.epoch, bridge.NoHeartbeat) })
			s.touch("nod_a", s.epoch)
			if br := s.bridgeRow(); br.Online || br.OfflineReason != string(bridge.NoHeartbeat) {
				t.Errorf("online %v, reason %q", br.Online, br.OfflineReason)
			}
		})
	}
}

func TestAHeartbeatRestoresNoRevokedBridge(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.door()
		s.change(func(tx *db.Tx) error {
			_, err := bridge.Revoke(tx, s.propertyID, s.bridge.ID, lock.MarkLinksLost)
			return err
		})
		s.touch("nod_a", s.epoch)
		if s.bridgeRow().Online {
			t.Error("a revoked bridge is online")
		}
	})
}
