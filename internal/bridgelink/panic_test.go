package bridgelink

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

func TestPanicEndsOnlyItsSession(t *testing.T) {
	s := newSite(t, "sqlite")
	n, address := s.node("nod_a")
	n.cfg.OnEvidence = func(*db.Tx, []lock.EvidenceChange) error { panic("boom") }
	b := s.enrol("front")
	b.connect(address)
	s.put(n, b.lock("front"), "grt_a", "004217")
	b.report("front", b.next().GetLockDelta().Slots...)
	if _, err := b.end(); status.Code(err) != codes.Unavailable {
		t.Errorf("the session ended with %v", err)
	}
	s.until("counted, and offline", func() bool {
		return counted(t, n.counters.ended.WithLabelValues(string(panicked))) == 1 && !b.row().Online
	})
	n.cfg.OnEvidence = func(*db.Tx, []lock.EvidenceChange) error { return nil }
	b.connect(address)
}

// hostile is a stream whose messages cannot be decoded.
type hostile struct{ stream }

func (hostile) Recv() (*lockv1.ConnectRequest, error) { panic("boom") }

func TestPanicWhileDecodingEndsOnlyItsSession(t *testing.T) {
	s := newSite(t, "sqlite")
	n, _ := s.node("nod_a")
	if _, err := newSession(n, hostile{}).recv(); err != panicked {
		t.Errorf("got %v", err)
	}
}
