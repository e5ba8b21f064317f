package slot

import (
	"slices"
	"time"
)

// Step applies one event to the record of a lock and returns the next record and the actions to do. It never changes
// its argument. It returns at most one StartOp, and only if no operation is in flight and no earlier write can still
// take effect.
func Step(l Lock, ev Event) (Lock, []Action) { return stepWith(l, ev, production) }

// stepWith is [Step] under the rules r. Tests pass other rules than those of production.
func stepWith(l Lock, ev Event, r rules) (Lock, []Action) {
	l.Slots = slices.Clone(l.Slots)
	m := machine{lock: l, ev: ev, rules: r}
	if !m.lock.Fence.IsZero() && !ev.At.Before(m.lock.Fence) && ev.Kind != Restarted {
		m.lock.Fence = time.Time{}
	}
	switch ev.Kind {
	case DesiredChanged:
		m.setDesired()
		m.endOneTimeCode(m.ev.OneTimeID)
	case Answered:
		m.applyAnswer()
	case Restarted:
		m.restart()
	case ReadRequested:
		m.requestRead()
	case ChangedAtLock:
		m.changedAtLock()
	case CodeUsed:
		m.recordUse()
	case CodeUsedElsewhere:
		m.endOneTimeCode(m.ev.OneTimeID)
	}
	m.expireOp()
	m.reportChanges()
	m.startNext()
	m.scheduleWake()
	return m.lock, m.actions
}

// machine applies one event to the record of a lock, and collects the actions that follow from it.
type machine struct {
	lock         Lock
	ev           Event
	rules        rules
	actions      []Action
	alwaysReport uint32 // alwaysReport is the slot to report even if nothing changed; 0: none
}

// slotRecord returns the record of a slot, and adds an empty one if the bridge has none. The pointer is valid until the next record is
// added.
func (m *machine) slotRecord(number uint32) *Slot {
	i, ok := m.lock.find(number)
	if !ok {
		m.lock.Slots = slices.Insert(m.lock.Slots, i, Slot{Number: number})
	}
	return &m.lock.Slots[i]
}

// setDesired stores the desired state in the event, unless its generation is older than that of the stored state. The same generation
// updates only MayHoldOwn, which a record of the slot can only clear, unless the record is of an old copy of the store. A newer generation
// resets the refusal and the retries, and forgets that the slot is foreign, so that it is read again. In each case the slot is reported.
func (m *machine) setDesired() {
	d := m.ev.Desired
	s := m.slotRecord(m.ev.Slot)
	m.alwaysReport = m.ev.Slot
	if d.Generation < s.Desired.Generation && m.rules.enforces(olderIgnored) {
		return
	}
	reported := d.ReportedGeneration
	d.ReportedGeneration = 0
	switch {
	case s.Desired.Generation == 0 || !m.rules.enforces(ownStoreTrusted):
	case s.Desired.Generation < reported && m.rules.enforces(oldCopyDoubted):
		s.doubtRecord()
	default:
		d.MayHoldOwn = d.MayHoldOwn && s.Desired.MayHoldOwn
	}
	if d.Generation == s.Desired.Generation {
		s.Desired.MayHoldOwn = d.MayHoldOwn
		return
	}
	s.Desired = d
	s.Refusal, s.RefusedRule, s.LastResult, s.Attempts, s.RetryAt, s.ClearedOnce, s.TimesOvertaken, s.ReadSinceChange = "", "", "", 0, time.Time{}, false, 0, false
	s.RetryOf, s.ManualChanges = "", 0
	if s.Content.Kind == Foreign { // the foreign credential may have been removed since: read the slot again
		s.Content = Content{}
	}
}

// doubtRecord forgets what the record says of the slot's content, because the record is of an old copy of the bridge's store. A credential
// that it mentions may be on the lock, also because the bridge has set it again since it was started from the copy. Otherwise MayHoldOwn
// decides what the slot may hold.
func (s *Slot) doubtRecord() {
	was := s.Content.Kind
	s.Content, s.OldestGeneration = Content{}, 0
	if was == Own || was == Uncertain {
		s.Content.Kind = Uncertain
	}
}

