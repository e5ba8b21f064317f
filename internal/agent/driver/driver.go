// Package driver defines the interface between a bridge and the software that talks to locks. A driver translates calls; it makes no
// decisions, stores no plans and retries nothing.
package driver

import (
	"context"
	"time"

	"latchkey.dev/internal/lock/slot"
)

// Driver gives access to some locks.
type Driver interface {
	// Locks returns the locks. It is called first, once.
	Locks(ctx context.Context) ([]Lock, error)
	// Events returns the events of the locks. The bridge reads them quickly; the channel is never closed.
	Events() <-chan Event
	// Close stops the driver. All calls have ended by then.
	Close() error
}

// Changing is a driver that notices when its list of locks changes.
type Changing interface {
	// Changes signals that the list differs from what Locks returned.
	Changes() <-chan struct{}
}

// Remote is a driver that reaches its locks through another program, such as an MQTT broker. It knows its locks only once that program
// answers, so Locks may be called again after an error.
type Remote interface {
	// Connection returns the state of the connection to that program.
	Connection() Connection
	// Updates signals that the connection, or the status of a lock, may have changed.
	Updates() <-chan struct{}
}

// Connection is a driver's connection to the program through which it reaches its locks.
type Connection struct {
	Peer   string    // the program and its address, for display
	Cause  string    // why no lock can be reached: slot.BrokerUnreachable or slot.GatewayOffline; empty: connected
	Detail string    // describes the cause, for display
	Since  time.Time // when the connection was made or the cause began
}

// Lock is one lock. The bridge makes at most one call at a time to a lock, and to all locks of one radio.
//
// Set, Clear and Read return at the context's deadline at the latest. A call cannot take effect on the lock later than
// Capabilities().Lifetime() after it began, whatever its answer; after an answer for which Result.MayTakeEffect is false it cannot take
// effect at all.
type Lock interface {
	// Address is the permanent name of the lock on this bridge.
	Address() string
	// Radio is the id of the radio channel of the lock. Locks with the same id share a channel, which carries one call at a time.
	Radio() string
	// Model is the maker and model, for display.
	Model() string
	// Capabilities do not change while the bridge runs.
	Capabilities() slot.Capabilities
	// Set stores a PIN in a slot.
	Set(ctx context.Context, s Setting) Answer
	// Clear empties a slot. It succeeds for an empty slot.
	Clear(ctx context.Context, number uint32) Answer
	// Read reads a slot.
	Read(ctx context.Context, number uint32) (Content, Answer)
	// Unlock opens the door once, or not at all after the context's deadline.
	Unlock(ctx context.Context) Answer
	// SetLockout makes the lock refuse every PIN for a while after wrong ones, and returns the lockout as read back. A lockout that is
	// already set is only read. It returns Unsupported unless Capabilities().Lockout is settable.
	SetLockout(ctx context.Context, l slot.Lockout) (slot.Lockout, Answer)
	// PauseKeypad makes the keypad refuse every PIN for a time. The lock itself must end the pause, even if the bridge crashes:
	// otherwise the driver returns Unsupported and does not set Capabilities().KeypadPause. It does not write slots. The door still
	// opens from inside, by Unlock, and by everything but the keypad.
	PauseKeypad(ctx context.Context, d time.Duration) Answer
	// Status returns the lock's status without waking a sleeping lock.
	Status(ctx context.Context) (Status, error)
}

// Setting is a PIN for a slot.
type Setting struct {
	Slot uint32
	PIN  slot.PIN
	// NotBefore and NotAfter are zero unless the lock enforces windows by itself. They are in the time of the lock's own clock.
	NotBefore, NotAfter time.Time
	// Replace means that the slot may hold an older code of the service. Without it, an occupied slot is left unchanged and answered
	// with Occupied, if the lock can tell.
	Replace bool
}

// Answer is the result of a call.
type Answer struct {
	Result     slot.Result
	Rule       string        // with InvalidFormat: the lock's rule that the PIN breaks
	RetryAfter time.Duration // with Busy, if the lock reported it
	Unsent     bool          // the lock has not received the call and never will
}

// Content is what a slot holds. For a code that does not open, a driver returns a PIN that no keypad can type.
type Content struct {
	Present bool
	PIN     slot.PIN // empty unless the lock shows PINs
}

// Status is the state of a lock. Zero times and nil numbers are unknown.
type Status struct {
	Bolt              string // locked, unlocked, notFullyLocked, jammed, unknown
	Door              string // open, closed, unknown
	BatteryPercent    *uint32
	BatteryObservedAt time.Time
	Online            bool
	RSSI              *int32
	LastSeenAt        time.Time
	ClockOffset       *time.Duration // the lock's clock minus this machine's
	ClockObservedAt   time.Time
	Firmware          string
	Name              string // the lock's display name, if the driver knows one; it may change
	OfflineCause      string // with Online false: the driver's Connection.Cause; empty: the lock itself is offline
}

// The kinds of event.
const (
	Opened         = "opened"
	Denied         = "denied"
	LockedByHand   = "lockedByHand"
	UnlockedByHand = "unlockedByHand"
	Jammed         = "jammed"
	DoorOpened     = "doorOpened"
	DoorClosed     = "doorClosed"
	BatteryLow     = "batteryLow"
	Tampered       = "tampered"
	KeypadPaused   = "keypadPaused"
	SlotChanged    = "slotChanged" // a slot was changed at the lock, any if Slot is 0; not reported to the service
)

// WrongPIN is the reason of a denial for a PIN that no slot holds.
const WrongPIN = "wrongPin"

// Event is something that happened at a lock.
type Event struct {
	Address string
	Kind    string
	Slot    uint32 // 0: unknown
	Reason  string // why it was denied
	At      time.Time
}
