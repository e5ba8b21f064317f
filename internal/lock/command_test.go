package lock_test

import (
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
)

func (s *site) store(lk *ent.Lock) (o lock.UnlockCommand, err error) {
	err = s.db.Write(s.t.Context(), func(tx *db.Tx) error {
		o, err = lock.StoreCommand(tx, lock.Node{}, s.propertyID, lk.ID, "staff:x", time.Now().Add(5*time.Second))
		return err
	})
	return o, err
}

func (s *site) claim(bridgeID string, epoch int64, commandID string) error {
	return s.db.Write(s.t.Context(), func(tx *db.Tx) error {
		_, err := lock.ClaimCommand(tx, bridgeID, epoch, commandID)
		return err
	})
}

func (s *site) end(bridgeID, commandID, outcome string) (out lock.Outcome, err error) {
	err = s.db.Write(s.t.Context(), func(tx *db.Tx) error {
		out, err = lock.FinishCommand(tx, bridgeID, commandID, outcome, "ok", s.clock.Now())
		return err
	})
	return out, err
}

func TestCommandIsClaimedOnceByItsBridgeInTime(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		o, err := s.store(lk)
		s.must(err)
		other, _ := s.enrol("elsewhere")
		if err := s.claim(other.ID, other.Epoch, o.CommandID); err == nil {
			t.Error("another bridge claimed the command")
		}
		if err := s.claim(s.bridge.ID, s.epoch-1, o.CommandID); err == nil {
			t.Error("an older session claimed the command")
		}
		s.must(s.claim(s.bridge.ID, s.epoch, o.CommandID))
		if err := s.claim(s.bridge.ID, s.epoch, o.CommandID); err == nil {
			t.Error("the command was claimed twice")
		}
		late, err := s.store(lk)
		s.must(err)
		s.clock.Advance(5 * time.Second)
		if err := s.claim(s.bridge.ID, s.epoch, late.CommandID); !fault.Has(err, fault.DeadlineExceeded) {
			t.Errorf("claimed after its deadline: %v", err)
		}
	})
}

func TestCommandEndsOnceAndUnknownIsReplaced(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		o, err := s.store(lk)
		s.must(err)
		if out, err := s.end(s.bridge.ID, o.CommandID, lock.CommandDone); err != nil || out.State != lock.CommandStored {
			t.Errorf("a command that no session claimed is %q, %v", out.State, err)
		}
		s.must(s.claim(s.bridge.ID, s.epoch, o.CommandID))
		for _, step := range []struct{ say, want string }{
			{lock.CommandUnknown, lock.CommandUnknown}, {"nonsense", lock.CommandUnknown}, {lock.CommandDone, lock.CommandDone},
			{lock.CommandFailed, lock.CommandDone}, {lock.CommandUnknown, lock.CommandDone},
		} {
			out, err := s.end(s.bridge.ID, o.CommandID, step.say)
			s.must(err)
			if out.State != step.want {
				t.Errorf("after %q the command is %q, want %q", step.say, out.State, step.want)
			}
		}
		if n := len(s.events("door.opened")); n != 1 {
			t.Errorf("%d events of one opening", n)
		}
		early, err := s.store(lk)
		s.must(err)
		s.must(s.claim(s.bridge.ID, s.epoch, early.CommandID))
		s.change(func(tx *db.Tx) error {
			out, err := lock.FinishCommand(tx, s.bridge.ID, early.CommandID, lock.CommandDone, "ok", s.clock.Now().Add(-time.Hour))
			if !out.At.Equal(s.clock.Now()) {
				t.Errorf("by a clock that is behind it ended before it was asked for: %v", out.At)
			}
			return err
		})
		other, _ := s.enrol("elsewhere")
		if _, err := s.end(other.ID, o.CommandID, lock.CommandFailed); err == nil {
			t.Error("another bridge reported on the command")
		}
		if _, err := lock.GetCommand(s.db.View(t.Context()), "prp_two", o.CommandID); err == nil {
			t.Error("another property sees the command")
		}
	})
}

