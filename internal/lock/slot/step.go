package slot

import (
	"slices"
	"time"
)

// Step moves a lock by one event and says what to do about it. It never changes its argument. At
// most one Start is returned, only while no operation is in flight and no earlier write can still
// take effect.
func Step(l Lock, ev Event) (Lock, []Action) { return step(l, ev, production) }

func step(l Lock, ev Event, r rules) (Lock, []Action) {
	l.Slots = slices.Clone(l.Slots)
	m := machine{lock: l, ev: ev, rules: r}
	if !m.lock.Fence.IsZero() && !ev.At.Before(m.lock.Fence) && ev.Kind != Booted {
		m.lock.Fence = time.Time{}
	}
	switch ev.Kind {
	case Wanted:
		m.wanted()
		m.end(m.ev.Code)
	case Answered:
		m.answered()
	case Booted:
		m.booted()
	case Doubted:
		m.doubted()
	case Altered:
		m.altered()
	case Entered:
		m.entered()
	case Spent:
		m.end(m.ev.Code)
	}
	m.expire()
	m.observeAll()
	m.start()
	m.wake()
	return m.lock, m.actions
}

type machine struct {
	lock    Lock
	ev      Event
	rules   rules
	actions []Action
	tell    uint32 // slot to report even if nothing changed
}

// at returns the slot with this number, made if there is none.
func (m *machine) at(number uint32) *Slot {
	i, ok := m.lock.find(number)
	if !ok {
		m.lock.Slots = slices.Insert(m.lock.Slots, i, Slot{Number: number})
	}
	return &m.lock.Slots[i]
}

func (m *machine) wanted() {
	d := m.ev.Desired
	s := m.at(m.ev.Slot)
	m.tell = m.ev.Slot
	if d.Generation < s.Desired.Generation && m.rules.keeps(olderIgnored) {
		return
	}
	if s.Desired.Generation > 0 && m.rules.keeps(ownMemory) {
		d.Claimed = d.Claimed && s.Desired.Claimed
	}
	if d.Generation == s.Desired.Generation {
		s.Desired.Claimed = d.Claimed
		return
	}
	s.Desired = d
	s.Refused, s.Rule, s.Code, s.Attempts, s.RetryAt, s.Cured, s.Passed, s.Looked = "", "", "", 0, time.Time{}, false, 0, false
	s.Alters = 0
	if s.Held.Is == Foreign { // it may have been removed meanwhile: look again
		s.Held = Held{}
	}
}

func (m *machine) doubted() {
	if i, ok := m.lock.find(m.ev.Slot); ok && m.lock.Caps.ReadBack {
		m.lock.Slots[i].ReadAt = m.ev.At
	}
}

// altered takes a report of the lock that the slot was changed at the lock itself. A lock that shows the PIN is read. On others
// the content of the slot is in doubt, so the code is set again: soon the first time, then with growing waits, because the
// change may be repeated, or the lock may report the bridge's own writes. A lock that shows only whether a slot is used is read
// as well, and its code is no longer doubted after maskedAlters reports.
func (m *machine) altered() {
	i, ok := m.lock.find(m.ev.Slot)
	if !ok {
		return
	}
	s := &m.lock.Slots[i]
	if m.lock.Caps.ReadBack {
		s.ReadAt = m.ev.At
		if m.lock.Caps.Readable == ReadableClear || s.Alters >= maskedAlters || !m.rules.keeps(alteredMasked) {
			return
		}
	}
	if op := m.lock.Op; op.Slot == s.Number && op.Kind == OpSet && m.rules.keeps(alteredInFlight) {
		s.Altered = true // before the write landed or after: its answer does not say
	}
	if s.Held.Is != Ours || !m.rules.keeps(alteredDoubt) {
		return
	}
	m.drift(s)
	m.doubtAltered(s)
}

// maskedAlters is how many reports of changes put the code of a masked slot in doubt: after that the lock probably reports the
// bridge's own writes, which must not repeat for ever.
const maskedAlters = 8

// doubtAltered forgets what a slot holds after somebody changed it.
func (m *machine) doubtAltered(s *Slot) {
	s.Held, s.Oldest = Held{Is: Unsure}, 0
	if s.Alters > 0 {
		s.RetryAt = m.ev.At.Add(m.rules.retry(OpSet, s.Alters-1))
	}
	s.Alters = min(s.Alters+1, m.rules.attempts)
}

