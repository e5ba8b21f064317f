package agent

import (
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// clockSlack is how far a lock's clock may drift before the bridge sets its codes again with corrected windows, which uses battery.
// Corrected windows are shortened by clockSlack at both ends.
const clockSlack = 5 * time.Second

// lockClock tracks the clock of a lock that enforces validity windows by itself. Only times that are sent to the lock are in the lock's
// time; all others are in the bridge's time.
type lockClock struct {
	mu      sync.Mutex
	seen    time.Duration // measured offset: the lock's clock minus the bridge's clock
	applied time.Duration // the value of seen with which the lock's windows were set; see hasDrifted
	moved   chan struct{} // signal to check the windows: the measured offset is too far from the applied one (see hasDrifted), or the machine's clock was set
}

// observe records the measured offset of the lock's clock, the lock's time minus the bridge's. It signals the worker if the lock's windows
// must be corrected.
func (c *lockClock) observe(offset time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = offset
	if c.hasDrifted() {
		driver.Signal(c.moved)
	}
}

// hasDrifted reports whether the lock's windows were set with an offset that is too far from the measured one. The caller holds c.mu.
func (c *lockClock) hasDrifted() bool { return (c.seen - c.applied).Abs() > clockSlack }

// adoptMeasuredOffset makes the measured offset the applied one, if the lock's clock has drifted, and returns by how much the offset has
// grown. Otherwise it returns 0. The caller then corrects the lock's windows with shiftWindows.
func (c *lockClock) adoptMeasuredOffset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hasDrifted() {
		return 0
	}
	by := c.seen - c.applied
	c.applied = c.seen
	return by
}

// appliedOffset returns the offset with which the lock's windows are set.
func (c *lockClock) appliedOffset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applied
}

// shiftWindows returns the state l with the validity windows on the lock moved earlier by the time by. A lock whose clock is ahead by that
// time more than assumed starts and ends its windows earlier.
func shiftWindows(l slot.Lock, by time.Duration) slot.Lock {
	shift := func(ts ...*time.Time) {
		for _, t := range ts {
			if !t.IsZero() {
				*t = t.Add(-by)
			}
		}
	}
	slots := make([]slot.Slot, len(l.Slots))
	for i, s := range l.Slots {
		shift(&s.Content.NotBefore, &s.Content.NotAfter)
		slots[i] = s
	}
	l.Slots = slots
	shift(&l.Op.NotBefore, &l.Op.NotAfter)
	return l
}

// windowInLockTime converts a validity window to the time of a lock whose clock is ahead by offset. It shortens the window by clockSlack at
// both ends and rounds inwards to multiples of step, in which the lock stores times. It neither changes nor rounds a window if offset is at
// most clockSlack in either direction. A zero time means no limit and stays zero. Of a window that is too short for this nothing remains:
// its end is not after its start.
func windowInLockTime(from, to time.Time, offset, step time.Duration) (time.Time, time.Time) {
	if offset.Abs() <= clockSlack {
		return from, to
	}
	if !from.IsZero() {
		from = from.Add(offset + clockSlack)
		if down := from.Truncate(step); !down.Equal(from) {
			from = down.Add(step)
		}
	}
	if !to.IsZero() {
		to = to.Add(offset - clockSlack).Truncate(step)
	}
	return from, to
}
