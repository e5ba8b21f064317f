package agent

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/agent/keypad"
	"latchkey.dev/internal/lock/slot"
)

const rightPIN, wrongOne = slot.PIN("345671"), slot.PIN("999998")

// guardedSite is a site with a code on its lock.
func guardedSite(t *testing.T, profile string) *site {
	t.Helper()
	s := newSite(t, sim.Spec{Address: "front", Profile: profile})
	s.want("front", 1, slot.Desired{Intent: slot.Present, PIN: rightPIN, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(100 * time.Hour)})
	s.pass(time.Minute)
	if !s.opens("front", rightPIN) {
		t.Fatal("the code is not on the lock")
	}
	return s
}

// guess types a wrong PIN n times and returns how many of them the keypad read.
func (s *site) guess(n int) (read int) {
	s.t.Helper()
	for range n {
		p, err := s.locks.Press("front", wrongOne)
		if err != nil {
			s.t.Fatal(err)
		}
		if p.Reason == driver.WrongPIN {
			read++
		}
		synctest.Wait() // the bridge receives each
	}
	return read
}

func (s *site) pausedUntil() time.Time {
	_, st := s.bridge.outbox.helloState("front")
	return st.guard.PausedUntil
}

func TestGuessingPausesAKeypad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guardedSite(t, sim.Pausable)
		if read := s.guess(40); read != 10 {
			t.Errorf("the keypad read %d of 40 wrong PINs", read)
		}
		if s.opens("front", rightPIN) {
			t.Error("the right PIN opens a paused keypad")
		}
		if left := time.Until(s.pausedUntil()); left <= 0 || left > 15*time.Second {
			t.Errorf("the bridge says that the pause ends in %v", left)
		}
		if shown := s.bridge.lockHealth("front", "").KeypadPausedUntil; !shown.Equal(s.pausedUntil()) {
			t.Errorf("the health of the lock shows a pause until %v, want %v", shown, s.pausedUntil())
		}
		if a := s.bridge.workers["front"].lock.Unlock(t.Context()); a.Result != slot.OK {
			t.Errorf("unlocking a door whose keypad is paused: %s", a.Result)
		}
		s.pass(16 * time.Second)
		if !s.opens("front", rightPIN) {
			t.Error("the right PIN does not open after the pause")
		}
		if shown := s.bridge.lockHealth("front", "").KeypadPausedUntil; !shown.IsZero() {
			t.Errorf("the health of the lock still shows a pause until %v after its end", shown)
		}
		if read := s.guess(40); read != 3 {
			t.Errorf("the keypad read %d of 40 further wrong PINs", read)
		}
		if left := time.Until(s.pausedUntil()); left < 20*time.Second {
			t.Errorf("the second pause is no longer than the first: %v", left)
		}
		var pauses int
		for _, o := range s.journal() {
			if o.Kind == driver.KeypadPaused {
				pauses++
			}
		}
		if pauses != 2 {
			t.Errorf("%d pauses in the journal, want 2", pauses)
		}
	})
}

// A bridge that is killed at any time leaves no keypad paused beyond the longest pause, and one that is started again does not
// forget the wrong PINs, nor pause for them once more.
func TestKilledBridgeLeavesNoKeypadPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guardedSite(t, sim.Pausable)
		for range 5 { // up to the longest pause
			s.guess(40)
			s.pass(max(time.Until(s.pausedUntil())+time.Second, 0))
		}
		s.guess(40)
		if left := time.Until(s.pausedUntil()); left < 4*time.Minute || left > keypad.Longest {
			t.Fatalf("the longest pause ends in %v", left)
		}
		s.kill()
		s.pass(keypad.Longest)
		if !s.opens("front", rightPIN) {
			t.Error("the keypad of a dead bridge stays closed")
		}
		s.start()
		s.pass(time.Second)
		if !s.opens("front", rightPIN) {
			t.Error("a restarted bridge closed the keypad again")
		}
		if read := s.guess(40); read > 3 {
			t.Errorf("a restarted bridge has forgotten the wrong PINs: %d were read", read)
		}
	})
}

func TestPauseIsRetriedForItsRemainingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guardedSite(t, sim.Pausable)
		s.guess(9)
		s.locks.SetOffline("front", true)
		s.guess(1)
		s.pass(time.Second)
		s.locks.SetOffline("front", false)
		s.pass(3 * time.Second)
		if s.opens("front", rightPIN) {
			t.Error("the pause was not asked for again")
		}
		s.pass(12 * time.Second)
		if !s.opens("front", rightPIN) {
			t.Error("the pause lasts longer than from the wrong PIN on")
		}
	})
}

// Wrong PINs that a lock reports too late pause no keypad.
func TestLateReportsOfWrongPINsPauseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guardedSite(t, sim.Pausable)
		for range 12 {
			s.bridge.workers["front"].guard.recordWrongPIN(time.Now().Add(-time.Minute))
			synctest.Wait()
		}
		if !s.opens("front", rightPIN) {
			t.Error("wrong PINs of a minute ago close the keypad")
		}
	})
}

func TestLockoutIsSetAndReadBack(t *testing.T) {
	for _, profile := range []string{sim.ZWaveUser, sim.Matter} {
		t.Run(profile, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := guardedSite(t, profile)
				shown := func() slot.Lockout { _, st := s.bridge.outbox.helloState("front"); return st.guard.Lockout }
				if got := s.locks.Lockout("front"); got != slot.DesiredLockout || shown() != got {
					t.Fatalf("the lock keeps %+v, the bridge says %+v", got, shown())
				}
				if read := s.guess(40); read != slot.DesiredLockout.Attempts {
					t.Errorf("the keypad read %d of 40 wrong PINs", read)
				}
				if s.opens("front", rightPIN) {
					t.Error("the right PIN opens during the lockout")
				}
				s.pass(slot.DesiredLockout.Pause)
				if !s.opens("front", rightPIN) {
					t.Error("the right PIN does not open after the lockout")
				}

				if err := s.locks.SetLockoutByHand("front", slot.Lockout{}); err != nil {
					t.Fatal(err)
				}
				s.pass(lockoutCheckEvery)
				if got := s.locks.Lockout("front"); got != slot.DesiredLockout {
					t.Errorf("a lockout that was changed at the lock is not set again: %+v", got)
				}

				s.kill()
				if err := s.locks.SetLockoutByHand("front", slot.Lockout{}); err != nil {
					t.Fatal(err)
				}
				s.start()
				s.pass(time.Hour)
				if got := s.locks.Lockout("front"); got != (slot.Lockout{}) {
					t.Error("a restart woke a lock whose lockout was read lately")
				}
				s.pass(lockoutCheckEvery)

				s.kill()
				s.locks.SetOffline("front", true)
				s.start()
				s.pass(time.Hour)
				if shown() != slot.DesiredLockout {
					t.Error("a bridge that started while its lock was away has forgotten what it read")
				}
			})
		})
	}
}

// All locks of a radio start to set their lockouts at the same time. Each gets its turn.
func TestManyLocksOfOneRadioGetTheirLockouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var specs []sim.Spec
		for i := range 40 {
			specs = append(specs, sim.Spec{Address: fmt.Sprint(i), Profile: sim.Matter, Radio: "one", Latency: time.Second})
		}
		s := newSite(t, specs...)
		s.pass(2 * time.Hour)
		for _, spec := range specs {
			if got := s.locks.Lockout(spec.Address); got != slot.DesiredLockout {
				t.Errorf("lock %s keeps %+v", spec.Address, got)
			}
		}
	})
}

// A lock answers slowly while its keypad is being paused. A remote unlock on the same radio does not wait long, and
// the bridge reports that the keypad may be paused.
func TestSlowPauseDoesNotDelayAnUnlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := sim.Spec{Address: "front", Profile: sim.Pausable, Radio: "one", Latency: 20 * time.Second, Lifetime: 30 * time.Second}
		s := newSite(t, slow, sim.Spec{Address: "back", Profile: sim.Pausable, Radio: "one"})
		s.pass(time.Minute)
		if read := s.guess(10); read != 10 {
			t.Fatalf("the keypad read %d wrong PINs", read)
		}
		if rec := s.act("act_1", "back", 10*time.Second); rec.Outcome != outcomeDone {
			t.Errorf("the unlock at the other lock: %s, %s", rec.Outcome, rec.Result)
		}
		s.pass(lockoutCallTimeout)
		if left := time.Until(s.pausedUntil()); left <= 0 {
			t.Errorf("a pause that may have begun is not shown: its end is %v", s.pausedUntil())
		}
	})
}