// entered notes the use of a code. What a lock tells of a slot that holds nothing of ours, as far as we know, was
// somebody else's or is long over.
func (m *machine) entered() {
	i, ok := m.lock.find(m.ev.Slot)
	if !ok {
		return
	}
	s := &m.lock.Slots[i]
	there := s.Held.Is == Ours || s.Held.Is == Unsure || (m.lock.Op.Kind == OpSet && m.lock.Op.Slot == s.Number)
	if s.Desired.Once != "" && there {
		s.Spent = s.Desired.Once
	}
}

// end ends a code for one use that was used, here or on another lock. A wish that brings a used code ends it in its own
// step: in a later one the code would be on its way to the lock already.
func (m *machine) end(code string) {
	for i := range m.lock.Slots {
		if s := &m.lock.Slots[i]; code != "" && s.Desired.Once == code {
			s.Spent = code
		}
	}
}

// Recall ends codes for one use that were used on other locks, before Booted: the run before may have ended between the
// writes of two locks. It never changes its argument.
func Recall(l Lock, used []string) Lock {
	m := machine{lock: l}
	m.lock.Slots = slices.Clone(l.Slots)
	for _, code := range used {
		m.end(code)
	}
	return m.lock
}

// booted forgets nothing but trusts no clock of the run before: whatever was in the air may still
// land for a whole lifetime from now.
func (m *machine) booted() {
	for i := range m.lock.Slots {
		s := &m.lock.Slots[i]
		s.RetryAt = earlier(s.RetryAt, m.ev.At.Add(m.rules.retrySet))
		s.ReadAt = earlier(s.ReadAt, m.ev.At.Add(m.rules.readEvery))
		s.Altered = false // its write is in doubt as a whole
	}
	op := m.lock.Op
	m.lock.Op = Op{}
	write := op.Kind == OpSet || op.Kind == OpClear
	if write && m.rules.keeps(bootDoubt) {
		m.at(op.Slot).Held = Held{Is: Unsure}
	}
	if (write || !m.lock.Fence.IsZero()) && m.rules.keeps(bootFence) {
		m.fence(m.ev.At.Add(m.lock.Caps.Lifetime()))
	}
}

func earlier(t, limit time.Time) time.Time {
	if t.After(limit) {
		return limit
	}
	return t
}

func (m *machine) fence(until time.Time) {
	if m.ev.At.Before(until) {
		m.lock.Fence = until
	}
}

// expire gives up on an operation that the driver never answered.
func (m *machine) expire() {
	op := m.lock.Op
	if op.Kind == "" || m.ev.At.Before(op.Until) || !m.rules.keeps(giveUp) {
		return
	}
	m.ev = Event{Kind: Answered, At: m.ev.At, ClockError: m.ev.ClockError, Seq: op.Seq, Result: Timeout}
	m.answered()
}

func (m *machine) answered() {
	op := m.lock.Op
	if op.Kind == "" || (m.ev.Seq != op.Seq && m.rules.keeps(answerOfOp)) {
		return
	}
	m.lock.Op = Op{}
	s := m.at(op.Slot)
	defer func() { s.Altered = false }()
	switch {
	case op.Kind == OpRead:
		m.read(s)
	case m.ev.Result == OK:
		m.landed(s, op)
	case m.ev.Result.MayLand():
		if m.rules.keeps(doubt) {
			s.Held = Held{Is: Unsure}
		}
		if m.rules.keeps(answerFence) {
			m.fence(op.Until)
		}
		m.retry(s, op)
	default:
		m.refused(s, op)
	}
}

// landed takes the lock's word that the operation took effect.
func (m *machine) landed(s *Slot, op Op) {
	s.Held, s.Oldest = Held{Is: Empty, Evidence: Accepted}, 0
	if op.Kind == OpSet {
		s.Oldest = op.Generation
		s.Held = Held{Is: Ours, PIN: op.PIN, NotBefore: op.NotBefore, NotAfter: op.NotAfter, Evidence: Accepted}
	}
	s.Code, s.Attempts, s.RetryAt, s.ReadAt = "", 0, time.Time{}, time.Time{}
	if m.lock.Caps.ReadBack {
		s.ReadAt = m.ev.At
	}
	if s.Altered {
		m.doubtAltered(s)
	}
}

