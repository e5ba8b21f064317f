package agent

import (
	"context"
	"time"

	"latchkey.dev/internal/agent/driver"
)

const (
	// clockCheckEvery is the interval at which the bridge checks whether the machine's clock was set. After that, codes start and end late
	// by at most this time.
	clockCheckEvery = 10 * time.Second
	// minClockStep is the smallest step that counts. Smaller ones count once they add up to it. The two clocks are not read at the same
	// instant, so a small difference can also be a delay between the readings.
	minClockStep = time.Second
)

// clockSteps detects that the machine's clock was set: the wall clock and the monotonic clock then progress differently. The correction of
// the clock's speed by NTP changes both alike. A machine that was suspended also shows a step, because its monotonic clock was stopped.
type clockSteps struct {
	wall, monotonic time.Time // both clocks at the start or at the last step
}

// next returns by how much the wall clock was set since the last step that it returned: positive if it was set forward, negative if back.
// It returns 0 while the sum is below minClockStep. The arguments are what the clocks show now.
func (s *clockSteps) next(wall, monotonic time.Time) time.Duration {
	wall = wall.Round(0) // without the monotonic reading, which Sub would prefer
	by := wall.Sub(s.wall) - monotonic.Sub(s.monotonic)
	if by.Abs() < minClockStep {
		return 0
	}
	s.wall, s.monotonic = wall, monotonic
	return by
}

// watchClock calls checkClock every clockCheckEvery until ctx ends.
func (b *Bridge) watchClock(ctx context.Context) {
	t := time.NewTicker(clockCheckEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			b.checkClock()
		}
	}
}

// checkClock is applyClockStep for callers that do not hold skewMu: it checks whether the machine's clock was set, and if so corrects the
// measured difference to the server's clock and wakes the workers.
func (b *Bridge) checkClock() {
	b.skewMu.Lock()
	defer b.skewMu.Unlock()
	b.applyClockStep()
}

// applyClockStep checks whether the machine's clock was set since the last check. If so, it adds the step to the measured difference to the
// server's clock, and wakes the workers, whose timers were set by the old time. After a suspension, that difference is wrong until the next
// message of the server. The caller holds skewMu.
func (b *Bridge) applyClockStep() {
	by := b.steps.next(b.clock.Now(), time.Now())
	if by == 0 {
		return
	}
	b.log.Info("the machine's clock was set", "by", by)
	if last := b.clockSkew.Load(); last != nil {
		skew := *last + by
		b.clockSkew.Store(&skew)
		b.minSkew.Add(int64(by))
	}
	for _, w := range b.workers {
		driver.Signal(w.clock.moved)
	}
}
