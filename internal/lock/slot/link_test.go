package slot

import "slices"

// link is the control stream: desired states go down, observations come up, sessions come and go.
func (c *scenario) link(w world, add adder) {
	if w.session != 0 && w.left.cuts > 0 {
		t := w
		t.left.cuts--
		t.cut(c)
		add(t, "link cut or server killed", true)
	}
	if w.session != 0 && c.sweep && len(w.down) == 0 && len(w.reports) == 0 {
		for i := range c.slots {
			if s := w.srv[i]; s.Desired.Generation > 0 && s.Observed.Generation != s.Desired.Generation {
				t := w
				c.push(&t, i)
				add(t, "sweep", false)
			}
		}
	}
	if w.peers[atLock].alive && w.session != 1+atLock {
		add(c.connect(w, atLock), "connect", false)
	}
	if w.left.twins > 0 && w.session != 1+twin && c.reportedAll(w) {
		t := w
		t.left.twins--
		if !t.peers[twin].alive {
			t.peers[twin] = peer{alive: true, lock: Lock{Caps: c.caps}}
			t = c.step(t, twin, Event{Kind: Restarted})
		}
		add(c.connect(t, twin), "twin connects", true)
	}
	c.arrivals(w, add)
	if c.audit {
		c.journal(w, add)
	}
}

func (c *scenario) arrivals(w world, add adder) {
	if len(w.down) > 0 {
		t, m := w, w.down[0]
		t.down = w.down[1:]
		add(c.deliverDesired(t, int(w.session-1), m), "desired arrives", false)
	}
	if len(w.late) > 0 && w.peers[atLock].alive {
		t, m := w, w.late[0]
		t.late = nil
		add(c.deliverDesired(t, atLock, m), "old session's desired arrives", true)
	}
	if len(w.reports) > 0 {
		t := w
		t.reports = w.reports[1:]
		t.receiveReport(c, w.reports[0], 1)
		add(t, "report arrives", false)
	}
	for k := range w.old {
		t := w
		t.old = slices.Delete(slices.Clone(w.old), k, k+1)
		add(t, "old session's report lost", false)
		t.receiveReport(c, w.old[k], 0)
		add(t, "old session's report arrives", true)
	}
}

// deliverDesired delivers a desired state to a bridge, and that its code was used, if it was.
func (c *scenario) deliverDesired(w world, p int, m downward) world {
	ev := Event{Kind: DesiredChanged, Slot: uint32(m.slot + 1), Desired: m.d}
	if m.d.OneTimeID == "" || m.d.OneTimeID != w.used[m.slot] {
		return c.step(w, p, ev)
	}
	if c.off&usedWithDesired == 0 {
		ev.OneTimeID = m.d.OneTimeID
		return c.step(w, p, ev)
	}
	return c.step(c.step(w, p, ev), p, Event{Kind: CodeUsedElsewhere, OneTimeID: m.d.OneTimeID})
}

// connect opens a session with its snapshot, as the bridge and the server do. It supersedes an older session of the identity.
func (c *scenario) connect(w world, p int) world {
	away := w.session == 0
	w.zombie = p != atLock && (w.zombie || w.session == 1+atLock)
	w.cut(c)
	w.session = 1 + uint8(p)
	w.calm = away && p == atLock && c.outage && c.settledAt(w)
	w.writes = [2]uint8{}
	var mine []DigestRow
	for i := range c.slots {
		s := w.srv[i]
		concernsBridge := s.Desired.Intent == Present || s.Observed.Generation > 0 || s.SentTo != "" || s.SentToOther
		if s.Desired.Generation > 0 && concernsBridge {
			mine = append(mine, s.DigestRow(uint32(i+1)))
		}
		b, _ := w.peers[p].lock.Slot(uint32(i + 1))
		w.changed[i] = b.Desired.Generation != s.Desired.Generation
	}
	if LockDigest(mine) != LockDigest(w.peers[p].lock.DigestRows()) {
		for _, row := range mine {
			c.push(&w, int(row.Slot-1))
		}
		w.reportUnnamed(c, p, mine)
	}
	return w
}

// reportedAll reports whether the server received a report about every code that it sent. A copy of a bridge does not know what the
// original did and did not report.
func (c *scenario) reportedAll(w world) bool {
	for i := range c.slots {
		if s := w.srv[i]; s.SentTo != "" && (s.Observed.Generation == 0 || s.Observed.isGone()) {
			return false
		}
	}
	return true
}

