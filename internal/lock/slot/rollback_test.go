package slot

// images is what happens to the store of the bridge at the lock: it is copied while the lock is at rest, and later restored from the copy.
func (c *scenario) images(w world, add adder) {
	p := w.peers[atLock]
	if w.left.images == 0 {
		return
	}
	if !w.imaged && p.alive && len(p.lock.Slots) > 0 && c.settledAt(w) {
		t := w
		t.image, t.imaged = p.lock, true
		add(t, "image made", true)
	}
	if w.imaged && !p.alive && c.imageMayReturn(w) {
		t := w
		t.left.images--
		t.air = nil // it takes longer than any operation
		t.peers[atLock] = peer{alive: true, lock: w.image}
		t.image, t.imaged = Lock{}, false
		add(c.step(t, atLock, Event{Kind: Restarted}), "bridge restored from the image", true)
	}
}

// imageMayReturn reports whether the server has a report about each generation that the bridge got after its image was made. What happened
// to the generation of the image itself, or without a report, no one can know.
func (c *scenario) imageMayReturn(w world) bool {
	for _, s := range w.peers[atLock].lock.Slots {
		was, _ := w.image.Slot(s.Number)
		if s.Desired.Generation > w.srv[s.Number-1].Observed.Generation || was.Desired.Generation == s.Desired.Generation && was.Content != s.Content {
			return false
		}
	}
	return true
}

// rollback is what happens to the server's database: it is copied, and later restored from the copy.
func (c *scenario) rollback(w world, add adder) {
	if w.left.rollbacks == 0 {
		return
	}
	if !w.backed {
		t := w
		t.backup, t.backed = w.srv, true
		add(t, "backup made", true)
		return
	}
	t := w
	t.left.rollbacks--
	t.cut(c)
	t.srv, t.backup, t.backed = w.backup, [2]ServerSlot{}, false
	for i := range c.slots {
		if w.srv[i] != w.backup[i] {
			t.lost[i], t.unaware[i] = w.drawn[i], true
		}
	}
	add(t, "server restored from the backup", true)
}

// reissue issues a slot again after a report that shows that the server has forgotten something, as package lock does.
func (w *world) reissue(c *scenario, i int, reported uint64) {
	generation := max(w.srv[i].Desired.Generation, reported) + 1
	if c.off&drawnByTime == 0 {
		generation = max(generation, w.drawn[i]+1)
	}
	w.srv[i] = Reissue(w.srv[i], "c", generation)
	w.drawn[i], w.unaware[i] = max(w.drawn[i], generation), false
	if grant := w.srv[i].Grant; grant != "" {
		w.who[i][min(generation, 7)] = grant[0]
	}
	w.window[i].Generation = generation
	c.push(w, i)
}

// reportUnnamed reports the slots that the snapshot of a session does not name although the bridge may have set a code there.
func (w *world) reportUnnamed(c *scenario, p int, named []DigestRow) {
	for _, row := range w.peers[p].lock.DigestRows() {
		there := row.Observed.Generation != row.Generation || !row.Observed.isGone()
		for _, n := range named {
			there = there && n.Slot != row.Slot
		}
		if there && c.off&unnamedReported == 0 {
			w.sendReport(c, p, row.Observed, int(row.Slot-1))
		}
	}
}
