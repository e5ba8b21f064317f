package bridgelink

import (
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
)

func TestEventsAreAcknowledgedOnceStored(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		_, address := s.node("nod_a")
		b := s.enrol("front")
		b.connect(address)
		batch := &lockv1.EventBatch{Events: []*lockv1.Event{{Sequence: 1, Address: "front", Kind: "opened"}, {Sequence: 2, Address: "front", Kind: "denied"}}}
		for range 2 {
			b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Events{Events: batch}})
			if ack := b.next().GetEventAck(); ack.GetSequence() != 2 {
				t.Fatalf("acknowledged %v, want 2", ack)
			}
		}
		if w := b.connect(address); w.GetEventAck().GetSequence() != 2 {
			t.Errorf("welcome acknowledges %v, want 2", w.GetEventAck())
		}
		count, err := s.db.View(t.Context()).Event.Query().Count(t.Context())
		s.must(err)
		if count != 2 {
			t.Errorf("%d events stored, want 2", count)
		}
	})
}

// A bridge deletes what is acknowledged, so events whose transaction failed end the session, whatever the error.
func TestEventsThatAreNotStoredAreNotAcknowledged(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n, address := s.node("nod_a")
		var fails atomic.Bool
		works := n.cfg.OnEvidence
		n.cfg.OnEvidence = func(tx *db.Tx, changes []lock.EvidenceChange) error {
			if fails.Load() {
				return fault.New(fault.NotFound, fault.NotFoundReason, "gone")
			}
			return works(tx, changes)
		}
		b := s.enrol("front")
		b.connect(address)
		s.put(n, b.lock("front"), "grt_a", "004217")
		sent := b.next().GetLockDelta().Slots
		b.report("front", sent...)
		s.learn()
		fails.Store(true)
		use := &lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Events{Events: &lockv1.EventBatch{
			Events: []*lockv1.Event{{Sequence: 1, Address: "front", Kind: "opened", Slot: 1, Generation: sent[0].Generation}},
		}}}
		b.say(use)
		if _, err := b.end(); status.Code(err) != codes.Unavailable {
			t.Errorf("the session ended with %v", err)
		}
		fails.Store(false)
		if w := b.connect(address); w.GetEventAck().GetSequence() != 0 {
			t.Errorf("welcome acknowledges %v", w.GetEventAck())
		}
		b.say(use)
		m := b.next()
		for m.GetEventAck() == nil { // the lock's slots come first
			m = b.next()
		}
		if got := m.GetEventAck().GetSequence(); got != 1 {
			t.Errorf("the retry acknowledges %d, want 1", got)
		}
	})
}
