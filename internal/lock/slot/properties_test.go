package slot

import "time"

// A property is one of those that the design says must hold. A world can break it by what it is
// (broken), or by how it came about: then the transition said so (world.fail).
type property struct {
	number int
	name   string
	broken func(c *scenario, w *world, i int) string // of slot i; "" is well
}

// properties 1 to 13. Number 10 is checked over all worlds at once (explore), number 11 has a world
// of its own (act_test.go), 2 and 5 to 9 are broken by transitions.
var properties = []property{
	{1, "no false convergence", falseConvergence},
	{2, "no resurrection", nil},
	{3, "never open outside the window", openOutside},
	{4, "a slot belongs to one grant, and what is not ours is not touched", otherOwner},
	{5, "one operation in flight per lock", nil},
	{6, "an old epoch has no effect", nil},
	{7, "after an outage at most one operation per changed slot", nil},
	{8, "removals first, no slot overtaken for ever", nil},
	{9, "a deleted slot keeps its generation", nil},
	{10, "it converges", nil},
	{11, "an act at most once and never late", nil},
	{12, "one audit entry per change", entries},
	{13, "a former code that may open is known", formerCode},
}

// wrong names the first property that a world breaks, or 0.
func (c *scenario) wrong(w *world) (int, string) {
	if w.broken != 0 && !c.ignores(w.broken) {
		return w.broken, w.how
	}
	for _, p := range properties {
		if p.broken == nil || c.ignores(p.number) {
			continue
		}
		for i := range c.slots {
			if how := p.broken(c, w, i); how != "" {
				return p.number, how
			}
		}
	}
	return 0, ""
}

func (c *scenario) ignores(property int) bool {
	for _, p := range c.ignore {
		if p == property {
			return true
		}
	}
	return false
}

// called is the word for a slot that the product gives to people.
func (c *scenario) called(s ServerSlot) Evidence {
	if s.Desired.Generation > 0 && s.Desired.Intent == Absent {
		if s.Grant == "" && !s.mayBeOnLock() {
			return Removed
		}
		return Removing
	}
	return evidenceAtWith(s, epoch0, c.rules)
}

// falseConvergence is property 1. A change by hand at the lock is an excuse until the bridge could read it.
func falseConvergence(c *scenario, w *world, i int) string {
	s, in := w.srv[i], w.cell[i]
	if w.touched[i] || w.unaware[i] {
		return ""
	}
	reported := w.used[i] == "" || s.Observed.Used // of the use of a code
	switch c.called(s) {
	case Accepted, Verified:
		n, window, _ := s.Desired.windowFrom(epoch0, 0)
		if n > 0 && epoch0.Before(window.From) && c.caps.Schedule != ScheduleWindow {
			return "called active between its windows"
		}
		if s.Observed.Window < n && in.pin == "" {
			return "called active in a window of which nothing is known"
		}
		if in.pin != s.Desired.PIN && !c.closing(s) && reported {
			return "called active and is not on the lock"
		}
		if end := s.Desired.Window(s.Desired.LaterWindows.Len()).To; !end.IsZero() && !epoch0.Before(end) {
			return "called active after its window"
		}
	case Removed:
		if in.ours() {
			return "called removed and is on the lock"
		}
	case Sent:
		if b, _ := w.peers[atLock].lock.Slot(uint32(i + 1)); c.direct && w.session == 1+atLock && in.ours() && b.Content.Kind == Own {
			if _, window, _ := s.Desired.windowFrom(epoch0, 0); epoch0.Before(window.From) && c.caps.Schedule != ScheduleWindow {
				return "called sent, and an older window's code is on the lock"
			}
		}
	case Failed:
		if s.Observed.Result != Occupied && w.refused[i] != s.Desired.Generation {
			return "called failed and was not refused"
		}
		if in.ours() && uint64(in.gen) == uint64(s.Desired.Generation) {
			return "called failed and is on the lock"
		}
	}
	if convergedWith(s, c.rules) && s.Desired.Intent == Present && in.pin != s.Desired.PIN && !c.closing(s) && reported {
		return "converged and is not so"
	}
	return ""
}

