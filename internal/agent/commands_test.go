package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

func (s *site) act(id, address string, within time.Duration) commandRecord {
	s.t.Helper()
	return s.bridge.commands.runOnce(s.t.Context(), command{id: id, address: address, operation: "unlock", deadline: time.Now().Add(within)})
}

func TestCommandIsExecutedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		for range 3 {
			if rec := s.act("act_1", "front", time.Second); rec.Outcome != outcomeDone || rec.Result != "ok" {
				t.Errorf("%+v", rec)
			}
		}
		s.kill()
		s.start()
		if rec := s.act("act_1", "front", time.Second); rec.Outcome != outcomeDone {
			t.Errorf("after a restart: %+v", rec)
		}
		if n := s.locks.UnlockCount("front"); n != 1 {
			t.Errorf("opened %d times, want once", n)
		}
	})
}

func TestCommandWithLostEndIsUnknownAndNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		if _, _, err := s.bridge.store.beginCommand("act_1", time.Now()); err != nil { // as before a power cut
			t.Fatal(err)
		}
		s.kill()
		s.start()
		if rec := s.act("act_1", "front", time.Second); rec.Outcome != outcomeUnknown {
			t.Errorf("%+v", rec)
		}
		if n := s.locks.UnlockCount("front"); n != 0 {
			t.Errorf("opened %d times", n)
		}
	})
}

func TestCommandIsNotExecutedAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.TTLock, Latency: time.Second})
		s.pass(10 * time.Second)
		s.want("front", 1, stay("345678", 0, time.Hour)) // takes the radio for a second
		synctest.Wait()
		if rec := s.act("act_1", "front", 500*time.Millisecond); rec.Outcome != outcomeExpired {
			t.Errorf("behind another operation: %+v", rec)
		}
		if rec := s.act("act_2", "front", 0); rec.Outcome != outcomeExpired {
			t.Errorf("with no time left: %+v", rec)
		}
		s.pass(time.Second)
		if rec := s.act("act_3", "front", 500*time.Millisecond); rec.Outcome != outcomeUnknown || rec.Result != string(slot.Timeout) {
			t.Errorf("with an answer too late: %+v", rec)
		}
		if n := s.locks.UnlockCount("front"); n != 0 {
			t.Errorf("opened %d times", n)
		}
		if rec := s.act("act_4", "front", 5*time.Second); rec.Outcome != outcomeDone {
			t.Errorf("with time enough: %+v", rec)
		}
	})
}

func TestInvalidCommandsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		if rec := s.act("act_1", "nowhere", time.Second); rec.Outcome != outcomeFailed || rec.Result != string(slot.Unsupported) {
			t.Errorf("unknown lock: %+v", rec)
		}
		s.locks.SetJammed("front", true)
		if rec := s.act("act_2", "front", time.Second); rec.Outcome != outcomeFailed || rec.Result != string(slot.Jammed) {
			t.Errorf("jammed: %+v", rec)
		}
	})
}

// The state of a bolt in an event or a failed unlock command becomes the lock's status at once. So does that of a later status read.
func TestJammedBoltIsRecordedBeforeTheNextStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		bolt := func(what, want string) {
			t.Helper()
			synctest.Wait()
			if st := s.bridge.outbox.lastStatus("front"); st.Bolt != want {
				t.Errorf("%s: the bolt is said to be %s, want %s", what, st.Bolt, want)
			}
		}
		s.locks.SetJammed("front", true)
		bolt("an event", "jammed")
		st := s.bridge.outbox.lastStatus("front")
		st.Bolt = "locked"
		s.bridge.outbox.setStatus("front", st, false) // as if the event had been lost
		s.act("act_1", "front", time.Second)
		bolt("a refused opening", "jammed")
		s.locks.SetJammed("front", false)
		s.pass(2 * statusEvery)
		bolt("a look once it moves", "locked")
	})
}
