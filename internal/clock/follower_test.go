package clock_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/clock"
)

func TestFollowerShowsTheReferencesTime(t *testing.T) {
	for by, uncertain := range map[time.Duration]time.Duration{5 * time.Minute: time.Second, -time.Hour: time.Millisecond} {
		f := clock.Follow(clock.Ahead(clock.System, by))
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
	f := clock.Follow(clock.System)
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
