package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSystemFollowsTheMachineInUTC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := System.Now()
		if before.Location() != time.UTC {
			t.Errorf("location %v, want UTC", before.Location())
		}
		<-time.After(3 * time.Second)
		if got := System.Now().Sub(before); got != 3*time.Second {
			t.Errorf("moved by %v, want 3s", got)
		}
	})
}

func TestFixedMovesOnlyWhenSet(t *testing.T) {
	noon := time.Date(2026, 3, 29, 12, 0, 0, 0, time.FixedZone("CEST", 7200))
	c := At(noon)
	if got := c.Now(); !got.Equal(noon) || got.Location() != time.UTC {
		t.Fatalf("At: %v", got)
	}
	if got := c.Advance(90 * time.Minute); !got.Equal(noon.Add(90*time.Minute)) || !c.Now().Equal(got) {
		t.Errorf("Advance: %v, then %v", got, c.Now())
	}
	c.Set(noon)
	if !c.Now().Equal(noon) {
		t.Errorf("Set: %v", c.Now())
	}
}

func TestRandomDurationsAreInTheirRange(t *testing.T) {
	const d = 10 * time.Nanosecond
	for name, tt := range map[string]struct {
		next        func() time.Duration
		first, last time.Duration
	}{
		"Jitter":     {func() time.Duration { return Jitter(d) }, d / 2, d},
		"FullJitter": {func() time.Duration { return FullJitter(d) }, 0, d - 1},
		"Spread":     {func() time.Duration { return Spread(d, 2) }, d - 2, d + 2},
	} {
		seen := map[time.Duration]bool{}
		for range 1000 {
			got := tt.next()
			if seen[got] = true; got < tt.first || got > tt.last {
				t.Fatalf("%s: %v, want %v to %v", name, got, tt.first, tt.last)
			}
		}
		if !seen[tt.first] || !seen[tt.last] {
			t.Errorf("%s never returned the bounds %v and %v", name, tt.first, tt.last)
		}
	}
}
