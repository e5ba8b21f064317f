package bridgelink

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// More bridges connect than the node opens sessions for: one waits, one disconnects while it waits, and one too many is asked when to
// reconnect.
func TestSessionOpeningsAreQueued(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		s.opening = limits{active: 1, waiting: 2, timeout: time.Minute}
		n, address := s.node("nod_a")
		first, leaving, refused := s.enrol("front"), s.enrol("side"), s.enrol("back")
		s.must(n.opening.acquire(t.Context())) // as a session that is being opened
		first.open(address)
		first.send(first.hello())
		s.until("the first bridge waits", func() bool { return n.opening.waiting.Load() == 1 })
		leaving.open(address)
		leaving.send(leaving.hello())
		s.until("two bridges wait", func() bool { return n.opening.waiting.Load() == 2 })

		refused.open(address)
		refused.send(refused.hello())
		d := refused.next().GetDrain()
		if after := time.Duration(d.GetReconnectAfterMs()) * time.Millisecond; after < s.opening.timeout/2 || after > s.opening.timeout {
			t.Errorf("asked to come back after %v", after)
		}
		if why, err := refused.end(); why != string(crowded) || status.Code(err) != codes.Unavailable {
			t.Errorf("the stream ended by %q: %v", why, err)
		}
		if refused.row().Online {
			t.Error("the refused bridge is online")
		}

		s.must(leaving.conn.Close())
		s.until("the bridge that left waits no more", func() bool { return n.opening.waiting.Load() == 1 })
		n.opening.release()
		if w := first.next().GetWelcome(); w.GetEpoch() == 0 {
			t.Error("the bridge that waited was not welcomed")
		}
		if leaving.row().Epoch != 1 {
			t.Error("a session was opened for the bridge that left")
		}
		refused.connect(address)
	})
}
