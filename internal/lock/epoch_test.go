package lock_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
)

// A session that was superseded claims no slot: its bridge must not be handed a code that a newer session may take back.
func TestSupersededSessionClaimsNothing(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		row := s.mustPut(lk, "grt_a", "123456")
		s.clock.Advance(time.Second) // an enrolment is named after its time
		var code string
		s.change(func(tx *db.Tx) (err error) {
			_, code, err = bridge.ReplaceJoinCode(tx, s.keys, s.ca, s.propertyID, s.bridge.ID)
			return err
		})
		e, err := s.apply(code) // a slot of the former enrolment has to be claimed
		s.must(err)
		s.cert = s.parse(e.Certificate)
		row = s.row(row.ID)
		old := s.connect("front")
		desired, err := lock.DesiredSlots(s.db.View(t.Context()), old, map[string]int64{lk.ID: 0})
		s.must(err)
		if len(desired) != 1 || !desired[0].NeedsMarkSent {
			t.Fatalf("desired %+v, want one to claim", desired)
		}
		s.connect("front")
		err = s.db.Write(t.Context(), func(tx *db.Tx) error {
			_, err := lock.MarkSent(tx, old, desired)
			return err
		})
		if !errors.Is(err, bridge.ErrSuperseded) {
			t.Errorf("the older session's claim: %v", err)
		}
		if now := s.row(row.ID); now.Claimant != row.Claimant {
			t.Errorf("claimed for %q by a superseded session", now.Claimant)
		}
	})
}

// Of sessions that a bridge opens at once each has an epoch of its own, and only the highest counts.
func TestSessionsOpenedAtOnceHaveDifferentEpochs(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		first := s.connect("front")
		const many = 12
		opened := make(chan *lock.Session, many)
		var all sync.WaitGroup
		begin := make(chan struct{})
		for range many {
			all.Go(func() {
				<-begin
				open, err := s.greet(s.cert, bridge.Hello{Node: "nod_a", BootID: "boot", Clock: s.clock.Now()})
				switch {
				case err == nil:
					opened <- open
				case errors.Is(err, bridge.ErrSuperseded), fault.Has(err, fault.UnavailableReason): // lost against the others
				default:
					t.Errorf("not opened: %v", err)
				}
			})
		}
		close(begin)
		all.Wait()
		close(opened)
		epochs := map[int64]bool{}
		for open := range opened {
			if epochs[open.Epoch] {
				t.Errorf("two sessions have epoch %d", open.Epoch)
			}
			epochs[open.Epoch] = true
		}
		br, err := bridge.Get(s.db.View(t.Context()), s.propertyID, s.bridge.ID)
		s.must(err)
		if want := first.Epoch + int64(len(epochs)); len(epochs) == 0 || br.Epoch != want || !epochs[want] {
			t.Errorf("epoch %d after %d and the sessions %v", br.Epoch, first.Epoch, epochs)
		}
		for epoch := range epochs {
			err := s.db.Write(t.Context(), func(tx *db.Tx) error {
				_, _, err := lock.ApplyReports(tx, s.bridge.ID, epoch, []lock.LockReport{{Address: "front"}})
				return err
			})
			if current := epoch == br.Epoch; current != (err == nil) || !current && !errors.Is(err, bridge.ErrSuperseded) {
				t.Errorf("session %d of %d: %v", epoch, br.Epoch, err)
			}
		}
	})
}
