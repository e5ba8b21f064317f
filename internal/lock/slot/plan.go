package slot

import "time"

// target is what a slot should hold at one instant.
type target struct {
	present   bool
	waiting   bool // waiting means that the slot should be empty only because its window is too far ahead
	window    int  // window is the index of the window, 0 for the first
	pin       PIN
	notBefore time.Time // notBefore is zero unless the lock itself enforces the window
	notAfter  time.Time
	due       time.Time // due is the time from which the slot should hold the target
	changesAt time.Time // changesAt is when the target changes; zero means never
}

// targetOf returns what the slot should hold at the time of the event that the machine handles: nothing outside of the windows, or if the
// desired code was refused or used up. The bridge opens and closes every window on its own schedule. A lock that enforces windows gets the
// credential ahead of time, unless its granularity would open the window early, and ends the window itself if the bridge is offline.
func (m *machine) targetOf(s *Slot) target {
	d, now := s.Desired, m.ev.At
	if d.Intent != Present {
		return target{}
	}
	if s.Refusal != "" && m.rules.enforces(refusalRemovesOlder) {
		return target{} // the lock refused the desired credential: the slot should be empty, so that an older one is removed
	}
	if s.isUsedUp(m.rules) {
		return target{}
	}
	margin := m.ev.ClockError
	if !m.rules.enforces(clockMargin) {
		margin = 0
	}
	n, w, over := d.windowFrom(now, margin)
	if over {
		return target{window: n, due: w.To.Add(-margin)}
	}
	opens := w.From.Add(margin)
	t := target{present: true, window: n, pin: d.PIN, due: w.From}
	if !w.To.IsZero() {
		t.changesAt = w.To.Add(-margin)
	}
	from := opens
	if m.lock.Caps.Schedule == ScheduleWindow {
		if m.setNativeWindow(&t, w); t.notBefore.Equal(w.From) || !m.rules.enforces(noEarlyStep) {
			from = opens.Add(-m.rules.preload)
		}
	}
	if !w.From.IsZero() && now.Before(from) {
		return target{waiting: true, window: n, changesAt: from}
	}
	return t
}

// setNativeWindow sets in t the window that the lock itself enforces for w, in steps of the lock's granularity. Both ends are rounded down.
// An early start does no harm, because the bridge then sets the credential only when w begins. The early end closes the door in time if the
// bridge is offline. Before it, the bridge extends the window by one step, and removes the credential when w ends.
func (m *machine) setNativeWindow(t *target, w Window) {
	t.notBefore, t.notAfter = w.From, w.To
	g := m.lock.Caps.Granularity
	if g <= 0 {
		return
	}
	if !w.From.IsZero() {
		t.notBefore = w.From.Truncate(g)
	}
	if w.To.IsZero() || w.To.Truncate(g).Equal(w.To) {
		return
	}
	end := w.To.Truncate(g)
	extend := end.Add(-m.lock.Caps.Lifetime())
	if end.After(t.notBefore) && m.ev.At.Before(extend) {
		t.notAfter, t.changesAt = end, extend
		return
	}
	t.notAfter = end.Add(g)
}

// isReached reports whether the bridge believes that the slot holds the target. If the target is an empty slot, a foreign credential also
// meets it, and so does a slot that this bridge neither read nor wrote, unless MayHoldOwn is set.
func (t target) isReached(s *Slot) bool {
	if t.present {
		return s.Content.Kind == Own && s.Content.PIN == t.pin && s.Content.NotBefore.Equal(t.notBefore) && s.Content.NotAfter.Equal(t.notAfter)
	}
	switch s.Content.Kind {
	case Empty, Foreign:
		return true
	case Unknown:
		return !s.Desired.MayHoldOwn
	}
	return false
}

// isWriting reports whether a write to the slot, a set or a clear, is in flight.
func (m *machine) isWriting(s *Slot) bool {
	op := m.lock.Op
	return op.Slot == s.Number && (op.Kind == OpSet || op.Kind == OpClear) && m.rules.enforces(inFlightIsUnmet)
}

