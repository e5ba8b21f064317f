package bridge_test

import (
	"strings"
	"testing"
	"time"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
)

func TestAClonedBridgeIsDetected(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		boots := func(ids ...string) {
			t.Helper()
			for _, id := range ids {
				_, err := s.advance(s.cert, bridge.Hello{Node: "nod_a", BootID: id})
				s.must(err)
			}
		}
		notified := func() int {
			n, err := s.db.View(t.Context()).Notice.Query().Where(entnotice.Kind("bridgeDoubled"), entnotice.Subject(s.bridge.ID)).Count(t.Context())
			s.must(err)
			return n
		}
		boots("a", "a", "b", "b", "c", "d", strings.Repeat("long", 40), strings.Repeat("long", 40))
		if n := notified(); n != 0 {
			t.Fatalf("restarts and broken connections alone are notified %d times", n)
		}
		boots("one", "two", "one", "two", "one", "two")
		if n := notified(); n != 1 {
			t.Errorf("two machines in turns are notified %d times, want once", n)
		}
		boots("three", "three", "four")
		if n := notified(); n != 1 {
			t.Errorf("after one has stopped: notified %d times", n)
		}
		boots("five", "four")
		if n := notified(); n != 2 {
			t.Errorf("a later clone is notified %d times in all, want twice", n)
		}
	})
}

// If a node crashes, the rows of its bridges are still online. The age of the last heartbeat shows that they are not.
func TestCountByProperty(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		expect := func(what string, want bridge.Count) {
			t.Helper()
			counts, err := bridge.CountByProperty(s.db.View(t.Context()), s.propertyID, "prp_other")
			s.must(err)
			if counts[s.propertyID] != want || counts["prp_other"] != (bridge.Count{}) {
				t.Errorf("%s: %v", what, counts)
			}
		}
		expect("enrolled", bridge.Count{All: 1})
		_, err := s.advance(s.cert, bridge.Hello{Node: "nod_a", BootID: "a"})
		s.must(err)
		expect("connected", bridge.Count{All: 1, Online: 1})
		s.clock.Advance(bridge.MaxSilence + time.Second)
		expect("silent", bridge.Count{All: 1})
		s.change(func(tx *db.Tx) error { return bridge.RevokeAll(tx, s.propertyID) })
		expect("revoked", bridge.Count{})
	})
}