// Done, failed and expired are final: no later report changes them. Any report replaces unknown.
func TestFinalOutcomesStay(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		outcomes := []string{lock.CommandDone, lock.CommandFailed, lock.CommandExpired, lock.CommandUnknown}
		for _, first := range outcomes {
			for _, later := range outcomes {
				o, err := s.store(lk)
				s.must(err)
				s.must(s.claim(s.bridge.ID, s.epoch, o.CommandID))
				_, err = s.end(s.bridge.ID, o.CommandID, first)
				s.must(err)
				out, err := s.end(s.bridge.ID, o.CommandID, later)
				s.must(err)
				want := first
				if first == lock.CommandUnknown {
					want = later
				}
				if out.State != want {
					t.Errorf("%s and then %s: the command is %s, want %s", first, later, out.State, want)
				}
			}
		}
	})
}

func TestCommandIsRefusedAtOnceIfTheLockCannotOpen(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		s.change(func(tx *db.Tx) error { return lock.CloseSession(tx, s.bridge.ID, s.epoch, bridge.Disconnected) })
		if _, err := s.store(lk); !fault.Has(err, fault.BridgeOffline) {
			t.Errorf("the bridge is offline: %v", err)
		}
		s.caps.RemoteUnlock = false
		lk = s.door()
		if _, err := s.store(lk); !fault.Has(err, fault.RemoteUnlockUnsupported) {
			t.Errorf("the lock cannot be unlocked remotely: %v", err)
		}
	})
}

func TestAbandonedCommandsEnd(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		stored, err := s.store(lk)
		s.must(err)
		claimed, err := s.store(lk)
		s.must(err)
		s.must(s.claim(s.bridge.ID, s.epoch, claimed.CommandID))
		s.clock.Advance(time.Minute)
		s.change(lock.EndAbandonedCommands)
		for id, want := range map[string]string{stored.CommandID: lock.CommandExpired, claimed.CommandID: lock.CommandUnknown} {
			out, err := lock.GetCommand(s.db.View(t.Context()), s.propertyID, id)
			s.must(err)
			if out.State != want {
				t.Errorf("an abandoned command is %q, want %q", out.State, want)
			}
		}
	})
}

// The time of a command is counted from the call that asked for it, however late it is stored, and is never more than ten seconds.
func TestCommandHasTheRemainingTimeOfItsCall(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		store := func(until time.Time) (o lock.UnlockCommand, err error) {
			err = s.db.Write(t.Context(), func(tx *db.Tx) error {
				o, err = lock.StoreCommand(tx, lock.Node{}, s.propertyID, lk.ID, "staff:x", until)
				return err
			})
			return o, err
		}
		for _, over := range []time.Duration{0, time.Hour} {
			if _, err := store(time.Now().Add(-over)); !fault.Has(err, fault.DeadlineExceeded) {
				t.Errorf("stored %v past its deadline: %v", over, err)
			}
		}
		if n, err := s.db.View(t.Context()).Act.Query().Count(t.Context()); err != nil || n != 0 {
			t.Errorf("%d commands are stored, %v", n, err)
		}
		for asked, most := range map[time.Duration]time.Duration{2 * time.Second: 2 * time.Second, time.Hour: lock.MaxDeadline} {
			o, err := store(time.Now().Add(asked))
			s.must(err)
			if left := o.Deadline.Sub(s.clock.Now()); left <= 0 || left > most {
				t.Errorf("of %v from now it has %v, want at most %v", asked, left, most)
			}
		}
	})
}

// A bridge whose clock is ahead puts no opening into the future.
func TestCommandEndsNoLaterThanItsReport(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		o, err := s.store(lk)
		s.must(err)
		s.must(s.claim(s.bridge.ID, s.epoch, o.CommandID))
		s.change(func(tx *db.Tx) error {
			out, err := lock.FinishCommand(tx, s.bridge.ID, o.CommandID, lock.CommandDone, "ok", s.clock.Now().Add(time.Hour))
			if !out.At.Equal(s.clock.Now()) {
				t.Errorf("ended at %v", out.At)
			}
			return err
		})
		opened := s.events("door.opened")
		if len(opened) != 1 || !opened[0].OccurredAt.Equal(s.clock.Now()) {
			t.Errorf("openings: %v", opened)
		}
	})
}