// reportChanges stores the new observation of each slot whose observed state changed, and adds an action to report it. It also reports the
// slot of the event if the server expects an answer about it even without a change.
func (m *machine) reportChanges() {
	for i := range m.lock.Slots {
		s := &m.lock.Slots[i]
		if s.Desired.Generation == 0 {
			continue
		}
		o := m.observe(s)
		if o.sameObservation(s.Observed) && s.Number != m.alwaysReport {
			continue
		}
		if !o.sameObservation(s.Observed) {
			o.At = m.ev.At
			s.Observed = o
		}
		m.actions = append(m.actions, Action{Kind: ReportObserved, Slot: s.Number, Observed: s.Observed})
	}
}

// observe returns what the bridge now knows about a slot, in the form of a report to the server, without the time.
func (m *machine) observe(s *Slot) Observed {
	t := m.targetOf(s)
	o := Observed{Generation: s.Desired.Generation, Window: t.window, Used: s.isUsedUp(m.rules)}
	reached := t.isReached(s) && !m.isWriting(s) // a write in flight may change the slot at any moment
	switch {
	case s.Refusal != "" && s.Content.Kind == Uncertain: // an earlier attempt may have taken effect
		o.Evidence, o.Result, o.Rule = Unconfirmed, s.Refusal, s.RefusedRule
	case s.Refusal != "":
		o.Evidence, o.Result, o.Rule = Failed, s.Refusal, s.RefusedRule
	case s.Content.Kind == Foreign && (t.present || t.waiting):
		o.Evidence, o.Result = Failed, Occupied
	case reached && t.waiting:
		o.Evidence = Sent
	case reached:
		o.Present, o.Evidence = t.present, s.Content.Evidence
		if s.Content.Kind == Unknown || s.Content.Kind == Foreign { // isReached makes sure that the slot holds no Latchkey credential: its absence is proven
			o.Evidence = Verified
		}
	case s.Content.Kind == Uncertain:
		o.Evidence, o.Result = Unconfirmed, s.LastResult
	default:
		o.Evidence, o.Result = Sent, s.LastResult
		o.Present = t.waiting && s.Content.Kind == Own // the credential is left from the previous window, perhaps of an older generation
	}
	o.Cleared = !o.Evidence.ConfirmedByLock() && m.olderKnownGone(s)
	return o
}

// olderKnownGone reports whether a slot whose credential is desired is known to hold no credential of an older generation: it is empty by
// a reading (by the lock's acknowledgement, if the lock cannot be read), it holds a foreign credential, or its content is unknown and
// MayHoldOwn is not set. It returns false while a write of another generation is in flight. It also returns false for a slot that holds the
// desired credential: there the evidence, Accepted or Verified, is the proof.
func (m *machine) olderKnownGone(s *Slot) bool {
	if s.Desired.Intent != Present || m.isWriting(s) && m.lock.Op.Generation != s.Desired.Generation {
		return false
	}
	switch s.Content.Kind {
	case Empty:
		return s.Content.Evidence == Verified || !m.lock.Caps.ReadBack
	case Unknown:
		return !s.Desired.MayHoldOwn
	}
	return s.Content.Kind == Foreign
}

// startNext adds an action to start the ready operation with the highest priority, if no operation is in flight and no earlier one may
// still take effect. It stores the operation in the record, and counts it in TimesOvertaken of the other ready slots.
func (m *machine) startNext() {
	if (m.lock.Op.Kind != "" && m.rules.enforces(oneAtATime)) || m.ev.At.Before(m.lock.Fence) {
		return
	}
	var best *Slot
	var op Op
	var rank priority
	for i := range m.lock.Slots {
		s := &m.lock.Slots[i]
		o, k, ok := m.nextOp(s)
		if ok && (best == nil || k.before(rank)) {
			best, op, rank = s, o, k
		}
	}
	if best == nil {
		return
	}
	for i := range m.lock.Slots {
		s := &m.lock.Slots[i]
		if _, _, ready := m.nextOp(s); ready && s != best && s.TimesOvertaken < m.rules.maxOvertaken {
			s.TimesOvertaken++
		}
	}
	best.TimesOvertaken = 0
	m.lock.Seq++
	op.Seq, op.Slot, op.Generation = m.lock.Seq, best.Number, best.Desired.Generation
	op.ExpiresAt = m.ev.At.Add(m.lock.Caps.Lifetime())
	m.lock.Op = op
	if op.Kind == OpSet && best.Content.Kind == Empty {
		best.OldestGeneration = op.Generation
	}
	m.actions = append(m.actions, Action{Kind: StartOp, Slot: op.Slot, Op: op})
}

