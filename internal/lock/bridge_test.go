package lock_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
)

func TestRevokedBridgeIsRefusedUntilEnrolledAgain(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		open := s.connect("front")
		var woken []string
		s.db.Subscribe(bridge.Changed, func(key string) { woken = append(woken, key) })
		s.change(func(tx *db.Tx) error {
			_, err := bridge.Revoke(tx, s.propertyID, s.bridge.ID, lock.MarkLinksLost)
			return err
		})
		if len(woken) != 1 || woken[0] != s.bridge.ID {
			t.Errorf("woken: %v", woken)
		}
		if _, err := s.greet(s.cert, bridge.Hello{}); !fault.Has(err, fault.InvalidCredentials) {
			t.Errorf("a revoked bridge got in: %v", err)
		}
		err := s.db.Write(t.Context(), func(tx *db.Tx) error {
			_, _, err := lock.ApplyReports(tx, s.bridge.ID, open.Epoch, nil)
			return err
		})
		if err == nil {
			t.Error("a revoked bridge's session still has effect")
		}
		var code string
		s.change(func(tx *db.Tx) (err error) {
			_, code, err = bridge.ReplaceJoinCode(tx, s.keys, s.ca, s.propertyID, s.bridge.ID)
			return err
		})
		e, err := s.apply(code)
		s.must(err)
		if _, err := s.greet(s.cert, bridge.Hello{}); err == nil {
			t.Error("the stolen key got in after the bridge was enrolled again")
		}
		s.cert = s.parse(e.Certificate)
		if again := s.connect("front"); again.Epoch <= open.Epoch || again.Locks[0].ID != open.Locks[0].ID {
			t.Errorf("epoch %d after %d, lock %s after %s", again.Epoch, open.Epoch, again.Locks[0].ID, open.Locks[0].ID)
		}
	})
}

// A bridge that is revoked or enrolled again is lost with its locks. The time that it has been offline does not start again.
func TestMarkingABridgeOfflineRecordsOneLoss(t *testing.T) {
	for name, take := range map[string]func(s *site){
		"revoked": func(s *site) {
			s.change(func(tx *db.Tx) error {
				_, err := bridge.Revoke(tx, s.propertyID, s.bridge.ID, lock.MarkLinksLost)
				return err
			})
		},
		"enrolled again": func(s *site) {
			var code string
			s.change(func(tx *db.Tx) (err error) {
				_, code, err = bridge.ReplaceJoinCode(tx, s.keys, s.ca, s.propertyID, s.bridge.ID)
				return err
			})
			_, err := s.apply(code)
			s.must(err)
		},
	} {
		for how, asked := range map[string]bool{"while it was online": false, "while it was asked to leave": true} {
			t.Run(name+" "+how, func(t *testing.T) {
				each(t, func(t *testing.T, s *site) {
					lk := s.door()
					s.change(func(tx *db.Tx) error { return tx.Lock.UpdateOneID(lk.ID).SetDoorID("spc_1").Exec(tx.Context()) })
					since := func(what string, want time.Time) {
						t.Helper()
						br, err := bridge.Get(s.db.View(t.Context()), s.propertyID, s.bridge.ID)
						s.must(err)
						if br.Online || br.LinkAt == nil || !br.LinkAt.Equal(want) {
							t.Errorf("%s: online %v, since %v, want %v", what, br.Online, br.LinkAt, want)
						}
						if locks, bridges := len(s.events("lock.offline")), len(s.events("bridge.offline")); locks != 1 || bridges != 1 {
							t.Errorf("%s: recorded the loss of %d locks and %d bridges", what, locks, bridges)
						}
					}
					s.clock.Advance(time.Minute)
					at := s.clock.Now()
					if asked {
						s.change(func(tx *db.Tx) error { return lock.CloseSession(tx, s.bridge.ID, s.epoch, bridge.ShuttingDown) })
						s.clock.Advance(time.Second)
					}
					take(s)
					since("at first", at)
					s.clock.Advance(time.Hour)
					take(s)
					since("once more", at)
				})
			})
		}
	}
}
