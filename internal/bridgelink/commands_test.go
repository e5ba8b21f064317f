package bridgelink

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
)

// unlock stores an unlock command for the bridge's lock and sends it through a node.
func (s *site) unlock(n *Node, lockID string, within time.Duration) (lock.Outcome, error) {
	var o lock.UnlockCommand
	err := s.db.Write(context.Background(), func(tx *db.Tx) (err error) {
		o, err = lock.StoreCommand(tx, lock.Node{}, s.propertyID, lockID, "staff:x", time.Now().Add(within))
		return err
	})
	if err != nil {
		return lock.Outcome{}, err
	}
	return n.SendCommand(context.Background(), o)
}

type ending struct {
	out lock.Outcome
	err error
}

func (s *site) unlocking(n *Node, lockID string, within time.Duration) <-chan ending {
	done := make(chan ending, 1)
	go func() {
		out, err := s.unlock(n, lockID, within)
		done <- ending{out, err}
	}()
	return done
}

func (b *device) act() *lockv1.Act {
	b.s.t.Helper()
	a := b.next().GetAct()
	if a == nil {
		b.s.t.Fatal("the message is no act")
	}
	return a
}

func (b *device) acted(id, outcome string) {
	b.s.t.Helper()
	b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_ActReport{ActReport: &lockv1.ActReport{Id: id, Outcome: outcome, Result: "ok"}}})
}

func TestCommandIsExecutedOnceFromAnyNode(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		here, address := s.node("nod_a")
		there, _ := s.node("nod_b")
		b := s.enrol("front")
		b.connect(address)
		lockID := b.lock("front").ID
		for _, n := range []*Node{here, there} {
			for _, outcome := range []string{lock.CommandDone, lock.CommandFailed, lock.CommandExpired} {
				done := s.unlocking(n, lockID, 5*time.Second)
				a := b.act()
				if a.Address != "front" || a.Operation != lock.Unlock || a.DeadlineMs == 0 || a.DeadlineMs > 5000 || a.Deadline == nil {
					t.Errorf("act %v", a)
				}
				b.acted(a.Id, outcome)
				b.acted(a.Id, outcome)
				if r := <-done; r.err != nil || r.out.State != outcome || r.out.CommandID != a.Id {
					t.Errorf("%s: %+v", outcome, r)
				}
			}
		}
		opened, err := s.db.View(t.Context()).Event.Query().Count(t.Context())
		s.must(err)
		if opened != 2 {
			t.Errorf("%d events of two openings", opened)
		}
	})
}

// After a restore from an older backup a bridge reports commands that the database does not hold. The session continues.
func TestReportOfUnknownCommandHasNoEffect(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n, address := s.node("nod_a")
		b := s.enrol("front")
		b.connect(address)
		lockID := b.lock("front").ID
		for _, id := range []string{"", "act_unknown", "\x00"} {
			b.acted(id, lock.CommandDone)
		}
		done := s.unlocking(n, lockID, 5*time.Second)
		b.acted(b.act().Id, lock.CommandDone)
		if r := <-done; r.err != nil || r.out.State != lock.CommandDone {
			t.Errorf("the opening after them: %+v", r)
		}
		if got := counted(t, n.counters.ignored.WithLabelValues("invalid")); got != 3 {
			t.Errorf("%v messages are counted as invalid, want 3", got)
		}
	})
}

func TestCommandForOfflineBridgeFailsAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n, address := s.node("nod_a")
		b := s.enrol("front")
		b.connect(address)
		lockID := b.lock("front").ID
		s.must(b.stream.CloseSend())
		b.end()
		s.until("offline", func() bool { return !b.row().Online })
		began := time.Now()
		if _, err := s.unlock(n, lockID, 5*time.Second); !fault.Has(err, fault.BridgeOffline) {
			t.Errorf("the bridge is offline: %v", err)
		}
		// Its row says online, but its node is gone, or does not know of it.
		for _, node := range []string{"nod_gone", "nod_a"} {
			s.change(func(tx *db.Tx) error {
				return tx.Bridge.UpdateOneID(b.id).SetOnline(true).SetLastSeenAt(tx.Now()).SetNode(node).Exec(tx.Context())
			})
			if _, err := s.unlock(n, lockID, 5*time.Second); !fault.Has(err, fault.BridgeOffline) {
				t.Errorf("node %s: %v", node, err)
			}
		}
		if n := counted(t, n.counters.refused.WithLabelValues(offline)); n != 2 {
			t.Errorf("%v openings are counted that could not be sent, want 2", n)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it took %v to say so", took)
		}
		claimed, err := s.db.View(t.Context()).Act.Query().All(t.Context())
		s.must(err)
		for _, a := range claimed {
			if a.State != lock.CommandExpired {
				t.Errorf("an act that was not sent is %q", a.State)
			}
		}
	})
}

