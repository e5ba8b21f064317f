package agent

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// foreign is what the outbox holds about foreign codes.
func (s *site) foreign(address string) map[uint32]bool {
	synctest.Wait()
	words, _ := s.bridge.outbox.takeReports()
	for _, w := range words {
		if w.address == address {
			return w.foreign
		}
	}
	return nil
}

func TestForeignCodesAreFoundAndNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave}, sim.Spec{Address: "blind", Profile: sim.TTLock})
		for _, at := range []string{"front", "blind"} {
			if err := s.locks.ProgramSilently(at, 5, "864209"); err != nil {
				t.Fatal(err)
			}
		}
		s.bridge.outbox.open()
		s.want("front", 1, slot.Desired{Intent: slot.Present, PIN: "345671"})
		s.pass(time.Minute)
		writes := s.locks.WriteCount("front")
		s.pass(searchInterval * 3)
		if got := s.foreign("front"); len(got) == 0 || len(got) > 3 {
			t.Errorf("in three pauses %d slots were read: %v", len(got), got)
		}
		slots := s.bridge.workers["front"].lock.Capabilities().Slots
		s.bridge.outbox.open()
		s.pass(searchInterval * time.Duration(slots))
		got := s.foreign("front")
		for n, occupied := range got {
			if n == 1 || occupied != (n == 5) {
				t.Errorf("slot %d: %v", n, occupied)
			}
		}
		if !got[5] {
			t.Errorf("the code in slot 5 was not found: %v", got)
		}
		if s.bridge.workers["blind"].lock.Capabilities().ReadBack {
			t.Fatal("want a lock that cannot be read")
		}
		if other := s.foreign("blind"); other != nil {
			t.Errorf("of a lock that cannot be read: %v", other)
		}
		if n := s.locks.WriteCount("front") - writes; n != 0 || !s.opens("front", "864209") {
			t.Errorf("what was found was touched by %d operations", n)
		}
		s.bridge.outbox.open()
		if again := s.foreign("front"); len(again) != slots-1 || !again[5] || again[6] {
			t.Errorf("the next session reports %v, want all %d slots, 5 occupied", again, slots-1)
		}
		if err := s.locks.ProgramSilently("front", 5, ""); err != nil {
			t.Fatal(err)
		}
		s.pass(searchRoundInterval + searchInterval*time.Duration(slots))
		if gone := s.foreign("front"); !maps.Equal(gone, map[uint32]bool{5: false}) {
			t.Errorf("after it was removed: %v", gone)
		}
	})
}

func TestForeignCodesAreReported(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(s *site, round func()) // a code was found in slot 5, and reported
		want map[uint32]bool             // what the next session reports of slot 5, if anything
	}{
		{
			name: "it is there still",
			then: func(*site, func()) {},
			want: map[uint32]bool{5: true},
		},
		{
			name: "seen empty between two sessions",
			then: func(s *site, round func()) {
				s.bridge.outbox.close()
				_ = s.locks.ProgramSilently("front", 5, "")
				round()
			},
			want: map[uint32]bool{5: false},
		},
		{
			name: "seen empty, and the word is lost with its session",
			then: func(s *site, round func()) {
				_ = s.locks.ProgramSilently("front", 5, "")
				round()
				s.foreign("front")
				s.bridge.outbox.close()
			},
			want: map[uint32]bool{5: false},
		},
		{
			name: "the slot was ours since, and is free again",
			then: func(s *site, _ func()) {
				_ = s.locks.ProgramSilently("front", 5, "")
				s.want("front", 5, slot.Desired{Intent: slot.Present, PIN: "456782"})
				s.pass(time.Minute)
				s.want("front", 5, gone)
				s.pass(time.Minute)
			},
			want: map[uint32]bool{},
		},
		{
			name: "the slot was ours since, and holds another's code again",
			then: func(s *site, round func()) {
				_ = s.locks.ProgramSilently("front", 5, "")
				s.want("front", 5, slot.Desired{Intent: slot.Present, PIN: "456782"})
				s.pass(time.Minute)
				s.want("front", 5, gone)
				s.pass(time.Minute)
				s.foreign("front")
				_ = s.locks.ProgramSilently("front", 5, "864209")
				round()
				if got := s.foreign("front"); !got[5] {
					s.t.Errorf("the session reports %v", got)
				}
			},
			want: map[uint32]bool{5: true},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
				_ = s.locks.ProgramSilently("front", 5, "864209")
				round := func() {
					s.pass(searchRoundInterval + searchInterval*time.Duration(s.bridge.workers["front"].lock.Capabilities().Slots+2))
				}
				s.bridge.outbox.open()
				round()
				if got := s.foreign("front"); !got[5] {
					t.Fatalf("the code in slot 5 was not found: %v", got)
				}
				tt.then(s, round)
				s.bridge.outbox.open()
				got := s.foreign("front")
				maps.DeleteFunc(got, func(n uint32, _ bool) bool { return n != 5 })
				if fmt.Sprint(got) != fmt.Sprint(tt.want) {
					t.Errorf("the next session reports %v, want %v", got, tt.want)
				}
			})
		})
	}
}