// settledAt reports whether the bridge at the lock has no operation in flight and no uncertain slot.
func (c *scenario) settledAt(w world) bool {
	l := w.peers[atLock].lock
	if l.Op.Kind != "" || !l.Fence.IsZero() || len(w.air) > 0 {
		return false
	}
	for _, s := range l.Slots {
		if s.Content.Kind == Uncertain || s.Refusal != "" || w.blind[s.Number-1] || s.Observed.Generation != s.Desired.Generation || !s.Observed.Evidence.ConfirmedByLock() {
			return false
		}
	}
	return true
}

// push hands a slot's desired state to the session's bridge: the claim is stored before.
func (c *scenario) push(w *world, i int) {
	claimed, d := markSentWith(w.srv[i], "c", c.rules)
	if c.off&markFirst == 0 {
		w.srv[i] = claimed
	}
	if c.direct {
		*w = c.deliverDesired(*w, int(w.session-1), downward{i, d})
		return
	}
	w.down = append(slices.Clip(w.down), downward{i, d})
	if len(w.down) > 3 { // queue full: the session is dropped
		w.cut(c)
	}
}

func (w *world) cut(c *scenario) {
	if len(w.reports) > 0 { // the server may still have the last of them in a buffer
		w.old = w.reports[:1]
	}
	if len(w.down) > 0 && c.delayed {
		w.late = w.down[:1]
	}
	w.session, w.down, w.reports, w.batch = 0, nil, nil, 0
}

func (w *world) receiveReport(c *scenario, m upward, epoch uint64) {
	before := w.srv[m.slot]
	if epoch == 1 && before.isBehindWith(m.o, c.rules) {
		w.reissue(c, m.slot, m.o.Generation)
		return
	}
	if epoch == 1 && m.o.Generation == before.Desired.Generation && (m.o.Evidence.ConfirmedByLock() || m.o.Cleared) {
		w.unaware[m.slot] = false
	}
	s, changed := applyReportWith(before, 1, Report{Epoch: epoch, Observed: m.o}, c.rules)
	w.srv[m.slot] = s
	if epoch == 1 && m.o.Generation == before.Desired.Generation && !m.stale {
		w.touched[m.slot] = false
	}
	if !changed {
		return
	}
	if epoch != 1 && c.rules.enforces(epochCheck) {
		w.fail(6, "an old epoch had an effect")
	}
	if before.Observed.sameObservation(s.Observed) {
		w.fail(12, "the same change was entered twice")
	}
}

// sendReport queues a report as the link does: two may be on their way, a newer one for the same slot
// replaces one that has not left yet, and a full queue drops the session.
func (w *world) sendReport(c *scenario, p int, o Observed, i int) {
	o.At = unset
	m := upward{i, o, p == atLock && w.blind[i]}
	if w.session != 1+uint8(p) {
		if p == atLock && w.zombie { // its stream is closed on the other side
			w.old = []upward{m}
		}
		return
	}
	if c.direct {
		w.receiveReport(c, m, 1)
		return
	}
	if n := len(w.reports); n > 1 && w.reports[n-1].slot == i {
		w.reports = append(slices.Clone(w.reports[:n-1]), m)
		return
	}
	if w.reports = append(slices.Clip(w.reports), m); len(w.reports) > 3 {
		w.cut(c)
	}
}

// journal carries what the bridge wrote down about changes by hand.
func (c *scenario) journal(w world, add adder) {
	if w.stored > 0 && w.peers[atLock].alive {
		t := w
		t.noted, t.stored = w.noted+w.stored, 0
		add(t, "journaled", false)
	}
	if w.session != 1+atLock {
		return
	}
	if w.noted > w.acked && w.batch == 0 {
		t := w
		t.batch, t.batchOf = w.noted, w.acked
		add(t, "journal sent", false)
	}
	if w.batch > 0 {
		t := w
		t.enter(c)
		t.acked, t.batch = w.batch, 0
		add(t, "journal stored and acknowledged", false)
		if w.left.cuts > 0 {
			t = w
			t.left.cuts--
			t.enter(c)
			t.cut(c)
			add(t, "journal stored, link cut", true)
		}
	}
}

func (w *world) enter(c *scenario) {
	from := w.sequence
	if c.off&sequenceOnce != 0 {
		from = w.batchOf
	}
	if w.batch > from {
		w.written += w.batch - from
	}
	w.sequence = max(w.sequence, w.batch)
}
