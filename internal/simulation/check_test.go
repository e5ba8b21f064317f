package simulation

import (
	"time"

	"latchkey.dev/internal/lock/slot"
)

// check compares the evidence that the server has for a slot with its content (properties 1 and 4).
func (l *lock) check(i int) {
	p, w := l.slots[i], l.world
	s, in := p.server, p.cell
	if in.generation > 0 && s.Grant != p.grantOf[in.generation] {
		w.fail(l, "property 4: slot %d holds a code of %s and belongs to %q", i, p.grantOf[in.generation], s.Grant)
	}
	if p.reported < p.touches { // a change by hand that the server could not know yet
		return
	}
	switch word := publicEvidence(s, w.now); word {
	case slot.Accepted, slot.Verified:
		closing := !s.Desired.NotAfter.IsZero() && !w.now.Before(s.Desired.NotAfter.Add(-2*l.bridge.clockError()-l.caps.Lifetime()))
		if in.pin != s.Desired.PIN && !closing {
			w.fail(l, "property 1: slot %d is called %s and its code is not on the lock", i, word)
		}
	case slot.Removed:
		if in.generation > 0 {
			w.fail(l, "property 1: slot %d is called removed and holds the code of generation %d", i, in.generation)
		}
	case slot.Failed:
		if s.Observed.Result != slot.Occupied && p.refused != s.Desired.Generation {
			w.fail(l, "property 1: slot %d is called failed and was not refused", i)
		}
	}
}

// watch checks the window of a code that has just landed (property 3).
func (l *lock) watch(c cell) {
	w := l.world
	opens := w.now
	if l.caps.Schedule == slot.ScheduleWindow && c.from.After(opens) {
		opens = c.from
	}
	if opens.Before(c.opens) {
		w.fail(l, "property 3: a code opens %v before its window", c.opens.Sub(opens))
	}
	if step := max(l.caps.Granularity, 1); l.caps.Schedule == slot.ScheduleWindow && !c.ends.IsZero() && c.to.After(c.ends.Add(step)) {
		w.fail(l, "property 3: the lock was commanded to keep a code open %v after its window", c.to.Sub(c.ends))
	}
}

// closed checks a code after the end of its window, as far as the bridge received it: it no longer
// opens, or the bridge is about to take it off, or it was killed.
func (l *lock) closed(i int, generation uint64) {
	w, p := l.world, l.slots[i]
	s, _ := l.state.Slot(uint32(i))
	if s.Desired.Generation != generation || p.cell.generation == 0 || !l.bridge.alive || p.noticed < p.touches {
		return
	}
	if l.caps.Schedule == slot.ScheduleWindow && !w.now.Before(p.cell.to) {
		return
	}
	if s.Content.Kind == slot.Empty || s.Content.Kind == slot.Foreign {
		w.fail(l, "property 3: slot %d opens after its window and the bridge does not know", i)
	}
	if l.state.Op.Kind == "" && l.state.Fence.IsZero() && (s.RetryOf != slot.OpClear || !s.RetryAt.After(l.bridge.clock())) {
		w.fail(l, "property 3: slot %d opens after its window and the bridge does nothing about it", i)
	}
}

// near reports whether a window begins or ends about now, by a clock that may be wrong.
func near(now, edge time.Time) bool { return now.Sub(edge).Abs() < 3*time.Minute }

// settled reports whether a slot holds what is desired, and the server knows it.
func (l *lock) settled(i int) bool {
	p := l.slots[i]
	s, in := p.server, p.cell
	if s.Desired.Generation == 0 || (p.reported < p.touches && (!l.caps.ReadBack || l.hidden(p))) {
		return true
	}
	if s.Desired.Intent == slot.Absent {
		return s.Grant == "" && in.generation == 0
	}
	if near(l.world.now, s.Desired.NotBefore) || near(l.world.now, s.Desired.NotAfter) {
		return true
	}
	if s.Observed.Generation != s.Desired.Generation {
		return false
	}
	switch {
	case s.Observed.Evidence == slot.Failed:
		return in.generation == 0
	case l.world.now.Before(s.Desired.NotBefore):
		return s.Converged() || s.Observed.Evidence == slot.Sent
	case !s.Desired.NotAfter.IsZero() && !l.world.now.Before(s.Desired.NotAfter):
		return publicEvidence(s, l.world.now) == slot.Removed && in.generation == 0
	}
	return s.Converged() && in.pin == s.Desired.PIN
}