// closing reports whether the last reported window is so near its end that the bridge, whose clock may be wrong, may
// have closed it already.
func (c *scenario) closing(s ServerSlot) bool {
	if s.Observed.Generation != s.Desired.Generation {
		s.Observed.Window = 0
	}
	end := s.Desired.Window(s.Observed.Window).To
	return !end.IsZero() && !epoch0.Before(end.Add(-2*time.Duration(c.margin)*unit))
}

// openOutside is property 3.
func openOutside(c *scenario, w *world, i int) string {
	in := w.cell[i]
	if !in.ours() || in.opens.IsZero() && in.ends.IsZero() || !c.opens(in) {
		return ""
	}
	if epoch0.Before(in.opens) {
		return "opens before its window"
	}
	if in.ends.IsZero() || epoch0.Before(in.ends) {
		return ""
	}
	if keeps := c.caps.Schedule == ScheduleWindow; keeps && !epoch0.Before(in.ends.Truncate(max(c.caps.Granularity, unit)).Add(c.caps.Granularity)) {
		return "opens after its window on a lock that keeps windows"
	}
	b := w.peers[atLock]
	s, _ := b.lock.Slot(uint32(i + 1))
	if _, next, over := s.Desired.windowFrom(epoch0, 0); s.Desired.Generation == in.gen && !over && !epoch0.Before(next.From) {
		return "" // a later window of the same code
	}
	pending := b.lock.Op.Kind != "" || !b.lock.Fence.IsZero() || !s.RetryAt.IsZero()
	if b.alive && !pending && s.Content.Kind != Unknown && !w.blind[i] && !w.waking(atLock) {
		return "opens after its window and the bridge does nothing about it"
	}
	return ""
}

// waking reports whether a bridge is about to be woken.
func (w *world) waking(p int) bool {
	at := w.peers[p].wake
	return !at.IsZero() && !at.After(w.now(p))
}

// opens reports whether the lock opens to a code.
func (c *scenario) opens(in cell) bool {
	if c.caps.Schedule != ScheduleWindow {
		return true
	}
	return !epoch0.Before(in.from) && (in.to.IsZero() || epoch0.Before(in.to))
}

// otherOwner is property 4.
func otherOwner(_ *scenario, w *world, i int) string {
	in, s := w.cell[i], w.srv[i]
	forgotten := in.gen <= w.lost[i] && (w.unaware[i] || s.OlderMayRemain)
	if in.ours() && s.Grant != string(w.who[i][min(in.gen, 7)]) && !forgotten {
		return "a code is in a slot that is free or another's"
	}
	return ""
}

// formerCode is property 13. A code of an older generation that is on the lock opens it, whatever is desired by now.
func formerCode(_ *scenario, w *world, i int) string {
	in, s := w.cell[i], w.srv[i]
	if in.ours() && in.gen < s.Desired.Generation && in.pin != s.Desired.PIN && !s.OlderMayRemain && !w.touched[i] && !w.unaware[i] {
		return "a former code is on the lock and the server believes that it is not"
	}
	return ""
}

// entries is property 12.
func entries(_ *scenario, w *world, _ int) string {
	if w.written > w.drifts {
		return "a change by hand was entered twice"
	}
	return ""
}

// settled is where liveness leads: the server knows, truly, that all is as desired or refused.
func (c *scenario) settled(w *world) bool {
	if c.audit && (w.written != w.drifts || w.session != 1+atLock) {
		return false
	}
	for i := range c.slots {
		s, in := w.srv[i], w.cell[i]
		if s.Desired.Generation == 0 && !in.ours() || (w.touched[i] && c.hidden(*w, i)) {
			continue
		}
		if s.Desired.Intent == Absent && s.Grant == "" && !s.mayBeOnLock() && !in.ours() {
			continue
		}
		if s.Observed.Generation != s.Desired.Generation {
			return false
		}
		switch {
		case s.Observed.Evidence == Failed && !in.ours():
		case (c.windows > 0 || w.used[i] != "" && s.Observed.Used) && evidenceAtWith(s, epoch0, c.rules) == Removed && s.Desired.Intent == Present && !in.ours():
		case convergedWith(s, c.rules) && s.Desired.Intent == Present && in.pin == s.Desired.PIN:
		default:
			return false
		}
	}
	return true
}
