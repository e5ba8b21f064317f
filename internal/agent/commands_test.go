package agent

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"latchkey.dev/internal/agent/driver"
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

// answering is a lock that gives an answer to every unlock command.
type answering struct {
	driver.Lock
	answer *driver.Answer
}

func (l answering) Unlock(context.Context) driver.Answer { return *l.answer }

// Only a result after which the door may still open leaves the outcome of a command unknown, unless the call was not sent. Any other result
// is final: the command is not repeated, and a person may send another one.
func TestOutcomeOfEachResult(t *testing.T) {
	outcomes := map[slot.Result]string{
		slot.OK: outcomeDone, slot.NotConfirmed: outcomeUnknown, slot.Timeout: outcomeUnknown, slot.LockOffline: outcomeUnknown,
		slot.Duplicate: outcomeFailed, slot.Occupied: outcomeFailed, slot.SlotsFull: outcomeFailed, slot.InvalidFormat: outcomeFailed,
		slot.Unsupported: outcomeFailed, slot.Busy: outcomeFailed, slot.ClockUntrusted: outcomeFailed, slot.LowPower: outcomeFailed, slot.Jammed: outcomeFailed,
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		answer := driver.Answer{}
		s.restartWith(wrapped{s.locks.Driver(), func(l driver.Lock) driver.Lock { return answering{l, &answer} }})
		for _, result := range slot.Results() {
			for _, unsent := range []bool{false, true} {
				want := outcomes[result]
				if unsent && want == outcomeUnknown {
					want = outcomeFailed
				}
				answer = driver.Answer{Result: result, Unsent: unsent}
				if rec := s.act(fmt.Sprint("act_", result, unsent), "front", time.Second); rec.Outcome != want || rec.Result != string(result) {
					t.Errorf("%s, unsent %v: the command is %q with the result %q, want %q", result, unsent, rec.Outcome, rec.Result, want)
				}
			}
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

// TestRefusedKeysLeaveRoomForCommands fills the store with results of commands that moved no lock, as a phone with an old SmartKey can. The
// bridge must still execute commands, but not without limit.
func TestRefusedKeysLeaveRoomForCommands(t *testing.T) {
	ended := func(outcome, result, reason string) commandRecord {
		return commandRecord{Outcome: outcome, Result: result, Reason: reason}
	}
	cases := map[string]struct {
		stored commandRecord
		want   error
	}{
		"SmartKeys were refused":  {ended(outcomeFailed, "", "expired"), nil},
		"SmartKeys were checked":  {ended(outcomeDone, "", "ok"), nil},
		"doors were opened":       {ended(outcomeDone, "ok", ""), errTooManyCommands},
		"SmartKeys opened doors":  {ended(outcomeDone, "ok", "ok"), errTooManyCommands},
		"commands have not ended": {ended("", "", ""), errTooManyCommands},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
			now := time.Now()
			err := s.bridge.store.db.Update(func(tx *bbolt.Tx) error {
				for i := range maxCommandRecords {
					rec := c.stored
					rec.ID, rec.At = fmt.Sprintf("act_%d", i), now
					if err := putCommand(tx.Bucket(commandsBucket), rec); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.bridge.store.beginCommand("act_new", now); !errors.Is(err, c.want) {
				t.Errorf("the next command: %v, want %v", err, c.want)
			}
		})
	}
}
