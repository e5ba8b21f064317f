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

func TestFollowerShowsTheReferencesTime(t *testing.T) {
	for by, uncertain := range map[time.Duration]time.Duration{5 * time.Minute: time.Second, -time.Hour: time.Millisecond} {
		f := Follow(Ahead(System, by))
		if off := time.Until(f.Now()) - by; off.Abs() > time.Second {
			t.Errorf("before a measurement it is %v off its own wall clock", off)
		}
		now := time.Now()
		f.Measured(now, now.Add(-uncertain), now.Add(uncertain))
		if off := time.Until(f.Now()); off.Abs() > time.Second {
			t.Errorf("measured, it is %v off", off)
		}
	}
}

// A slow measurement is inexact: it does not change a clock that is within its uncertainty.
func TestFollowerMovesOnlyIfItIsCertainlyWrong(t *testing.T) {
	f := Follow(System)
	now := time.Now()
	f.Measured(now.Add(3*time.Second), now.Add(-4*time.Second), now.Add(4*time.Second))
	if off := time.Until(f.Now()); off.Abs() > time.Second {
		t.Errorf("moved by %v on a measurement that is 4 s uncertain", off)
	}
	f.Measured(now.Add(3*time.Second), now, now)
	if off := time.Until(f.Now()) - 3*time.Second; off.Abs() > time.Second {
		t.Errorf("%v off a certain measurement", off)
	}
}

func TestBackoff(t *testing.T) {
	for times, want := range map[int]time.Duration{-1: 3, 0: 3, 1: 6, 2: 12, 3: 20, 4: 20, 1 << 20: 20} {
		if got := Backoff(3, 20, times); got != want {
			t.Errorf("doubled %d times: %d, want %d", times, got, want)
		}
	}
	if got := Backoff(30, 20, 0); got != 20 {
		t.Errorf("a first wait above the limit: %d, want 20", got)
	}
}
