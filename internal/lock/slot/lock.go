package slot

import (
	"cmp"
	"slices"
	"time"
)

// ContentKind is the kind of content that the bridge believes to be in a slot.
type ContentKind uint8

const (
	Unknown ContentKind = iota // this bridge has neither read nor written the slot
	Empty
	Own       // the slot holds exactly Content.PIN with the window of Content
	Uncertain // the slot may hold a Latchkey credential: an operation may have taken effect, or the slot was changed at the lock
	Foreign   // the slot holds a credential that Latchkey did not set, and that the bridge never changes
)

// Content is what the bridge believes that a slot holds.
type Content struct {
	Kind      ContentKind
	PIN       PIN // PIN is set if Kind is Own
	NotBefore time.Time
	NotAfter  time.Time
	Evidence  Evidence // Evidence is Accepted or Verified if Kind is Own, Empty or Foreign; else empty
}

// Slot is the bridge's durable record of one slot. The type is comparable, so that the bridge stores a record only if
// it changed.
type Slot struct {
	Number           uint32
	Desired          Desired
	Content          Content
	Observed         Observed // Observed is the last report to the server
	Refusal          Result   // Refusal is the lock's final refusal of Desired; the bridge retries only for the next generation
	RefusedRule      string   // RefusedRule is the lock's rule that the PIN breaks, if Refusal is InvalidFormat
	LastResult       Result   // LastResult is the last transient error for Desired; empty if there was none
	Attempts         uint8    // Attempts counts transient errors in a row; from maxAttempts of the rules it grows no more, and the retries go on
	RetryAt          time.Time
	RetryOf          OpKind    // RetryOf is the kind of the operation that failed and waits until RetryAt; empty if it is not known
	NextReadAt       time.Time // NextReadAt is when to read the slot back; zero means never
	ClearedOnce      bool      // ClearedOnce means that a Duplicate or Occupied answer to Desired may have meant an earlier attempt, so the bridge clears the slot first; the next such answer is final
	ReadSinceChange  bool      // ReadSinceChange means that the slot was read since Desired changed or an attempt failed
	UsedOneTimeID    string    // UsedOneTimeID is the OneTimeID of the one-time code that was used, here or on another lock
	ChangedInFlight  bool      // ChangedInFlight means that the slot was changed at the lock while a write to it was in flight
	ManualChanges    uint8     // ManualChanges counts the changes at the lock that made Content uncertain since Desired changed, up to maxAttempts of the rules
	TimesOvertaken   uint8     // TimesOvertaken counts operations on other slots that started while this slot was ready for one, up to maxOvertaken of the rules
	OldestGeneration uint64    // OldestGeneration is the oldest generation whose credential may be on the lock; 0 if there is none or it is not known
}

// OpKind is the kind of a radio operation: set, clear or read a slot.
type OpKind string

const (
	OpSet   OpKind = "set"
	OpClear OpKind = "clear"
	OpRead  OpKind = "read"
)

// Op is the operation in flight. The bridge stores it before it sends anything to the lock, so that a restart does
// not forget it.
type Op struct {
	Kind       OpKind // Kind is empty when no operation is in flight
	Seq        uint64 // Seq is the number of the operation among all on the lock, from 1
	Slot       uint32
	Generation uint64
	PIN        PIN
	NotBefore  time.Time // NotBefore is zero unless the lock itself enforces the window
	NotAfter   time.Time
	Replace    bool      // Replace means that the slot may hold an older Latchkey credential that this operation may overwrite; false: it overwrites none
	ExpiresAt  time.Time // ExpiresAt is when the operation can no longer take effect
}

// Lock is the bridge's durable record of one lock. Slots are sorted by number.
type Lock struct {
	Caps  Capabilities
	Slots []Slot
	Op    Op
	Seq   uint64    // Seq is the number of the last operation on the lock; 0 before the first
	Fence time.Time // Fence is the time before which no operation starts, because an earlier one may still take effect; zero if there is none
}

// NewLock returns the record of a lock that is new to this bridge at a time. Another bridge may have driven the lock,
// so the first operation waits until the last operation of that bridge can no longer take effect.
func NewLock(caps Capabilities, at time.Time) Lock { return newLockWith(caps, at, production) }

