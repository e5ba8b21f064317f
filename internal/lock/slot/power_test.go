package slot

import "time"

var unset time.Time

// power is what happens to bridges: killed, restarted, replaced, restored.
func (c *scenario) power(w world, add adder) {
	p := w.peers[atLock]
	c.images(w, add)
	if p.alive && w.left.kills > 0 {
		add(c.killed(w), "bridge killed", true)
	}
	if p.alive {
		return
	}
	add(c.restarted(w), "bridge restarted", false)
	if w.left.swaps > 0 {
		t := w
		t.left.swaps--
		for i := range t.srv { // enrolled again: the codes were sent to another bridge
			if t.srv[i].SentTo != "" {
				t.srv[i].SentTo = "o"
			}
		}
		t.peers[atLock] = peer{alive: true, lock: newLockWith(c.caps, w.now(atLock), c.rules)}
		t.stored, t.noted, t.acked = 0, 0, 0
		t.drifts, t.sequence, t.written = 0, 0, 0
		add(c.step(t, atLock, Event{Kind: Restarted}), "bridge replaced", true)
	}
	if w.left.restores > 0 && c.reportedAll(w) {
		t := w
		t.left.restores--
		t.air = nil // it takes longer than any operation
		t.peers[atLock] = peer{alive: true, lock: Lock{Caps: c.caps}}
		add(c.step(t, atLock, Event{Kind: Restarted}), "bridge restored from its first image", true)
	}
}

func (c *scenario) killed(w world) world {
	w.left.kills--
	if w.session == 1+atLock {
		w.cut(c)
	}
	w.zombie = false
	w.peers[atLock].alive, w.peers[atLock].wake = false, unset
	w.news = [2]bool{} // no bridge receives it
	if c.off&storeFirst != 0 {
		w.peers[atLock].lock.Op = Op{}
	}
	if c.off&journalFirst != 0 {
		w.stored = 0
	}
	return w
}

// restarted lets the bridge at the lock find what the run before stored, also about the other lock.
func (c *scenario) restarted(w world) world {
	w.peers[atLock].alive = true
	if c.off&usedLoaded == 0 {
		w.peers[atLock].lock = EndUsedCodes(w.peers[atLock].lock, w.used[:])
		return c.step(w, atLock, Event{Kind: Restarted})
	}
	w = c.step(w, atLock, Event{Kind: Restarted})
	for _, code := range w.used {
		w = c.step(w, atLock, Event{Kind: CodeUsedElsewhere, OneTimeID: code})
	}
	return w
}

// step runs the real step function, stores its result at once, and starts what it asks for.
func (c *scenario) step(w world, p int, ev Event) world {
	ev.At, ev.ClockError = w.now(p), time.Duration(c.margin)*unit
	if ev.Kind == Restarted && p == atLock {
		w = w.orphan()
	}
	before := w.peers[p].lock
	if (ev.Kind == Answered && ev.Result != OK) || ev.Kind == ReadRequested || ev.Kind == ChangedAtLock || before.Op.Kind != "" && !before.Op.ExpiresAt.After(ev.At) {
		w.calm = false
	}
	var actions []Action
	w.peers[p].lock, actions = stepWith(before, ev, c.rules)
	w.peers[p].wake = unset
	c.grows(&w, before, p)
	starts := 0
	for _, a := range actions {
		switch a.Kind {
		case ReportObserved:
			w.sendReport(c, p, a.Observed, int(a.Slot-1))
		case ReportDrift:
			w.drifts++
			w.stored++
		case WakeAt:
			w.peers[p].wake = a.At
		case StartOp:
			if starts++; starts > 1 || (before.Op.Kind != "" && ev.Kind != Answered && ev.Kind != Restarted && before.Op.ExpiresAt.After(ev.At)) {
				w.fail(5, "two operations at once")
			}
			if p == atLock {
				w = c.started(w, a.Op)
			}
		}
	}
	w.normalize(p)
	return w
}

func (c *scenario) grows(w *world, before Lock, p int) {
	for _, s := range before.Slots {
		if now, _ := w.peers[p].lock.Slot(s.Number); now.Desired.Generation < s.Desired.Generation {
			w.fail(9, "a generation went back on the bridge")
		} else if p == atLock && now.Desired.Generation > s.Desired.Generation {
			w.passed[s.Number-1] = 0
		}
	}
}

// started is what the radio and the properties make of an operation that starts.
func (c *scenario) started(w world, op Op) world {
	if len(w.air) > 0 {
		w.fail(5, "an operation started while an earlier one could still land")
	}
	c.turns(&w, op)
	if op.Kind == OpRead {
		return w
	}
	i := op.Slot - 1
	w.writes[i]++
	if w.calm && (w.writes[i] > 1 || !w.changed[i]) {
		w.fail(7, "more than one operation for a slot after an outage")
	}
	s, _ := w.peers[atLock].lock.Slot(op.Slot)
	op.Seq = 1
	if op.Kind == OpSet && w.used[i] != "" && w.used[i] == s.Desired.OneTimeID {
		w.fail(3, "a code for one use is set again after its use")
	}
	_, window, _ := s.Desired.windowFrom(w.now(atLock), time.Duration(c.margin)*unit)
	fresh := c.tells && (s.Content.Kind == Empty || s.Content.Kind == Unknown && !s.Desired.MayHoldOwn)
	w.air = append(w.orphan().air, flight{op: op, fresh: fresh, opens: window.From, ends: window.To})
	return w
}

// turns counts who had to wait for op.
func (c *scenario) turns(w *world, op Op) {
	if c.slots == 1 {
		w.passed[op.Slot-1] = 0
		return
	}
	m := machine{lock: w.peers[atLock].lock, ev: Event{At: w.now(atLock), ClockError: time.Duration(c.margin) * unit}, rules: c.rules}
	m.rules.off = 0
	for i := range c.slots {
		s, ok := m.lock.Slot(uint32(i + 1))
		if !ok || s.Number == op.Slot {
			continue
		}
		next, _, ready := m.nextOp(&s)
		if !ready {
			continue
		}
		if w.passed[i]++; w.passed[i] > c.rules.maxOvertaken {
			w.fail(8, "an operation was overtaken too often")
		}
		if next.Kind == OpClear && op.Kind != OpClear && w.passed[op.Slot-1] < c.rules.maxOvertaken {
			w.fail(8, "a removal had to wait for something else")
		}
	}
	w.passed[op.Slot-1] = 0
}

// normalize takes out of a bridge's record what no behaviour depends on.
func (w *world) normalize(p int) {
	l := &w.peers[p].lock
	l.Seq = 1
	l.Op.Seq = 1
	if l.Op.Kind == "" {
		l.Op = Op{}
	}
	for i := range l.Slots {
		s := &l.Slots[i]
		s.Observed.At = unset
		if !s.RetryAt.After(w.now(p)) {
			s.RetryAt, s.RetryOf = unset, ""
		}
	}
}
