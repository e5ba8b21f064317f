package agent

import (
	"sync"
	"time"

	"latchkey.dev/internal/lock/slot"
)

// clockSlack is how far a lock's clock may drift before its codes are set again with corrected windows, which costs battery. Such a lock
// gets windows that are shorter by this much at both ends.
const clockSlack = 5 * time.Second

// lockClock is the measured clock of a lock that enforces windows by itself. Everything else uses the bridge's time; only what is sent
// to the lock is in the lock's time.
type lockClock struct {
	mu      sync.Mutex
	seen    time.Duration // the lock's clock minus the bridge's, as last measured
	applied time.Duration // the offset that the lock's windows were set with
	moved   chan struct{} // holds one signal: seen differs from applied
}

// observe records the measured offset.
func (c *lockClock) observe(offset time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = offset
	if c.hasDrifted() {
		signal(c.moved)
	}
}

func (c *lockClock) hasDrifted() bool { return (c.seen - c.applied).Abs() > clockSlack }

// adoptMeasuredOffset sets the applied offset to the measured one if they differ by more than clockSlack. It returns the difference, or 0.
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

func (c *lockClock) appliedOffset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applied
}

// shiftWindows returns the state of a lock whose clock is ahead by more than assumed, in the bridge's time: its windows start and end
// earlier.
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

// windowInLockTime converts a window to the time of a lock whose clock is ahead by offset, rounded inwards to the steps in which the lock
// stores times.
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