// newLockWith is [NewLock] under the given rules. Tests pass other rules than those of production.
func newLockWith(caps Capabilities, at time.Time, r rules) Lock {
	if !r.enforces(newLockFence) {
		return Lock{Caps: caps}
	}
	return Lock{Caps: caps, Fence: at.Add(caps.Lifetime())}
}

// Slot returns the record of a slot, or false if the bridge has none.
func (l Lock) Slot(number uint32) (Slot, bool) {
	i, ok := l.find(number)
	if !ok {
		return Slot{}, false
	}
	return l.Slots[i], true
}

// TypedGeneration returns the generation of the credential in a slot that opened the door, or 0 if it is not known. Until the slot is
// confirmed to hold the desired credential, this is the oldest generation that may be on the lock. All credentials that may be on it belong
// to one grant, because a slot is emptied between two grants.
func (l Lock) TypedGeneration(number uint32) uint64 {
	s, _ := l.Slot(number)
	writing := l.Op.Kind == OpSet && l.Op.Slot == number
	switch o := s.Observed; {
	case o.Present && o.Evidence.ConfirmedByLock():
		return o.Generation
	case s.Content.Kind == Own, s.Content.Kind == Uncertain, writing:
		return s.OldestGeneration
	}
	return 0
}

// find returns the index of a slot's record in Slots, or the index at which to insert it and false.
func (l Lock) find(number uint32) (int, bool) {
	return slices.BinarySearchFunc(l.Slots, number, func(s Slot, n uint32) int { return cmp.Compare(s.Number, n) })
}

// DigestRows returns the rows that the bridge passes to [LockDigest]: the slots with a state that the server desires.
func (l Lock) DigestRows() []DigestRow {
	rows := make([]DigestRow, 0, len(l.Slots))
	for _, s := range l.Slots {
		if s.Desired.Generation > 0 {
			rows = append(rows, DigestRow{Slot: s.Number, Generation: s.Desired.Generation, Observed: s.Observed})
		}
	}
	return rows
}

// EventKind is the kind of an [Event], the input of [Step].
type EventKind uint8

const (
	DesiredChanged    EventKind = iota + 1 // the server sent the desired state of a slot
	Answered                               // the driver answered the operation Seq with Result
	TimePassed                             // the time requested by WakeAt has come
	Restarted                              // the bridge started and loaded this record
	ReadRequested                          // the slot may have changed: read it again if the lock can be read
	CodeUsed                               // the lock reports that the code in the slot opened the door, perhaps long ago
	CodeUsedElsewhere                      // the one-time code OneTimeID was used on another lock
	ChangedAtLock                          // the lock reports that the slot was changed at the lock itself
)

// Event is the input of [Step]. At must not decrease within one run of a bridge. If the clock went back between two
// runs, Restarted corrects the times of a record.
type Event struct {
	Kind EventKind
	At   time.Time
	// ClockError bounds the error of At. Windows open later and close earlier by it.
	ClockError time.Duration

	Slot      uint32
	Desired   Desired
	OneTimeID string // OneTimeID is the one-time code that was used; with DesiredChanged it is set if the desired code was used already

	Seq        uint64
	Result     Result
	Rule       string        // Rule is set if Result is InvalidFormat
	RetryAfter time.Duration // RetryAfter is set if Result is Busy and the lock names a time
	Present    bool          // Present is the result of a read: the slot holds a credential
	PIN        PIN           // PIN is the result of a read, if the lock shows PINs
}

// ActionKind is the kind of an [Action] that Step asks the bridge to do.
type ActionKind uint8

// The kinds of actions. The bridge stores the new state of the lock before it carries out one.
const (
	StartOp        ActionKind = iota + 1 // carry out Op, and send Answered before Op expires
	ReportObserved                       // report Observed of the slot to the server
	ReportDrift                          // record in the audit trail that a slot was changed by something other than the bridge
	WakeAt                               // send TimePassed at At
)

// Action is one thing that Step asks the bridge to do. Kind decides which fields are set.
type Action struct {
	Kind     ActionKind
	Op       Op
	Slot     uint32
	Observed Observed
	At       time.Time
}
