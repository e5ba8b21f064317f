package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// A code that is being removed from an unreachable lock still opens it. The bridge reports which code it was, also after a restart.
func TestOpeningDuringARemovalBelongsToItsCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "a", Profile: sim.TTLock})
		s.pass(time.Minute)
		s.want("a", 1, stay("345678", 0, time.Hour))
		s.pass(time.Minute)
		s.locks.SetOffline("a", true)
		gone := slot.Desired{Generation: 2, Intent: slot.Absent}
		s.want("a", 1, gone)
		s.pass(time.Minute)
		s.opens("a", "345678")
		s.restartWith(s.locks.Driver())
		s.opens("a", "345678")
		s.pass(time.Second)
		var got []uint64
		for _, o := range s.journal() {
			if o.Kind == driver.Opened {
				got = append(got, o.Generation)
			}
		}
		if len(got) != 2 || got[0] != 1 || got[1] != 1 {
			t.Errorf("the openings are of the generations %v, want 1 each", got)
		}
	})
}

// A lock reports an opening when its slot has changed already: the generation is that of the time of the opening.
func TestGenerationAtATime(t *testing.T) {
	at := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
	state := func(generation uint64) slot.Lock {
		l := slot.Lock{Slots: []slot.Slot{{Number: 1}}}
		if generation > 0 {
			l.Slots[0].Content, l.Slots[0].OldestGeneration = slot.Content{Kind: slot.Own}, generation
		}
		return l
	}
	o := newOutbox()
	for _, step := range []struct {
		second int
		knows  uint64
		want   map[int]uint64 // by the second of the opening
	}{
		{4, 4, map[int]uint64{4: 4}},
		{5, 4, map[int]uint64{4: 4, 5: 4}},
		{6, 0, map[int]uint64{5: 4, 6: 0}},
		{7, 0, map[int]uint64{5: 4, 7: 0}},
		{10, 7, map[int]uint64{5: 4, 10: 7}},
		{11, 8, map[int]uint64{10: 7, 11: 8}},
		{12, 0, map[int]uint64{11: 8, 12: 0}},
	} {
		o.setSlots("a", state(step.knows), nil, at(step.second))
		for second, want := range step.want {
			if got := o.generationAt("a", 1, at(second)); got != want {
				t.Errorf("at second %d, of an opening at second %d: generation %d, want %d", step.second, second, got, want)
			}
		}
	}
}
