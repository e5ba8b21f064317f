package agent

import (
	"sync"
	"time"

	"latchkey.dev/internal/lock/slot"
)

// clockSlack is how far a lock's clock may be from where it was last seen before its windows are set
// anew, each at a price in battery. A lock whose clock is wrong gets its windows shorter by as much on
// both ends: what is not known of a clock counts against us.
const clockSlack = 5 * time.Second

// lockClock is what is known of the clock of a lock that keeps windows by itself. The rest of the
// bridge reckons in the bridge's time; only what is sent to the lock is in the lock's.
type lockClock struct {
	mu      sync.Mutex
	seen    time.Duration // the lock's clock minus ours, as last seen
	applied time.Duration // what its windows were set by
	moved   chan struct{} // holds one signal: seen is away from applied
}

// see notes where the lock's clock is.
func (c *lockClock) see(offset time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = offset
	if c.away() {
		signal(c.moved)
	}
}

func (c *lockClock) away() bool { return (c.seen - c.applied).Abs() > clockSlack }

// take moves the applied offset to the seen one and returns how far it went; mostly 0.
func (c *lockClock) take() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.away() {
		return 0
	}
	by := c.seen - c.applied
	c.applied = c.seen
	return by
}

func (c *lockClock) offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applied
}

// reclocked says in our time what a lock holds whose clock turned out to be further ahead by some
// amount: its windows come and go earlier than was thought.
func reclocked(l slot.Lock, by time.Duration) slot.Lock {
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

// lockWindow is a window in the time of a lock that is ahead by an offset, in the lock's steps:
// never a step too early or too late.
func lockWindow(from, to time.Time, offset, step time.Duration) (time.Time, time.Time) {
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