// requestRead makes a read of the event's slot due now, if the lock can be read.
func (m *machine) requestRead() {
	if i, ok := m.lock.find(m.ev.Slot); ok && m.lock.Caps.ReadBack {
		m.lock.Slots[i].NextReadAt = m.ev.At
	}
}

// changedAtLock handles a report that a slot was changed at the lock itself. A lock that can be read is read. Unless readings show PINs,
// the bridge's code in the slot also becomes uncertain and drift is reported: the code is set again, the first time at once, then with
// backoff, because the lock may report the bridge's own writes as changes. At a lock whose readings show only whether a slot is used, this
// ends after maxMaskedChanges reports.
func (m *machine) changedAtLock() {
	i, ok := m.lock.find(m.ev.Slot)
	if !ok {
		return
	}
	s := &m.lock.Slots[i]
	if m.lock.Caps.ReadBack {
		s.NextReadAt = m.ev.At
		if m.lock.Caps.Readable == ReadableClear || s.ManualChanges >= maxMaskedChanges || !m.rules.enforces(maskedChangeDoubt) {
			return
		}
	}
	if op := m.lock.Op; op.Slot == s.Number && op.Kind == OpSet && m.rules.enforces(changeInFlightDoubt) {
		s.ChangedInFlight = true // the answer does not show whether the write took effect before or after the change
	}
	if s.Content.Kind != Own || !m.rules.enforces(changeDoubt) {
		return
	}
	m.reportDrift(s)
	m.doubtContent(s)
}

// maxMaskedChanges limits how many reported changes make the content of a masked slot uncertain. After that the lock
// probably reports the bridge's own writes, which would then repeat forever.
const maxMaskedChanges = 8

// doubtContent marks the content of a slot as uncertain, so that the code is set again: at once after the first change since Desired
// changed, with backoff after further ones.
func (m *machine) doubtContent(s *Slot) {
	s.Content, s.OldestGeneration = Content{Kind: Uncertain}, 0
	if s.ManualChanges > 0 {
		s.RetryAt, s.RetryOf = m.ev.At.Add(m.rules.retryAfter(OpSet, s.ManualChanges-1)), OpSet
	}
	s.ManualChanges = min(s.ManualChanges+1, m.rules.maxAttempts)
}

// recordUse records the use of a one-time code in the event's slot. If the bridge does not believe that the slot holds
// a Latchkey code, a foreign code was used or the use was long ago, and the record stays unchanged.
func (m *machine) recordUse() {
	i, ok := m.lock.find(m.ev.Slot)
	if !ok {
		return
	}
	s := &m.lock.Slots[i]
	there := s.Content.Kind == Own || s.Content.Kind == Uncertain || (m.lock.Op.Kind == OpSet && m.lock.Op.Slot == s.Number)
	if s.Desired.OneTimeID != "" && there {
		s.UsedOneTimeID = s.Desired.OneTimeID
	}
}

// endOneTimeCode marks a one-time code as used in all slots of the lock, after a use here or on another lock; code is
// its OneTimeID. A newly desired code that was used already must be marked in the step that stores it, because that
// step may start to write it to the lock.
func (m *machine) endOneTimeCode(code string) {
	for i := range m.lock.Slots {
		if s := &m.lock.Slots[i]; code != "" && s.Desired.OneTimeID == code {
			s.UsedOneTimeID = code
		}
	}
}

// EndUsedCodes marks one-time codes as used that were used on other locks; used are their OneTimeIDs. The bridge calls
// it before the event Restarted, because the previous run may have ended between the writes of two locks. It never
// changes its argument.
func EndUsedCodes(l Lock, used []string) Lock {
	m := machine{lock: l}
	m.lock.Slots = slices.Clone(l.Slots)
	for _, code := range used {
		m.endOneTimeCode(code)
	}
	return m.lock
}

// restart handles the start of the bridge. It keeps the record but trusts no time of the previous run: an operation that was in flight may
// take effect until a full lifetime from now. The content of a slot with an interrupted write becomes uncertain.
func (m *machine) restart() {
	for i := range m.lock.Slots {
		s := &m.lock.Slots[i]
		s.RetryAt = atMost(s.RetryAt, m.ev.At.Add(m.rules.maxRetrySet))
		s.NextReadAt = atMost(s.NextReadAt, m.ev.At.Add(m.rules.readEvery))
		s.ChangedInFlight = false // the result of the whole write is uncertain anyway
	}
	op := m.lock.Op
	m.lock.Op = Op{}
	write := op.Kind == OpSet || op.Kind == OpClear
	if write && m.rules.enforces(restartDoubt) {
		m.slotRecord(op.Slot).Content = Content{Kind: Uncertain}
	}
	if (write || !m.lock.Fence.IsZero()) && m.rules.enforces(restartFence) {
		m.setFence(m.ev.At.Add(m.lock.Caps.Lifetime()))
	}
}

