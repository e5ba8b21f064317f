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
	changes   time.Time // when the target will be another; zero is never
}

// want is the slot's target. The bridge's own schedule opens and closes every window; a lock that
// keeps windows gets the credential ahead and closes by itself, too, should the bridge be away.
func (m *machine) want(s *Slot) target {
	d, now := s.Desired, m.ev.At
	if d.Intent != Present {
		return target{}
	}
	if s.Refused != "" && m.rules.keeps(refusalEnds) {
		return target{} // an older credential must not outlive its replacement's refusal
	}
	if s.spent(m.rules) {
		return target{}
	}
	margin := m.ev.ClockError
	if !m.rules.keeps(clockMargin) {
		margin = 0
	}
	n, w, over := d.at(now, margin)
	if over {
		return target{window: n, due: w.To.Add(-margin)}
	}
	opens := w.From.Add(margin)
	t := target{present: true, window: n, pin: d.PIN, due: w.From}
	if !w.To.IsZero() {
		t.changes = w.To.Add(-margin)
	}
	from := opens
	if m.lock.Caps.Schedule == ScheduleWindow {
		if m.native(&t, w); t.notBefore.Equal(w.From) || !m.rules.keeps(lockSteps) {
			from = opens.Add(-m.rules.preload)
		}
	}
	if !w.From.IsZero() && now.Before(from) {
		return target{waiting: true, window: n, changes: from}
	}
	return t
}

// native gives t the window for a lock that keeps windows, in the lock's steps. It starts at or
// before the true start (the bridge sets it no earlier than it may open) and ends at or before the
// true end, so that the lock closes in time should the bridge be away. A bridge that is there
// extends it over the rest of the last step, one operation's lifetime before the lock would close.
func (m *machine) native(t *target, w Window) {
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
		t.notAfter, t.changes = end, extend
		return
	}
	t.notAfter = end.Add(g)
}

// met reports whether the lock holds the target.
func (t target) met(s *Slot) bool {
	if t.present {
		return s.Held.Is == Ours && s.Held.PIN == t.pin && s.Held.NotBefore.Equal(t.notBefore) && s.Held.NotAfter.Equal(t.notAfter)
	}
	switch s.Held.Is {
	case Empty, Foreign:
		return true
	case Unknown:
		return !s.Desired.Claimed
	}
	return false
}

// writing reports whether a write to the slot is in flight.
func (m *machine) writing(s *Slot) bool {
	op := m.lock.Op
	return op.Slot == s.Number && (op.Kind == OpSet || op.Kind == OpClear) && m.rules.keeps(inTheAir)
}

// observeAll reports every slot about which there is something new to say.
func (m *machine) observeAll() {
	for i := range m.lock.Slots {
		s := &m.lock.Slots[i]
		if s.Desired.Generation == 0 {
			continue
		}
		o := m.observed(s)
		if o.same(s.Observed) && s.Number != m.tell {
			continue
		}
		if !o.same(s.Observed) {
			o.At = m.ev.At
			s.Observed = o
		}
		m.actions = append(m.actions, Action{Kind: Tell, Slot: s.Number, Observed: s.Observed})
	}
}

func (m *machine) observed(s *Slot) Observed {
	t := m.want(s)
	o := Observed{Generation: s.Desired.Generation, Window: t.window, Used: s.spent(m.rules)}
	met := t.met(s) && !m.writing(s) // what is in the air may end what now looks met
	switch {
	case s.Refused != "" && s.Held.Is == Unsure: // an earlier attempt may have landed
		o.Evidence, o.Result, o.Rule = Unconfirmed, s.Refused, s.Rule
	case s.Refused != "":
		o.Evidence, o.Result, o.Rule = Failed, s.Refused, s.Rule
	case s.Held.Is == Foreign && (t.present || t.waiting):
		o.Evidence, o.Result = Failed, Occupied
	case met && t.waiting:
		o.Evidence = Sent
	case met:
		o.Present, o.Evidence = t.present, s.Held.Evidence
		if s.Held.Is == Unknown || s.Held.Is == Foreign { // nothing of ours was ever put there
			o.Evidence = Verified
		}
	case s.Held.Is == Unsure:
		o.Evidence, o.Result = Unconfirmed, s.Code
	default:
		o.Evidence, o.Result = Sent, s.Code
		o.Present = t.waiting && s.Held.Is == Ours // the window before left it there, also one of an older generation
	}
	o.Cleared = !o.Evidence.Settled() && m.cleared(s)
	return o
}

