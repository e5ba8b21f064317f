package slot

import (
	"slices"
	"time"
)

// floor is how far a window's end is remembered after it has passed.
func (c *scenario) floor() time.Time {
	return epoch0.Add(-2 * time.Duration(c.margin) * unit)
}

// ticks reports whether time makes a difference to anything.
func (c *scenario) ticks(w world) bool {
	if len(w.air) > 0 || !w.peers[atLock].wake.IsZero() || !w.peers[twin].wake.IsZero() {
		return true
	}
	for i := range c.slots {
		if w.window[i].NotBefore.After(epoch0) || w.window[i].NotAfter.After(c.floor()) {
			return true
		}
	}
	return false
}

// tick moves every stored time one unit nearer to now and wakes the bridges that asked for it.
//
//go:norace
func (c *scenario) tick(w world) world {
	floor := c.floor()
	near := func(t, least time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		if t = t.Add(-unit); t.Before(least) {
			return least
		}
		return t
	}
	window := func(ts ...*time.Time) {
		for _, t := range ts {
			*t = near(*t, floor)
		}
	}
	desired := func(d *Desired) {
		window(&d.NotBefore, &d.NotAfter)
		all := d.LaterWindows.All()
		for i := range all {
			window(&all[i].From, &all[i].To)
		}
		d.LaterWindows = PackWindows(all...)
	}
	for i := range c.slots {
		desired(&w.srv[i].Desired)
		window(&w.window[i].NotBefore, &w.window[i].NotAfter)
		window(&w.cell[i].from, &w.cell[i].to, &w.cell[i].opens, &w.cell[i].ends)
	}
	w.down, w.late = slices.Clone(w.down), slices.Clone(w.late)
	for _, q := range [][]downward{w.down, w.late} {
		for k := range q {
			desired(&q[k].d)
		}
	}
	now := w.now(atLock)
	air := w.air
	w.air = nil
	for _, f := range air {
		window(&f.op.NotBefore, &f.op.NotAfter, &f.opens, &f.ends)
		if f.op.ExpiresAt = near(f.op.ExpiresAt, now); f.op.ExpiresAt.After(now) {
			w.air = append(w.air, f)
		}
	}
	for p := range w.peers {
		l, now := &w.peers[p].lock, w.now(p)
		window(&l.Op.NotBefore, &l.Op.NotAfter)
		l.Fence, l.Op.ExpiresAt = near(l.Fence, now), near(l.Op.ExpiresAt, now)
		w.peers[p].wake = near(w.peers[p].wake, now)
		l.Slots = slices.Clone(l.Slots)
		for i := range l.Slots {
			s := &l.Slots[i]
			desired(&s.Desired)
			window(&s.Content.NotBefore, &s.Content.NotAfter)
			s.RetryAt, s.NextReadAt = near(s.RetryAt, now), near(s.NextReadAt, now)
		}
	}
	for p := range w.peers {
		if at := w.peers[p].wake; w.peers[p].alive && !at.IsZero() && !at.After(w.now(p)) {
			w = c.step(w, p, Event{Kind: TimePassed})
		}
	}
	return w
}
