package bridge

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/bridge/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// told is what the outbox holds about other people's codes.
func (s *site) told(address string) map[uint32]bool {
	synctest.Wait()
	words, _ := s.bridge.out.take()
	for _, w := range words {
		if w.address == address {
			return w.others
		}
	}
	return nil
}

func TestCodesOfOthersAreSearchedAndLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave}, sim.Spec{Address: "blind", Profile: sim.TTLock})
		for _, at := range []string{"front", "blind"} {
			if err := s.house.Meddle(at, 5, "864209"); err != nil {
				t.Fatal(err)
			}
		}
		s.bridge.out.begin()
		s.want("front", 1, slot.Desired{Intent: slot.Present, PIN: "345671"})
		s.pass(time.Minute)
		writes := s.house.Writes("front")
		s.pass(searchPause * 3)
		if got := s.told("front"); len(got) == 0 || len(got) > 3 {
			t.Errorf("in three pauses %d slots were read: %v", len(got), got)
		}
		slots := s.bridge.owners["front"].lock.Capabilities().Slots
		s.bridge.out.begin()
		s.pass(searchPause * time.Duration(slots))
		got := s.told("front")
		for n, occupied := range got {
			if n == 1 || occupied != (n == 5) {
				t.Errorf("slot %d: %v", n, occupied)
			}
		}
		if !got[5] {
			t.Errorf("the code in slot 5 was not found: %v", got)
		}
		if s.bridge.owners["blind"].lock.Capabilities().ReadBack {
			t.Fatal("want a lock that cannot be read")
		}
		if other := s.told("blind"); other != nil {
			t.Errorf("of a lock that cannot be read: %v", other)
		}
		if n := s.house.Writes("front") - writes; n != 0 || !s.opens("front", "864209") {
			t.Errorf("what was found was touched by %d operations", n)
		}
		s.bridge.out.begin()
		if again := s.told("front"); !maps.Equal(again, map[uint32]bool{5: true}) {
			t.Errorf("the next session is told %v, want what is occupied", again)
		}
		if err := s.house.Meddle("front", 5, ""); err != nil {
			t.Fatal(err)
		}
		s.pass(searchRest + searchPause*time.Duration(slots))
		if gone := s.told("front"); !maps.Equal(gone, map[uint32]bool{5: false}) {
			t.Errorf("after it was removed: %v", gone)
		}
	})
}
