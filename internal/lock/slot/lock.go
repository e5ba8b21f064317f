package slot

import (
	"cmp"
	"slices"
	"time"
)

// Holding is what the bridge believes a slot of the lock holds.
type ContentKind uint8

// The holdings.
const (
	Unknown ContentKind = iota // never read, never written by this bridge
	Empty
	Ours      // exactly Held.PIN with Held's window
	Uncertain // ours or empty: an operation may have taken effect
	Foreign   // a credential that is not ours: never touched
)

// Held is the bridge's belief about a slot's content.
type Content struct {
	Kind      ContentKind
	PIN       PIN // set when Ours
	NotBefore time.Time
	NotAfter  time.Time
	Evidence  Evidence // Accepted or Verified when Ours or Empty
}

// Slot is the bridge's durable record of one slot. It is comparable: a changed record is one that
// has to be stored.
type Slot struct {
	Number           uint32
	Desired          Desired
	Content          Content
	Observed         Observed // what was last reported
	Refusal          Result   // final refusal of Desired; no new attempt until the generation changes
	RefusedRule      string   // which rule, when Refused is InvalidFormat
	LastResult       Result   // the last transient answer for Desired
	Attempts         uint8    // transient answers in a row, saturating
	RetryAt          time.Time
	NextReadAt       time.Time // when to read back; zero is never
	ClearedOnce      bool      // a slot that answered Duplicate or Occupied after doubt was cleared once
	ReadSinceChange  bool      // the slot was read since Desired came or an attempt failed
	UsedOneTimeID    string    // the code for one use that was used here, or on another lock; Desired.Once of then
	ChangedInFlight  bool      // somebody changed the slot while a write to it was in flight
	ManualChanges    uint8     // changes at the lock since Desired came, saturating
	TimesOvertaken   uint8     // operations on other slots that went first while this one was ready
	OldestGeneration uint64    // the oldest generation of ours whose credential may be there; 0: none, or not known
}

// OpKind is a radio operation.
type OpKind string

// The operations.
const (
	OpSet   OpKind = "set"
	OpClear OpKind = "clear"
	OpRead  OpKind = "read"
)

// Op is the operation in flight, stored before the radio hears of it.
type Op struct {
	Kind       OpKind // "" when none is in flight
	Seq        uint64
	Slot       uint32
	Generation uint64
	PIN        PIN
	NotBefore  time.Time // zero unless the lock keeps the window itself
	NotAfter   time.Time
	Replace    bool      // the slot may hold an older credential of ours
	ExpiresAt  time.Time // from here on it can no longer take effect
}

// Lock is the bridge's durable record of one lock. Slots are sorted by number.
type Lock struct {
	Caps  Capabilities
	Slots []Slot
	Op    Op
	Seq   uint64    // of the last operation
	Fence time.Time // no write starts before; zero is none
}

// New is the record of a lock that this bridge has never driven. Another bridge may have, so the
// first write waits until that one's last operation can no longer land.
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

// Typed is the generation that a credential belongs to with which the door was opened from a slot; 0: not known. As long as
// the slot is not known to hold the desired one, it is the oldest that may be there: it belongs to the grant of all of them,
// since a slot is empty between two grants.
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

// Rows is the bridge's side of LockDigest.
func (l Lock) DigestRows() []DigestRow {
	rows := make([]DigestRow, 0, len(l.Slots))
	for _, s := range l.Slots {
		if s.Desired.Generation > 0 {
			rows = append(rows, DigestRow{Slot: s.Number, Generation: s.Desired.Generation, Observed: s.Observed})
		}
	}
	return rows
}

// EventKind is something that happened to a lock or its bridge.
type EventKind uint8

// The events.
const (
	DesiredChanged    EventKind = iota + 1 // Desired arrived for Slot
	Answered                               // the driver answered operation Seq with Result
	TimePassed                             // time passed
	Restarted                              // the bridge started and loaded this record
	ReadRequested                          // Slot may have changed: read it again, where it can be read
	CodeUsed                               // the code in Slot opened the door
	CodeUsedElsewhere                      // Code was used on another lock
	ChangedAtLock                          // the lock reports that somebody changed Slot at the lock itself
)

// Event moves a Lock. At never goes back within one run of a bridge; Booted makes good for a clock
// that went back between two runs.
type Event struct {
	Kind EventKind
	At   time.Time
	// ClockError bounds how wrong At may be. It is counted against us: windows open later and
	// close earlier by it.
	ClockError time.Duration

	Slot      uint32
	Desired   Desired
	OneTimeID string // Desired.Once of the code that was used; with Wanted, if Desired is known to be such a one

	Seq        uint64
	Result     Result
	Rule       string        // with InvalidFormat
	RetryAfter time.Duration // with Busy, if the lock said so
	Present    bool          // answer to a read
	PIN        PIN           // answer to a read, if the lock shows it
}

// ActionKind is something Step asks the bridge to do.
type ActionKind uint8

// The actions. All state must be stored before an action is carried out.
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