// priority orders ready operations: first the slots that were overtaken too often, then removals and writes that end a window, then other
// writes, then reads of slots that already hold their target. A read before a write ranks like the write. Ties go to the earliest due time.
type priority struct {
	overtaken uint8 // overtaken is how many operations on other slots went first, if they were too many (maxOvertaken); else 0
	class     uint8 // a lower class goes first
	due       time.Time
}

// before reports whether an operation with priority o is started before one with p.
func (o priority) before(p priority) bool {
	switch {
	case o.overtaken != p.overtaken:
		return o.overtaken > p.overtaken
	case o.class != p.class:
		return o.class < p.class
	}
	return o.due.Before(p.due)
}

// nextOp returns the operation that a slot is ready for and its priority, or false if there is none. startNext sets Seq, Slot, Generation
// and ExpiresAt of the operation. A removal waits only after a failed removal: the end of a code must not wait because the lock did not
// confirm its setting.
func (m *machine) nextOp(s *Slot) (Op, priority, bool) {
	t, now := m.targetOf(s), m.ev.At
	k := priority{due: t.due}
	if s.TimesOvertaken >= m.rules.maxOvertaken && m.rules.enforces(fairness) {
		k.overtaken = s.TimesOvertaken
	}
	if t.isReached(s) || s.Desired.Generation == 0 {
		k.class = 2
		return Op{Kind: OpRead}, k, !s.NextReadAt.IsZero() && !now.Before(s.NextReadAt)
	}
	if (now.Before(s.RetryAt) && (t.present || s.RetryOf == OpClear)) || (s.Content.Kind == Foreign && m.rules.enforces(foreignNotWritten)) {
		return Op{}, k, false
	}
	if !t.present || (s.ClearedOnce && s.Content.Kind == Uncertain) {
		return Op{Kind: OpClear, Replace: true}, k, true
	}
	if m.rules.enforces(removalsFirst) && !m.closesWindow(s, t) {
		k.class = 1
	}
	onlyForeign := s.Content.Kind == Empty || (s.Content.Kind == Unknown && !s.Desired.MayHoldOwn)
	if onlyForeign && !s.ReadSinceChange && m.lock.Caps.ReadBack && m.rules.enforces(readBeforeWrite) { // read the slot first, otherwise the write would overwrite a foreign credential
		return Op{Kind: OpRead}, k, true
	}
	replace := s.Content.Kind == Own || s.Content.Kind == Uncertain || (s.Content.Kind == Unknown && s.Desired.MayHoldOwn) || !m.rules.enforces(replaceFlag)
	return Op{Kind: OpSet, PIN: t.pin, NotBefore: t.notBefore, NotAfter: t.notAfter, Replace: replace}, k, true
}

// closesWindow reports whether writing the target also removes a credential whose window has ended. That is as urgent
// as a removal. It happens on locks that enforce windows: the next window replaces the last.
func (m *machine) closesWindow(s *Slot, t target) bool {
	if !t.present || !m.ev.At.Before(t.due) || t.isReached(s) {
		return false
	}
	return s.Content.Kind == Own || (s.Content.Kind == Uncertain && t.window > 0)
}

// scheduleWake adds an action that wakes the bridge at the next time at which the record changes without another event, if there is one.
func (m *machine) scheduleWake() {
	var at time.Time
	soonest := func(t time.Time) {
		if t.After(m.ev.At) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	soonest(m.lock.Fence)
	soonest(m.lock.Op.ExpiresAt)
	for i := range m.lock.Slots {
		s := &m.lock.Slots[i]
		soonest(s.RetryAt)
		soonest(s.NextReadAt)
		soonest(m.targetOf(s).changesAt)
	}
	if !at.IsZero() && m.rules.enforces(wakesByTime) {
		m.actions = append(m.actions, Action{Kind: WakeAt, At: at})
	}
}
