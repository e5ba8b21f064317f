package slot

import (
	"cmp"
	"slices"
	"time"
)

// ContentKind says what the bridge believes that a slot of the lock holds.
type ContentKind uint8

// The kinds of content.
const (
	Unknown ContentKind = iota // this bridge has neither read nor written the slot
	Empty
	Ours      // exactly Content.PIN with the window of Content
	Uncertain // a Latchkey credential or nothing: an operation may have taken effect
	Foreign   // a credential that is not ours; the bridge never changes it
)

// Content is what the bridge believes that a slot holds.
type Content struct {
	Kind      ContentKind
	PIN       PIN // set when Ours
	NotBefore time.Time
	NotAfter  time.Time
	Evidence  Evidence // Accepted or Verified when Ours or Empty
}

// Slot is the bridge's durable record of one slot. It is comparable, so that the bridge stores a record only if it changed.
type Slot struct {
	Number           uint32
	Desired          Desired
	Content          Content
	Observed         Observed // the last report to the server
	Refusal          Result   // the lock's final refusal of Desired: the bridge tries again only for the next generation
	RefusedRule      string   // the lock's rule that the PIN breaks, if Refusal is InvalidFormat
	LastResult       Result   // the last transient answer for Desired
	Attempts         uint8    // transient answers in a row, saturating
	RetryAt          time.Time
	NextReadAt       time.Time // when to read back; zero: never
	ClearedOnce      bool      // the slot was cleared because Duplicate or Occupied may have meant an earlier attempt of this bridge
	ReadSinceChange  bool      // the slot was read since Desired changed or an attempt failed
	UsedOneTimeID    string    // the OneTimeID of the code that was used here or on another lock
	ChangedInFlight  bool      // the slot was changed at the lock while a write to it was in flight
	ManualChanges    uint8     // changes at the lock since Desired changed, saturating
	TimesOvertaken   uint8     // operations on other slots that started while this slot was ready
	OldestGeneration uint64    // the oldest generation whose credential may be on the lock; 0: none, or not known
}

// OpKind is a radio operation.
type OpKind string

// The operations.
const (
	OpSet   OpKind = "set"
	OpClear OpKind = "clear"
	OpRead  OpKind = "read"
)

// Op is the operation in flight. The bridge stores it before it sends anything to the lock.
type Op struct {
	Kind       OpKind // "" when none is in flight
	Seq        uint64
	Slot       uint32
	Generation uint64
	PIN        PIN
	NotBefore  time.Time // zero unless the lock keeps the window itself
	NotAfter   time.Time
	Replace    bool      // the slot may hold an older Latchkey credential, which this one replaces
	ExpiresAt  time.Time // from then on the operation can no longer take effect
}

// Lock is the bridge's durable record of one lock. Slots are sorted by number.
type Lock struct {
	Caps  Capabilities
	Slots []Slot
	Op    Op
	Seq   uint64    // number of the last operation
	Fence time.Time // no operation starts before it, because an earlier one may still take effect; zero: no fence
}

// NewLock returns the record of a lock that is new to this bridge. Another bridge may have driven it, so the first operation waits
// until the last one of that bridge can no longer take effect.
func NewLock(caps Capabilities, at time.Time) Lock { return newLockWith(caps, at, production) }

func newLockWith(caps Capabilities, at time.Time, r rules) Lock {
	if !r.enforces(newLockFence) {
		return Lock{Caps: caps}
	}
	return Lock{Caps: caps, Fence: at.Add(caps.Lifetime())}
}

// Slot returns a slot's record.
func (l Lock) Slot(number uint32) (Slot, bool) {
	i, ok := l.find(number)
	if !ok {
		return Slot{}, false
	}
	return l.Slots[i], true
}

// TypedGeneration returns the generation of the credential in a slot that opened the door; 0: not known. Until the slot is known to
// hold the desired credential, this is the oldest generation that may be on the lock. All that may be there belong to one grant,
// because a slot is empty between two grants.
func (l Lock) TypedGeneration(number uint32) uint64 {
	s, _ := l.Slot(number)
	writing := l.Op.Kind == OpSet && l.Op.Slot == number
	switch o := s.Observed; {
	case o.Present && (o.Evidence.Confirmed() || o.Window > 0):
		return o.Generation
	case s.Content.Kind == Ours, s.Content.Kind == Uncertain, writing:
		return s.OldestGeneration
	}
	return 0
}

func (l Lock) find(number uint32) (int, bool) {
	return slices.BinarySearchFunc(l.Slots, number, func(s Slot, n uint32) int { return cmp.Compare(s.Number, n) })
}

// DigestRows returns the bridge's input of [LockDigest].
func (l Lock) DigestRows() []DigestRow {
	rows := make([]DigestRow, 0, len(l.Slots))
	for _, s := range l.Slots {
		if s.Desired.Generation > 0 {
			rows = append(rows, DigestRow{Slot: s.Number, Generation: s.Desired.Generation, Observed: s.Observed})
		}
	}
	return rows
}

// EventKind says what happened to a lock or its bridge.
type EventKind uint8

// The events.
const (
	DesiredChanged    EventKind = iota + 1 // the server sent Desired for Slot
	Answered                               // the driver answered operation Seq with Result
	TimePassed                             // the time that WakeAt asked for has come
	Restarted                              // the bridge started and loaded this record
	ReadRequested                          // Slot may have changed: read it again if the lock can be read
	CodeUsed                               // the code in Slot opened the door
	CodeUsedElsewhere                      // the code OneTimeID was used on another lock
	ChangedAtLock                          // the lock reports that Slot was changed at the lock itself
)

// Event is the input of [Step]. At never goes back within one run of a bridge; Restarted corrects the times of a record if the clock
// went back between two runs.
type Event struct {
	Kind EventKind
	At   time.Time
	// ClockError bounds how wrong At may be. Windows open later and close earlier by it.
	ClockError time.Duration

	Slot      uint32
	Desired   Desired
	OneTimeID string // the code that was used; with DesiredChanged, if the code of Desired is known to be used already

	Seq        uint64
	Result     Result
	Rule       string        // with InvalidFormat
	RetryAfter time.Duration // with Busy, if the lock names a time
	Present    bool          // of a read: the slot holds a credential
	PIN        PIN           // of a read, if the lock shows PINs
}

// ActionKind says what Step asks the bridge to do.
type ActionKind uint8

// The actions. The bridge stores the state before it carries out an action.
const (
	StartOp        ActionKind = iota + 1 // carry out Op; answer with Answered before Op.Until
	ReportObserved                       // report Observed for Slot
	ReportDrift                          // Slot changed without us: an event for the audit trail
	WakeAt                               // send Ticked at At
)

// Action is one thing to do.
type Action struct {
	Kind     ActionKind
	Op       Op
	Slot     uint32
	Observed Observed
	At       time.Time
}