// atMost returns the earlier of two times. A zero time is earlier than any other.
func atMost(t, limit time.Time) time.Time {
	if t.After(limit) {
		return limit
	}
	return t
}

// setFence forbids operations on the lock until a time, because an earlier write may still take effect. It replaces the fence that the lock
// has, and does nothing if the time has come.
func (m *machine) setFence(until time.Time) {
	if m.ev.At.Before(until) {
		m.lock.Fence = until
	}
}

// expireOp handles an operation as timed out if the driver did not answer within its lifetime. It replaces m.ev by that answer.
func (m *machine) expireOp() {
	op := m.lock.Op
	if op.Kind == "" || m.ev.At.Before(op.ExpiresAt) || !m.rules.enforces(opExpires) {
		return
	}
	m.ev = Event{Kind: Answered, At: m.ev.At, ClockError: m.ev.ClockError, Seq: op.Seq, Result: Timeout}
	m.applyAnswer()
}

// applyAnswer applies the driver's answer to the operation in flight. It ignores the answer to another operation.
func (m *machine) applyAnswer() {
	op := m.lock.Op
	if op.Kind == "" || (m.ev.Seq != op.Seq && m.rules.enforces(answerMatchesOp)) {
		return
	}
	m.lock.Op = Op{}
	s := m.slotRecord(op.Slot)
	defer func() { s.ChangedInFlight = false }()
	switch {
	case op.Kind == OpRead:
		m.applyReading(s)
	case m.ev.Result == OK:
		m.succeeded(s, op)
	case m.ev.Result.MayTakeEffect():
		if m.rules.enforces(timeoutDoubt) {
			s.Content = Content{Kind: Uncertain}
		}
		if m.rules.enforces(timeoutFence) {
			m.setFence(op.ExpiresAt)
		}
		m.scheduleRetry(s, op)
	default:
		m.rejected(s, op)
	}
}

// succeeded applies the lock's answer that the operation took effect. If the lock can be read, it makes a read of the slot due. If the slot
// was changed at the lock meanwhile, its content becomes uncertain.
func (m *machine) succeeded(s *Slot, op Op) {
	s.Content, s.OldestGeneration = Content{Kind: Empty, Evidence: Accepted}, 0
	if op.Kind == OpSet {
		s.OldestGeneration = op.Generation
		s.Content = Content{Kind: Own, PIN: op.PIN, NotBefore: op.NotBefore, NotAfter: op.NotAfter, Evidence: Accepted}
	}
	s.LastResult, s.Attempts, s.RetryAt, s.RetryOf, s.NextReadAt = "", 0, time.Time{}, "", time.Time{}
	if m.lock.Caps.ReadBack {
		s.NextReadAt = m.ev.At
	}
	if s.ChangedInFlight {
		m.doubtContent(s)
	}
}

// rejected applies the lock's answer that the operation did not take effect and never will. It stores the final refusal of a new code. A
// removal and a transient error are retried. If the lock may have refused the PIN because of an earlier attempt of this bridge, the slot is
// instead cleared once and set again.
func (m *machine) rejected(s *Slot, op Op) {
	code := m.ev.Result
	doubtful := op.Replace && s.Content.Kind != Own
	switch {
	case op.Kind == OpSet && (code == Duplicate || code == Occupied) && doubtful && !s.ClearedOnce:
		// The lock may compare the PIN with an earlier attempt of this bridge: clear the slot, then set it.
		s.ClearedOnce, s.Content = true, Content{Kind: Uncertain}
		return
	case op.Kind == OpSet && code == Occupied && !op.Replace:
		s.Content, s.OldestGeneration = Content{Kind: Foreign, Evidence: Accepted}, 0
	}
	if (op.Kind == OpSet || !m.rules.enforces(removalNeverGivenUp)) && code.Final() && (op.Generation == s.Desired.Generation || !m.rules.enforces(refusalMatchesGeneration)) {
		s.Refusal, s.RefusedRule = code, m.ev.Rule
		return
	}
	m.scheduleRetry(s, op)
}