func counted(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	all, err := r.Gather()
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0].GetMetric()[0].GetCounter().GetValue()
}

func TestCommandWithoutReportIsUnknownUntilALateReport(t *testing.T) {
	s := newSite(t, "sqlite")
	s.pace.resultGrace = 50 * time.Millisecond
	n, address := s.node("nod_a")
	b := s.enrol("front")
	b.connect(address)
	lockID := b.lock("front").ID
	done := s.unlocking(n, lockID, 100*time.Millisecond)
	a := b.act()
	if r := <-done; r.err != nil || r.out.State != lock.CommandUnknown {
		t.Fatalf("nothing came back: %+v", r)
	}
	b.connect(address)
	b.acted(a.Id, lock.CommandDone)
	s.until("the act is done", func() bool {
		out, err := lock.GetCommand(s.db.View(t.Context()), s.propertyID, a.Id)
		return err == nil && out.State == lock.CommandDone
	})
}

func TestSentCommandIsUnknownWhenItsSessionEnds(t *testing.T) {
	s := newSite(t, "sqlite")
	n, address := s.node("nod_a")
	b := s.enrol("front")
	b.connect(address)
	lockID := b.lock("front").ID
	done := s.unlocking(n, lockID, 5*time.Second)
	b.act()
	old := *b
	b.connect(address)
	old.end()
	if r := <-done; r.err != nil || r.out.State != lock.CommandUnknown {
		t.Errorf("the session was taken over: %+v", r)
	}
	select {
	case m := <-b.messages:
		t.Errorf("the act was sent again: %v", m)
	default:
	}
}

func TestSentCommandIsUnknownWhenItsBridgeIsRevoked(t *testing.T) {
	s := newSite(t, "sqlite")
	n, address := s.node("nod_a")
	b := s.enrol("front")
	b.connect(address)
	done := s.unlocking(n, b.lock("front").ID, 5*time.Second)
	a := b.act()
	s.write(n, func(tx *db.Tx) error {
		_, err := bridge.Revoke(tx, s.propertyID, b.id, lock.MarkLinksLost)
		return err
	})
	if r := <-done; r.err != nil || r.out.CommandID != a.Id || r.out.State != lock.CommandUnknown {
		t.Errorf("the door may have opened: %+v", r)
	}
}

func TestCommandPastItsDeadlineIsNeverSent(t *testing.T) {
	var o command
	o.deadline = time.Now()
	act := &lockv1.Act{}
	if o.setRemaining(act, o.deadline) || !o.expired.Load() || act.DeadlineMs != 0 {
		t.Error("an act without time left would be sent")
	}
	o.deadline = o.deadline.Add(time.Second)
	if !o.setRemaining(act, o.deadline.Add(-300*time.Millisecond)) || act.DeadlineMs != 300 {
		t.Errorf("an act with 300 ms left is given %d", act.DeadlineMs)
	}
	s := newSite(t, "sqlite")
	n, address := s.node("nod_a")
	b := s.enrol("front")
	b.connect(address)
	var stored lock.UnlockCommand
	s.change(func(tx *db.Tx) (err error) {
		stored, err = lock.StoreCommand(tx, lock.Node{}, s.propertyID, b.lock("front").ID, "staff:x", time.Now().Add(time.Millisecond))
		return err
	})
	s.until("the deadline is over", func() bool { return time.Now().After(stored.Deadline) })
	if _, err := n.SendCommand(t.Context(), stored); !fault.Has(err, fault.DeadlineExceeded) {
		t.Errorf("past its deadline: %v", err)
	}
	s.put(n, b.lock("front"), "grt_a", "123456")
	if m := b.next(); m.GetLockDelta() == nil {
		t.Errorf("sent %v", m)
	}
}

func TestEachOfManyConcurrentCommandsIsAnswered(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n, address := s.node("nod_a")
		b := s.enrol("front")
		b.connect(address)
		lockID := b.lock("front").ID
		const many = 3 * maxCommands
		results := make(chan ending, many)
		var wg sync.WaitGroup
		for range many {
			wg.Go(func() {
				out, err := s.unlock(n, lockID, 5*time.Second)
				results <- ending{out, err}
			})
		}
		go func() { wg.Wait(); close(results) }()
		sent := map[string]bool{}
		counts := map[string]int{}
		for open := true; open; {
			select {
			case m := <-b.messages:
				id := m.GetAct().GetId()
				if sent[id] {
					t.Errorf("act %s was sent twice", id)
				}
				sent[id] = true
				b.acted(id, lock.CommandDone)
			case r, ok := <-results:
				switch {
				case !ok:
					open = false
				case r.err == nil:
					counts[r.out.State]++
				case fault.Has(r.err, fault.UnavailableReason):
					counts["busy"]++
				default:
					t.Errorf("an act ended with %v", r.err)
				}
			}
		}
		if counts[lock.CommandDone] != len(sent) || counts[lock.CommandDone]+counts["busy"] != many {
			t.Errorf("%d sent, ended as %v of %d", len(sent), counts, many)
		}
	})
}

