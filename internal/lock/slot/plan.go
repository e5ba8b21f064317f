package slot

import "time"

// target is what a slot shall hold right now.
type target struct {
	present   bool
	waiting   bool // absent only because the window has not come near yet
	window    int  // which of the windows
	pin       PIN
	notBefore time.Time // zero unless the lock keeps the window itself
	notAfter  time.Time
	due       time.Time // from when on it should be so
	changesAt time.Time // when the target will be another; zero is never
}

// want is the slot's target. The bridge's own schedule opens and closes every window; a lock that
// keeps windows gets the credential ahead and closes by itself, too, should the bridge be away.
func (m *machine) targetOf(s *Slot) target {
	d, now := s.Desired, m.ev.At
	if d.Intent != Present {
		return target{}
	}
	if s.Refusal != "" && m.rules.enforces(refusalRemovesOlder) {
		return target{} // an older credential must not outlive its replacement's refusal
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

// native gives t the window for a lock that keeps windows, in the lock's steps. It starts at or
// before the true start (the bridge sets it no earlier than it may open) and ends at or before the
// true end, so that the lock closes in time should the bridge be away. A bridge that is there
// extends it over the rest of the last step, one operation's lifetime before the lock would close.
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

// met reports whether the lock holds the target.
func (t target) isMet(s *Slot) bool {
	if t.present {
		return s.Content.Kind == Ours && s.Content.PIN == t.pin && s.Content.NotBefore.Equal(t.notBefore) && s.Content.NotAfter.Equal(t.notAfter)
	}
	switch s.Content.Kind {
	case Empty, Foreign:
		return true
	case Unknown:
		return !s.Desired.MayHoldOurs
	}
	return false
}

// writing reports whether a write to the slot is in flight.
func (m *machine) isWriting(s *Slot) bool {
	op := m.lock.Op
	return op.Slot == s.Number && (op.Kind == OpSet || op.Kind == OpClear) && m.rules.enforces(inFlightIsUnmet)
}

// observeAll reports every slot about which there is something new to say.
func (m *machine) reportChanges() {
	for i := range m.lock.Slots {
		s := &m.lock.Slots[i]
		if s.Desired.Generation == 0 {
			continue
		}
		o := m.observe(s)
		if o.equalIgnoringTime(s.Observed) && s.Number != m.alwaysReport {
			continue
		}
		if !o.equalIgnoringTime(s.Observed) {
			o.At = m.ev.At
			s.Observed = o
		}
		m.actions = append(m.actions, Action{Kind: ReportObserved, Slot: s.Number, Observed: s.Observed})
	}
}

func (m *machine) observe(s *Slot) Observed {
	t := m.targetOf(s)
	o := Observed{Generation: s.Desired.Generation, Window: t.window, Used: s.isUsedUp(m.rules)}
	met := t.isMet(s) && !m.isWriting(s) // what is in the air may end what now looks met
	switch {
	case s.Refusal != "" && s.Content.Kind == Uncertain: // an earlier attempt may have landed
		o.Evidence, o.Result, o.Rule = Unconfirmed, s.Refusal, s.RefusedRule
	case s.Refusal != "":
		o.Evidence, o.Result, o.Rule = Failed, s.Refusal, s.RefusedRule
	case s.Content.Kind == Foreign && (t.present || t.waiting):
		o.Evidence, o.Result = Failed, Occupied
	case met && t.waiting:
		o.Evidence = Sent
	case met:
		o.Present, o.Evidence = t.present, s.Content.Evidence
		if s.Content.Kind == Unknown || s.Content.Kind == Foreign { // nothing of ours was ever put there
			o.Evidence = Verified
		}
	case s.Content.Kind == Uncertain:
		o.Evidence, o.Result = Unconfirmed, s.LastResult
	default:
		o.Evidence, o.Result = Sent, s.LastResult
		o.Present = t.waiting && s.Content.Kind == Ours // the window before left it there, also one of an older generation
	}
	o.Cleared = !o.Evidence.Confirmed() && m.cleared(s)
	return o
}

// cleared reports whether a slot that shall hold a credential is known to hold none of an older generation. A slot that is
// Unknown was never written by this bridge.
func (m *machine) cleared(s *Slot) bool {
	if s.Desired.Intent != Present || m.isWriting(s) && m.lock.Op.Generation != s.Desired.Generation {
		return false
	}
	switch s.Content.Kind {
	case Empty:
		return s.Content.Evidence == Verified || !m.lock.Caps.ReadBack
	case Unknown:
		return !s.Desired.MayHoldOurs
	}
	return s.Content.Kind == Foreign
}

// start picks the next operation.
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

// order ranks ready operations: whoever was overtaken too often, then revocations and what closes like one, then settings,
// then readings; the earliest due first among equals.
type priority struct {
	overtaken uint8 // only when at the limit
	class     uint8
	due       time.Time
}

func (o priority) before(p priority) bool {
	switch {
	case o.overtaken != p.overtaken:
		return o.overtaken > p.overtaken
	case o.class != p.class:
		return o.class < p.class
	}
	return o.due.Before(p.due)
}

// next is the operation a slot is ready for.
func (m *machine) nextOp(s *Slot) (Op, priority, bool) {
	t, now := m.targetOf(s), m.ev.At
	k := priority{due: t.due}
	if s.TimesOvertaken >= m.rules.maxOvertaken && m.rules.enforces(fairness) {
		k.overtaken = s.TimesOvertaken
	}
	if t.isMet(s) || s.Desired.Generation == 0 {
		k.class = 2
		return Op{Kind: OpRead}, k, !s.NextReadAt.IsZero() && !now.Before(s.NextReadAt)
	}
	if now.Before(s.RetryAt) || (s.Content.Kind == Foreign && m.rules.enforces(foreignNotWritten)) {
		return Op{}, k, false
	}
	if !t.present || (s.ClearedOnce && s.Content.Kind == Uncertain) {
		return Op{Kind: OpClear, Replace: true}, k, true
	}
	if m.rules.enforces(removalsFirst) && !m.closesWindow(s, t) {
		k.class = 1
	}
	theirs := s.Content.Kind == Empty || (s.Content.Kind == Unknown && !s.Desired.MayHoldOurs) // if anything is there
	if theirs && !s.ReadSinceChange && m.lock.Caps.ReadBack && m.rules.enforces(readBeforeWrite) {
		return Op{Kind: OpRead}, k, true
	}
	replace := s.Content.Kind == Ours || s.Content.Kind == Uncertain || (s.Content.Kind == Unknown && s.Desired.MayHoldOurs) || !m.rules.enforces(replaceFlag)
	return Op{Kind: OpSet, PIN: t.pin, NotBefore: t.notBefore, NotAfter: t.notAfter, Replace: replace}, k, true
}

// closes reports whether setting the target also takes off what should not open now: on a lock that keeps windows the next
// one takes the place of one that has ended. That is as urgent as a removal.
func (m *machine) closesWindow(s *Slot, t target) bool {
	if !t.present || !m.ev.At.Before(t.due) || t.isMet(s) {
		return false
	}
	return s.Content.Kind == Ours || (s.Content.Kind == Uncertain && t.window > 0)
}

// wake asks for a tick when time alone will make a difference.
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