// scheduleRetry schedules the next attempt of a failed operation, after a wait that grows. It does nothing if the
// desired state has changed since, because the new state starts without a wait.
func (m *machine) scheduleRetry(s *Slot, op Op) {
	if op.Generation != s.Desired.Generation {
		return
	}
	kind := op.Kind
	if kind == OpSet && m.closesWindow(s, m.targetOf(s)) {
		kind = OpClear
	}
	wait := max(m.rules.retryAfter(kind, s.Attempts), m.ev.RetryAfter)
	s.LastResult, s.RetryAt, s.RetryOf, s.ReadSinceChange = m.ev.Result, m.ev.At.Add(wait), op.Kind, false
	s.Attempts = min(s.Attempts+1, m.rules.maxAttempts)
}

// applyReading corrects what the bridge believes about a slot by the result of a read. After a failed read it only
// schedules the next one.
func (m *machine) applyReading(s *Slot) {
	if m.ev.Result != OK {
		m.readFailed(s)
		return
	}
	s.NextReadAt, s.ReadSinceChange = time.Time{}, true
	was := s.Content
	defer func() {
		if s.Content.Kind != was.Kind {
			s.OldestGeneration = 0 // the lock does not hold what the bridge wrote
		}
	}()
	switch {
	case was.Kind == Own && !m.rules.enforces(readingTrusted):
		s.Content.Evidence = Verified
	case !m.ev.Present && was.Kind == Own:
		s.Content = Content{Kind: Empty, Evidence: Verified}
		m.reportDrift(s)
	case !m.ev.Present:
		s.Content = Content{Kind: Empty, Evidence: Verified}
	case was.Kind == Unknown:
		s.Content = Content{Kind: Foreign, Evidence: Verified}
		if s.Desired.MayHoldOwn {
			s.Content = Content{Kind: Uncertain}
		}
	case was.Kind == Own && (m.ev.PIN == "" || m.ev.PIN == was.PIN):
		s.Content.Evidence = Verified
		if m.rules.readEvery > 0 {
			s.NextReadAt = m.ev.At.Add(m.rules.readEvery)
		}
	case was.Kind == Own:
		s.Content = Content{Kind: Uncertain}
		m.reportDrift(s)
	case was.Kind == Empty && was.Evidence == Accepted: // the lock acknowledged the removal but did not remove the credential
		s.Content = Content{Kind: Uncertain}
	case was.Kind == Empty:
		s.Content = Content{Kind: Foreign, Evidence: Verified}
		m.reportDrift(s)
	}
	s.LastResult = ""
}

// readFailed schedules the next read of a slot after a failed read. If the lock does not support the read, a slot whose content is known
// counts as read.
func (m *machine) readFailed(s *Slot) {
	switch {
	case m.ev.Result == Unsupported && s.Content.Kind != Unknown:
		s.NextReadAt, s.ReadSinceChange = time.Time{}, true
	case s.Content.Kind == Own && !m.targetOf(s).isReached(s): // the slot needs a write by now, which does not wait for a check
	case s.Content.Kind == Unknown, !m.targetOf(s).isReached(s): // the slot is read before a write: retry with a delay, so that the radio rests
		m.scheduleRetry(s, Op{Kind: OpRead, Generation: s.Desired.Generation})
		if !s.NextReadAt.IsZero() && s.NextReadAt.Before(s.RetryAt) { // the read that is due without a write also waits until RetryAt
			s.NextReadAt = s.RetryAt
		}
	default:
		wait := m.rules.readRetry
		if m.ev.Result == Busy { // nothing was sent to the lock, so an early retry costs no battery
			wait = min(wait, m.rules.retryFirst)
		}
		s.NextReadAt = m.ev.At.Add(max(wait, m.ev.RetryAfter))
	}
}

// reportDrift adds an action to record that a slot was changed by something other than the bridge.
func (m *machine) reportDrift(s *Slot) {
	m.actions = append(m.actions, Action{Kind: ReportDrift, Slot: s.Number, Observed: s.Observed})
}