// refused takes the lock's word that the operation did not and will not take effect.
func (m *machine) refused(s *Slot, op Op) {
	code := m.ev.Result
	doubtful := op.Replace && s.Held.Is != Ours
	switch {
	case op.Kind == OpSet && (code == Duplicate || code == Occupied) && doubtful && !s.Cured:
		// The lock may have met our own earlier attempt: empty the slot, then set.
		s.Cured, s.Held = true, Held{Is: Unsure}
		return
	case op.Kind == OpSet && code == Occupied && !op.Replace:
		s.Held, s.Oldest = Held{Is: Foreign, Evidence: Accepted}, 0
	}
	if (op.Kind == OpSet || !m.rules.keeps(persistence)) && code.Final() && (op.Generation == s.Desired.Generation || !m.rules.keeps(ownRefusal)) {
		s.Refused, s.Rule = code, m.ev.Rule
		return
	}
	m.retry(s, op)
}

// retry puts a slot off. A revocation is never given up, whatever the lock says.
func (m *machine) retry(s *Slot, op Op) {
	if op.Generation != s.Desired.Generation {
		return
	}
	kind := op.Kind
	if kind == OpSet && m.closes(s, m.want(s)) {
		kind = OpClear
	}
	wait := max(m.rules.retry(kind, s.Attempts), m.ev.RetryAfter)
	s.Code, s.RetryAt, s.Looked = m.ev.Result, m.ev.At.Add(wait), false
	s.Attempts = min(s.Attempts+1, m.rules.attempts)
}

// read compares what the lock shows with what it should hold.
func (m *machine) read(s *Slot) {
	if m.ev.Result != OK {
		m.readFailed(s)
		return
	}
	s.ReadAt, s.Looked = time.Time{}, true
	was := s.Held
	defer func() {
		if s.Held.Is != was.Is {
			s.Oldest = 0 // the lock holds something else than was put there
		}
	}()
	switch {
	case was.Is == Ours && !m.rules.keeps(seeing):
		s.Held.Evidence = Verified
	case !m.ev.Present && was.Is == Ours:
		s.Held = Held{Is: Empty, Evidence: Verified}
		m.drift(s)
	case !m.ev.Present:
		s.Held = Held{Is: Empty, Evidence: Verified}
	case was.Is == Unknown:
		s.Held = Held{Is: Foreign, Evidence: Verified}
		if s.Desired.Claimed {
			s.Held = Held{Is: Unsure}
		}
	case was.Is == Ours && (m.ev.PIN == "" || m.ev.PIN == was.PIN):
		s.Held.Evidence = Verified
		if m.rules.readEvery > 0 {
			s.ReadAt = m.ev.At.Add(m.rules.readEvery)
		}
	case was.Is == Ours:
		s.Held = Held{Is: Unsure}
		m.drift(s)
	case was.Is == Empty && was.Evidence == Accepted: // the lock said cleared and did not clear
		s.Held = Held{Is: Unsure}
	case was.Is == Empty:
		s.Held = Held{Is: Foreign, Evidence: Verified}
		m.drift(s)
	}
	s.Code = ""
}

func (m *machine) readFailed(s *Slot) {
	switch {
	case m.ev.Result == Unsupported && s.Held.Is != Unknown:
		s.ReadAt, s.Looked = time.Time{}, true
	case s.Held.Is == Unknown, !m.want(s).met(s): // it was read in order to write: later, or the radio never rests
		m.retry(s, Op{Kind: OpRead, Generation: s.Desired.Generation})
	default:
		wait := m.rules.readRetry
		if m.ev.Result == Busy { // the lock was not asked, so asking again soon costs nothing
			wait = min(wait, m.rules.retryFirst)
		}
		s.ReadAt = m.ev.At.Add(max(wait, m.ev.RetryAfter))
	}
}

func (m *machine) drift(s *Slot) {
	m.actions = append(m.actions, Action{Kind: Drift, Slot: s.Number, Observed: s.Observed})
}
