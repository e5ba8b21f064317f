package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/types/known/timestamppb"

	"latchkey.dev/internal/agent/doorkeeper"
	"latchkey.dev/internal/agent/driver/sim"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

// Tests of assumptions that the model checker of package slot makes about this package.

func (s *site) writes() (n int) {
	s.t.Helper()
	err := s.bridge.store.db.View(func(tx *bbolt.Tx) error { n = tx.ID(); return nil })
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// A power cut between two writes would leave a change that is known and in no journal.
func TestManualChangeIsJournaledInTheWriteThatStoresIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave, Latency: time.Second})
		s.want("front", 1, stay("345678", 0, 100*time.Hour))
		s.pass(20 * time.Second)
		before, was := s.writes(), len(s.journal())
		if err := s.locks.Program("front", 1, ""); err != nil {
			t.Fatal(err)
		}
		s.pass(1500 * time.Millisecond) // read, and being set again
		got := s.journal()
		if len(got) != was+1 || got[was].Kind != "tampered" || got[was].Slot != 1 || got[was].Generation != 1 {
			t.Fatalf("journal: %+v", got)
		}
		if n := s.writes() - before; n != 2 { // the reading was due; its outcome with the entry
			t.Errorf("%d writes, want 2", n)
		}
	})
}

// A delayed Welcome makes the bridge's clock look fast. A deadline must not become later by it.
func TestDelayedWelcomeDoesNotExtendDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		within := func(deadline time.Time) time.Duration {
			return time.Until(s.bridge.decodeCommand(&lockv1.Act{Id: "act_1", Deadline: timestamppb.New(deadline)}).deadline)
		}
		sent := time.Now()
		s.pass(4 * time.Second) // the delay between sending and receiving Welcome
		s.bridge.measureSkew(sent, 4*time.Second)
		if d := within(time.Now().Add(5 * time.Second)); d > 5*time.Second {
			t.Errorf("%v to carry an act out, its deadline is in 5s", d)
		}
		s.pass(15 * time.Second)
		s.bridge.measureSkew(time.Now(), 0) // a heartbeat without delay
		if d := within(time.Now().Add(5 * time.Second)); d > 5*time.Second || d < 5*time.Second-doorkeeper.CloseEnough {
			t.Errorf("%v to carry an act out after a heartbeat, its deadline is in 5s", d)
		}
	})
}