// cleared reports whether a slot that shall hold a credential is known to hold none of an older generation. A slot that is
// Unknown was never written by this bridge.
func (m *machine) cleared(s *Slot) bool {
	if s.Desired.Intent != Present || m.writing(s) && m.lock.Op.Generation != s.Desired.Generation {
		return false
	}
	switch s.Held.Is {
	case Empty:
		return s.Held.Evidence == Verified || !m.lock.Caps.ReadBack
	case Unknown:
		return !s.Desired.Claimed
	}
	return s.Held.Is == Foreign
}

// start picks the next operation.
func (m *machine) start() {
	if (m.lock.Op.Kind != "" && m.rules.keeps(oneAtATime)) || m.ev.At.Before(m.lock.Fence) {
		return
	}
	var best *Slot
	var op Op
	var rank order
	for i := range m.lock.Slots {
		s := &m.lock.Slots[i]
		o, k, ok := m.next(s)
		if ok && (best == nil || k.before(rank)) {
			best, op, rank = s, o, k
		}
	}
	if best == nil {
		return
	}
	for i := range m.lock.Slots {
		s := &m.lock.Slots[i]
		if _, _, ready := m.next(s); ready && s != best && s.Passed < m.rules.overtake {
			s.Passed++
		}
	}
	best.Passed = 0
	m.lock.Seq++
	op.Seq, op.Slot, op.Generation = m.lock.Seq, best.Number, best.Desired.Generation
	op.Until = m.ev.At.Add(m.lock.Caps.Lifetime())
	m.lock.Op = op
	if op.Kind == OpSet && best.Held.Is == Empty {
		best.Oldest = op.Generation
	}
	m.actions = append(m.actions, Action{Kind: Start, Slot: op.Slot, Op: op})
}

// order ranks ready operations: whoever was overtaken too often, then revocations and what closes like one, then settings,
// then readings; the earliest due first among equals.
type order struct {
	passed uint8 // only when at the limit
	class  uint8
	due    time.Time
}

func (o order) before(p order) bool {
	switch {
	case o.passed != p.passed:
		return o.passed > p.passed
	case o.class != p.class:
		return o.class < p.class
	}
	return o.due.Before(p.due)
}

// next is the operation a slot is ready for.
func (m *machine) next(s *Slot) (Op, order, bool) {
	t, now := m.want(s), m.ev.At
	k := order{due: t.due}
	if s.Passed >= m.rules.overtake && m.rules.keeps(fairness) {
		k.passed = s.Passed
	}
	if t.met(s) || s.Desired.Generation == 0 {
		k.class = 2
		return Op{Kind: OpRead}, k, !s.ReadAt.IsZero() && !now.Before(s.ReadAt)
	}
	if now.Before(s.RetryAt) || (s.Held.Is == Foreign && m.rules.keeps(foreignSpared)) {
		return Op{}, k, false
	}
	if !t.present || (s.Cured && s.Held.Is == Unsure) {
		return Op{Kind: OpClear, Replace: true}, k, true
	}
	if m.rules.keeps(revokeFirst) && !m.closes(s, t) {
		k.class = 1
	}
	theirs := s.Held.Is == Empty || (s.Held.Is == Unknown && !s.Desired.Claimed) // if anything is there
	if theirs && !s.Looked && m.lock.Caps.ReadBack && m.rules.keeps(readFirst) {
		return Op{Kind: OpRead}, k, true
	}
	replace := s.Held.Is == Ours || s.Held.Is == Unsure || (s.Held.Is == Unknown && s.Desired.Claimed) || !m.rules.keeps(notReplacing)
	return Op{Kind: OpSet, PIN: t.pin, NotBefore: t.notBefore, NotAfter: t.notAfter, Replace: replace}, k, true
}

// closes reports whether setting the target also takes off what should not open now: on a lock that keeps windows the next
// one takes the place of one that has ended. That is as urgent as a removal.
func (m *machine) closes(s *Slot, t target) bool {
	if !t.present || !m.ev.At.Before(t.due) || t.met(s) {
		return false
	}
	return s.Held.Is == Ours || (s.Held.Is == Unsure && t.window > 0)
}

// wake asks for a tick when time alone will make a difference.
func (m *machine) wake() {
	var at time.Time
	soonest := func(t time.Time) {
		if t.After(m.ev.At) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	soonest(m.lock.Fence)
	soonest(m.lock.Op.Until)
	for i := range m.lock.Slots {
		s := &m.lock.Slots[i]
		soonest(s.RetryAt)
		soonest(s.ReadAt)
		soonest(m.want(s).changes)
	}
	if !at.IsZero() && m.rules.keeps(waking) {
		m.actions = append(m.actions, Action{Kind: WakeAt, At: at})
	}
}
