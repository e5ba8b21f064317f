package slot

import (
	"slices"
	"time"
)

// people are guests and staff who change their mind, and hands at the lock.
func (c *scenario) people(w world, add adder) {
	for i := range c.slots {
		if w.left.edits > 0 && !(c.outage && w.session != 0) {
			c.changeDesired(w, i, add)
		}
		if w.left.touches > 0 {
			c.changeByHand(w, i, add)
		}
		if in := w.cell[i]; c.once && in.ours() && w.used[i] == "" && w.peers[atLock].alive {
			t := w
			t.used[i] = string(w.who[i][min(in.gen, 7)])
			add(c.step(t, atLock, Event{Kind: CodeUsed, Slot: uint32(i + 1)}), "the code is used", true)
		}
		if c.beside && w.used[i] == "" && w.peers[atLock].alive {
			t := w
			t.used[i] = "a"
			add(c.step(t, atLock, Event{Kind: CodeUsedElsewhere, OneTimeID: "a"}), "the code is used at another lock", true)
			if t.left.kills > 0 {
				add(c.killed(t), "the code is used at another lock, bridge killed before this lock is notified", true)
			}
		}
		if s, ok := w.peers[atLock].lock.Slot(uint32(i + 1)); ok && c.caps.ReadBack && w.blind[i] && s.NextReadAt.IsZero() && c.idle(w) {
			add(c.step(w, atLock, Event{Kind: ReadRequested, Slot: uint32(i + 1)}), "read-back due", false)
		}
		if w.news[i] && w.peers[atLock].alive {
			t := w
			t.news[i], t.blind[i] = false, false
			add(c.step(t, atLock, Event{Kind: ChangedAtLock, Slot: uint32(i + 1)}), "the lock's report of the change arrives", false)
		}
	}
	if w.left.touches > 0 && has(c.hands, 'r') {
		t := w
		t.left.touches--
		for i := range c.slots {
			t.empties(c, i)
		}
		add(t, "the lock is reset by hand", true)
	}
}

func has(s string, b byte) bool { return slices.Contains([]byte(s), b) }

func (c *scenario) idle(w world) bool {
	return w.peers[atLock].alive && w.peers[atLock].lock.Op.Kind == "" && len(w.air) == 0
}

func (c *scenario) changeDesired(w world, i int, add adder) {
	grants := c.grants
	if grants == "" {
		grants = "a"
	}
	for _, g := range []byte(grants) {
		for _, d := range c.choices(g) {
			t, before := w, w.srv[i]
			var ok bool
			if t.srv[i], ok = assignWith(before, string(g), d, c.rules); !ok {
				continue
			}
			t.left.edits--
			c.assigned(&t, i, g, before)
			d = t.srv[i].Desired
			label := string(g) + " wants slot " + string('1'+rune(i)) + " " + d.String()
			if d.Intent == Absent && before.SentTo == "" && !before.SentToOther { // it was sent to no bridge
				t.srv[i].Grant = ""
			}
			if t.session == 0 || c.sweep {
				add(t, label+", not reported yet", true)
			}
			if t.session != 0 {
				c.push(&t, i)
				add(t, label, true)
			}
		}
	}
}

func (c *scenario) assigned(w *world, i int, grant byte, before ServerSlot) {
	if c.most.rollbacks > 0 && c.off&drawnByTime == 0 {
		w.srv[i].Desired.Generation = max(w.srv[i].Desired.Generation, w.drawn[i]+1)
	}
	d := w.srv[i].Desired
	w.drawn[i] = max(w.drawn[i], d.Generation)
	if d.Generation <= before.Desired.Generation {
		w.fail(9, "a generation was used twice")
	}
	if before.Foreign && before.Grant == "" {
		w.fail(4, "a slot that holds a stranger's code was given away")
	}
	w.who[i][min(d.Generation, 7)] = grant
	w.window[i] = Desired{Generation: d.Generation, NotBefore: d.NotBefore, NotAfter: d.Window(d.LaterWindows.Len()).To}
}

func (c *scenario) choices(grant byte) []Desired {
	pin := PIN("1")
	if grant == 'b' {
		pin = "2"
	}
	once := ""
	if c.once {
		once = string(grant)
	}
	if c.windows > 0 {
		at := func(n int) time.Time { return epoch0.Add(time.Duration(n) * unit) }
		later := func(from int) Windows {
			var all []Window
			for range c.weekly {
				from += c.windows + 1
				all = append(all, Window{at(from), at(from + c.windows)})
			}
			return PackWindows(all...)
		}
		return []Desired{
			{Intent: Present, PIN: pin, NotBefore: at(1), NotAfter: at(1 + c.windows), LaterWindows: later(1), OneTimeID: once},
			{Intent: Present, PIN: pin, NotBefore: at(0), NotAfter: at(c.windows), LaterWindows: later(0), OneTimeID: once},
			{Intent: Absent},
		}
	}
	out := []Desired{{Intent: Present, PIN: pin, OneTimeID: once}, {Intent: Absent}}
	if c.pins {
		out = append(out, Desired{Intent: Present, PIN: pin + pin, OneTimeID: once})
	}
	return out
}

func (c *scenario) changeByHand(w world, i int, add adder) {
	if has(c.hands, 'e') && w.cell[i].pin != "" {
		t := w
		t.left.touches--
		t.empties(c, i)
		add(t, "slot "+string('1'+rune(i))+" is emptied by hand", true)
	}
	// Between the bridge's read of a slot and its write, nothing protects a foreign code, unless the
	// lock itself refuses.
	if has(c.hands, 'p') && w.cell[i].pin != stranger && (c.tells || c.idle(w)) {
		t := w
		t.left.touches--
		if w.srv[i].Grant == "" {
			t.changedByHand(c, i, cell{pin: stranger})
		} else {
			t.changedByHand(c, i, cell{pin: intruder})
		}
		add(t, "slot "+string('1'+rune(i))+" is programmed by hand", true)
	}
}

func (w *world) empties(c *scenario, i int) { w.changedByHand(c, i, cell{}) }

func (w *world) changedByHand(c *scenario, i int, to cell) {
	if w.cell[i] == to {
		return
	}
	w.cell[i] = to
	w.touched[i], w.blind[i], w.news[i] = true, true, c.reports && w.peers[atLock].alive
	w.reports = slices.Clone(w.reports)
	for k := range w.reports {
		w.reports[k].stale = w.reports[k].stale || w.reports[k].slot == i
	}
}
