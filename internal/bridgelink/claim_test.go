package bridgelink

import (
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

func TestCommandQueuedTwiceIsSentOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n, address := s.node("nod_a")
		b := s.enrol("front")
		b.connect(address)
		lockID := b.lock("front").ID
		var stored lock.UnlockCommand
		s.write(n, func(tx *db.Tx) (err error) {
			stored, err = lock.StoreCommand(tx, n.Self(), s.propertyID, lockID, "staff:x", time.Now().Add(5*time.Second))
			return err
		})
		replies := make(chan ending, 4)
		o := &command{id: stored.CommandID, deadline: stored.Deadline, claimed: &stored, reply: func(out lock.Outcome, err error) { replies <- ending{out, err} }}
		box := &n.currentSession(b.id).mailbox
		for range 2 {
			if why := box.addCommand(o, time.Now()); why != "" {
				t.Fatalf("the order is not taken: %s", why)
			}
		}
		if a := b.act(); a.Id != stored.CommandID {
			t.Fatalf("act %v", a)
		}
		// The next message to the bridge is the next act, and not the same once more.
		done := make(chan ending, 1)
		go func() {
			out, err := s.unlock(n, lockID, 5*time.Second)
			done <- ending{out, err}
		}()
		next := b.act()
		if next.Id == stored.CommandID {
			t.Fatal("the order was sent twice")
		}
		b.acted(stored.CommandID, lock.CommandDone)
		b.acted(next.Id, lock.CommandDone)
		for _, from := range []<-chan ending{replies, done} {
			if r := <-from; r.err != nil || r.out.State != lock.CommandDone {
				t.Errorf("%+v", r)
			}
		}
		if len(replies) != 0 {
			t.Errorf("answered again: %+v", <-replies)
		}
	})
}

// A session that learns from a claim that the bridge has a newer one refuses all waiting commands, so that their callers look for that one.
func TestSupersededSessionRefusesAllWaitingCommands(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n, address := s.node("nod_a")
		b := s.enrol("front")
		b.connect(address)
		lockID := b.lock("front").ID
		replies := make(chan ending, 3)
		var waiting []*command
		for range cap(replies) {
			s.write(n, func(tx *db.Tx) error {
				stored, err := lock.StoreCommand(tx, n.Self(), s.propertyID, lockID, "staff:x", time.Now().Add(time.Minute))
				if err != nil {
					return err
				}
				waiting = append(waiting, &command{id: stored.CommandID, deadline: stored.Deadline, reply: func(out lock.Outcome, err error) { replies <- ending{out, err} }})
				return lock.ReleaseCommand(tx, s.propertyID, stored.CommandID)
			})
		}
		se := n.currentSession(b.id)
		s.write(n, func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), "UPDATE bridges SET epoch = epoch + 1 WHERE id = $1", b.id)
			return err
		})
		se.mailbox.mu.Lock()
		se.mailbox.commands = waiting // together, as a burst of callers queues them
		se.mailbox.mu.Unlock()
		se.mailbox.notify()
		<-se.done
		for range waiting {
			select {
			case r := <-replies:
				if got := responseOf(r.out, r.err); got.Why != notHere {
					t.Errorf("answered %+v (%v), want %q", got, r.err, notHere)
				}
			default:
				t.Error("a command got no answer before the session was done")
			}
		}
	})
}