// A command whose bridge is connected to the node that stores it is claimed in the same transaction. It is still sent at most once: not
// by another session, and not after the caller gave up.
func TestCommandIsClaimedInTheTransactionThatStoresIt(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n, address := s.node("nod_a")
		b := s.enrol("front")
		b.connect(address)
		lockID := b.lock("front").ID
		store := func() (o lock.UnlockCommand) {
			s.write(n, func(tx *db.Tx) (err error) {
				o, err = lock.StoreCommand(tx, n.Self(), s.propertyID, lockID, "staff:x", time.Now().Add(5*time.Second))
				return err
			})
			if o.Epoch == 0 {
				t.Error("the act was not claimed for the session here")
			}
			return o
		}
		state := func(o lock.UnlockCommand) string {
			out, err := lock.GetCommand(s.db.View(t.Context()), s.propertyID, o.CommandID)
			s.must(err)
			return out.State
		}
		o := store()
		done := make(chan ending, 1)
		go func() {
			out, err := n.SendCommand(context.Background(), o)
			done <- ending{out, err}
		}()
		if a := b.act(); a.Id != o.CommandID || a.Address != "front" || a.DeadlineMs == 0 {
			t.Errorf("act %v", a)
		}
		b.acted(o.CommandID, lock.CommandDone)
		if r := <-done; r.err != nil || r.out.State != lock.CommandDone || state(o) != lock.CommandDone {
			t.Errorf("%+v", r)
		}
		o = store()
		o.Epoch-- // as if another session had begun since
		if _, err := n.SendCommand(t.Context(), o); !fault.Has(err, fault.BridgeOffline) || state(o) != lock.CommandExpired {
			t.Errorf("for another session: %v, %s", err, state(o))
		}
	})
}

// Commands in the queue of a session end unsent once their deadline has passed, also on another node, and whatever the clock of the
// node that sent them shows.
func TestQueuedCommandsPastTheirDeadlineAreRefused(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		here, address := s.node("nod_a")
		there, _ := s.node("nod_b")
		b := s.enrol("front")
		b.connect(address)
		lockID := b.lock("front").ID
		var stored []lock.UnlockCommand
		for range 14 {
			s.write(here, func(tx *db.Tx) error {
				o, err := lock.StoreCommand(tx, here.Self(), s.propertyID, lockID, "staff:x", time.Now().Add(time.Millisecond))
				stored = append(stored, o)
				return err
			})
		}
		s.until("the deadlines are over", func() bool { return time.Now().After(stored[len(stored)-1].Deadline) })
		for i, o := range stored {
			from := here
			if i%2 == 1 {
				from, o.Epoch = there, 0
				s.must(s.db.Write(t.Context(), func(tx *db.Tx) error { return lock.ReleaseCommand(tx, s.propertyID, o.CommandID) }))
			}
			if _, err := from.SendCommand(t.Context(), o); !fault.Has(err, fault.DeadlineExceeded) {
				t.Errorf("act %d: %v", i, err)
			}
			// A caller that believes there is time left, or waited in the session's queue, gets no further.
			for _, c := range []nodeRequest{{Verb: "act", BridgeID: b.id, CommandID: o.CommandID, Deadline: o.Deadline}, {Verb: "act", BridgeID: b.id, CommandID: o.CommandID, Deadline: time.Now().Add(time.Hour)}} {
				if a := here.deliverCommand(t.Context(), c, nil); a.Done {
					t.Errorf("act %d: %+v", i, a)
				}
			}
		}
		se := here.currentSession(b.id)
		replied := make(chan error, 1)
		queued := &command{id: stored[0].CommandID, deadline: time.Now(), claimed: &stored[0], reply: func(_ lock.Outcome, err error) { replied <- err }}
		if why := se.mailbox.addCommand(queued, time.Now()); why != "" {
			t.Fatal(why)
		}
		if err := <-replied; !fault.Has(err, fault.DeadlineExceeded) {
			t.Errorf("from the queue: %v", err)
		}
		s.put(here, b.lock("front"), "grt_a", "123456")
		if m := b.next(); m.GetLockDelta() == nil {
			t.Errorf("sent %v", m)
		}
		rows, err := s.db.View(t.Context()).Act.Query().All(t.Context())
		s.must(err)
		for _, a := range rows {
			if a.State != lock.CommandExpired {
				t.Errorf("act %s is %q", a.ID, a.State)
			}
		}
	})
}
