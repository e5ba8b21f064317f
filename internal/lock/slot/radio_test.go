package slot

import "slices"

// radio is what becomes of operations in the air.
func (c *scenario) radio(w world, add adder) {
	b := w.peers[atLock]
	op := b.lock.Op
	if b.alive && op.Kind != "" && c.delayed {
		add(c.step(w, atLock, Event{Kind: Answered, Seq: 0, Result: OK}), "an earlier operation is answered", true)
	}
	if b.alive && op.Kind == OpRead {
		c.reading(w, op, add)
	}
	for k, f := range w.air {
		rest := w
		rest.air = slices.Delete(slices.Clone(w.air), k, k+1)
		awaited := b.alive && op.Kind != "" && op.Seq == f.op.Seq && !f.overtaken
		c.lands(w, rest, f, awaited, add)
		add(rest, "lost", true)
	}
	if b.alive && (op.Kind == OpSet || op.Kind == OpClear) && c.rules.enforces(opExpires) {
		add(c.step(w.orphan(), atLock, Event{Kind: Answered, Seq: op.Seq, Result: Timeout}), "driver gives up", true)
	}
}

func (c *scenario) reading(w world, op Op, add adder) {
	i := op.Slot - 1
	in := w.cell[i].pin
	ev := Event{Kind: Answered, Seq: op.Seq, Result: OK, Present: in != ""}
	if c.caps.Readable == ReadableClear {
		ev.PIN = in
	}
	t := w
	t.blind[i] = c.hidden(w, int(i))
	add(c.step(t, atLock, ev), "read answered", false)
	if c.lossy {
		add(c.step(w, atLock, Event{Kind: Answered, Seq: op.Seq, Result: Timeout}), "read timed out", true)
	}
}

// hidden says of a change by hand that reading the slot does not show it.
func (c *scenario) hidden(w world, i int) bool {
	return !c.caps.ReadBack && !w.news[i] || (c.caps.ReadBack && w.blind[i] && w.cell[i].pin == intruder && c.caps.Readable != ReadableClear)
}

func (c *scenario) lands(w, rest world, f flight, awaited bool, add adder) {
	i := int(f.op.Slot - 1)
	answer := func(t world, r Result, label string, fault bool) {
		if awaited {
			add(c.step(t, atLock, Event{Kind: Answered, Seq: 1, Result: r}), label, fault)
		}
	}
	if f.landed {
		answer(rest, OK, "the answer arrives", false)
		return
	}
	if f.op.Kind == OpSet && !f.op.Replace && w.cell[i].pin != "" && c.tells {
		answer(rest, Occupied, "refused: occupied", false)
		add(rest, "occupied, answer lost", true)
		return
	}
	done := c.land(rest, f)
	add(done, "lands, answer lost", true)
	if c.reports && awaited {
		t, later := done, f
		later.landed = true
		t.air = append(slices.Clip(t.air), later)
		t.blind[i] = false
		add(t, "lands, the answer is on its way", false)
	}
	seen := done
	seen.blind[i] = false
	answer(seen, OK, "lands "+string(f.op.Kind), false)
	if c.lossy {
		answer(rest, Busy, "refused: busy", true)
		no := rest
		no.refused[i] = f.op.Generation
		if f.op.Kind == OpSet {
			answer(no, Duplicate, "refused: duplicate", true)
		} else {
			answer(rest, Unsupported, "refused: unsupported", true)
		}
	}
	if w.left.lies > 0 && f.op.Kind == OpClear {
		t := rest
		t.left.lies--
		answer(t, OK, "the lock says cleared and is not", true)
	}
}

// orphan keeps flights in the air under a sequence that no operation has any more.
func (w world) orphan() world {
	w.air = slices.Clone(w.air)
	for i := range w.air {
		w.air[i].op.Seq = 0
	}
	return w
}

// land lets an operation take effect on the lock.
func (c *scenario) land(w world, f flight) world {
	i := f.op.Slot - 1
	if f.overtaken {
		w.fail(2, "an older operation took effect after a newer one")
	}
	if f.op.Generation < w.landed[i] {
		w.fail(2, "a superseded generation took effect")
	}
	if w.cell[i].pin == stranger && (c.caps.ReadBack || f.fresh) {
		w.fail(4, "a slot that is not ours was touched")
	}
	w.landed[i] = max(w.landed[i], f.op.Generation)
	w.cell[i] = cell{}
	if f.op.Kind == OpSet {
		w.cell[i] = cell{f.op.PIN, f.op.NotBefore, f.op.NotAfter, f.op.Generation, f.opens, f.ends}
	}
	w.air = slices.Clone(w.air)
	for k := range w.air {
		if w.air[k].op.Slot == f.op.Slot {
			w.air[k].overtaken = true
		}
	}
	return w
}
