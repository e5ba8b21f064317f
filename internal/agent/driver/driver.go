// Package driver defines the interface between a bridge and the drivers of locks. A driver only translates calls: it makes no decisions,
// stores no plans and does not retry.
package driver

import (
	"context"
	"time"

	"latchkey.dev/internal/lock/slot"
)

// Driver gives a bridge access to locks.
type Driver interface {
	// Locks returns the locks, perhaps none. It is called before Events, and only once unless the driver is a [Remote].
	Locks(ctx context.Context) ([]Lock, error)
	// Events returns the channel of lock events. The bridge reads it quickly. The driver never closes it.
	Events() <-chan Event
	// Close stops the driver. No call to its locks may be running.
	Close() error
}

// Changing is a driver that can notice changes of its list of locks. The bridge reads the list of any other driver only at its start.
type Changing interface {
	// Changes signals that the list of locks differs from what Locks returned. The bridge then ends, and is opened again with a new driver.
	Changes() <-chan struct{}
}

// Remote is a driver that reaches its locks through another program, such as an MQTT broker. It knows its locks only once that program
// answers: Locks is called again after an error, and Connection may be called before Locks.
type Remote interface {
	// Connection returns the state of the connection to the other program.
	Connection() Connection
	// Updates signals that the connection, or the status of a lock, may have changed.
	Updates() <-chan struct{}
}

// Connection is a driver's connection to the program through which it reaches its locks.
type Connection struct {
	Peer   string    // Peer is the program and its address, for display
	Cause  string    // Cause is slot.BrokerUnreachable or slot.GatewayOffline; empty: connected
	Detail string    // Detail describes the cause, for display
	Since  time.Time // Since is when the connection was made or lost
}

// RefusedLogin is the part of a Detail from which the doctor command knows that the other program refused the user or the password.
const RefusedLogin = "refuses our user and password"

// Lock is one lock. The bridge makes at most one call at a time to a lock, and to all locks of one radio. Only Status may run at the same
// time as another call.
//
// Set, Clear and Read return by the context's deadline. A call cannot take effect on the lock later than Capabilities().Lifetime() after it
// began, whatever its answer. After an answer for which Result.MayTakeEffect is false, it cannot take effect at all.
type Lock interface {
	// Address identifies the lock on this bridge permanently.
	Address() string
	// Radio identifies the radio channel of the lock. Locks with the same channel receive one call at a time.
	Radio() string
	// Model is the manufacturer and model, for display.
	Model() string
	// Capabilities returns what the lock can do. It does not change while the bridge runs.
	Capabilities() slot.Capabilities
	// Set stores a PIN in a slot.
	Set(ctx context.Context, s Setting) Answer
	// Clear empties a slot. It succeeds if the slot is already empty.
	Clear(ctx context.Context, number uint32) Answer
	// Read returns what a slot holds. The Content is valid only if the result is OK.
	Read(ctx context.Context, number uint32) (Content, Answer)
	// Unlock opens the door once. It must not open the door after the context's deadline.
	Unlock(ctx context.Context) Answer
	// SetLockout makes the lock refuse all PINs for a time after wrong PINs, and returns the setting as read back. If the lock already has
	// the setting, SetLockout only reads it. It returns Unsupported unless Capabilities().Lockout is settable.
	SetLockout(ctx context.Context, l slot.Lockout) (slot.Lockout, Answer)
	// PauseKeypad makes the keypad refuse all PINs for a time. The lock must end the pause by itself, even if the bridge crashes; otherwise
	// the driver returns Unsupported and does not set Capabilities().KeypadPause. The pause changes no slots. The door still opens from
	// inside, by Unlock, and by everything except the keypad.
	PauseKeypad(ctx context.Context, d time.Duration) Answer
	// Status returns the lock's status without waking a sleeping lock.
	Status(ctx context.Context) (Status, error)
}

// Setting is a PIN for a slot.
type Setting struct {
	Slot uint32
	PIN  slot.PIN
	// NotBefore and NotAfter are set only if the lock enforces validity windows itself. They are times of the lock's own clock.
	NotBefore, NotAfter time.Time
	// Replace allows overwriting an older code of the server. Without Replace, a driver that knows that the slot is in use leaves it
	// unchanged and answers Occupied.
	Replace bool
}

// Answer is the result of a call to a lock.
type Answer struct {
	Result     slot.Result
	Rule       string        // Rule is the rule that the PIN breaks, if the result is InvalidFormat
	RetryAfter time.Duration // RetryAfter is the wait that a busy lock requested; 0: none
	Unsent     bool          // Unsent means that the lock has not received the call and never will
}

// Content is what a slot holds. For a disabled code, the driver returns a PIN that cannot be typed at a keypad.
type Content struct {
	Present bool
	PIN     slot.PIN // PIN is empty unless the lock shows PINs
}

// Status is the state of a lock. Zero times and nil numbers mean unknown.
type Status struct {
	Bolt              string // Bolt is locked, unlocked, notFullyLocked, jammed or unknown
	Door              string // Door is open, closed or unknown
	BatteryPercent    *uint32
	BatteryObservedAt time.Time
	Online            bool
	RSSI              *int32
	LastSeenAt        time.Time
	ClockOffset       *time.Duration // ClockOffset is the lock's clock minus this machine's clock
	ClockObservedAt   time.Time
	Firmware          string
	Name              string // Name is the lock's display name, if the driver knows one; it may change
	OfflineCause      string // OfflineCause is the Connection.Cause that makes the lock offline; empty: online, or the lock itself is offline
}

// Kinds of lock events.
const (
	Opened         = "opened"
	Denied         = "denied"
	LockedByHand   = "lockedByHand"
	UnlockedByHand = "unlockedByHand"
	Jammed         = "jammed"
	DoorOpened     = "doorOpened"
	DoorClosed     = "doorClosed"
	BatteryLow     = "batteryLow"
	BatteryOK      = "batteryOk" // the alarm of a lock that reports no charge has ended
	Tampered       = "tampered"
	KeypadPaused   = "keypadPaused"
	SlotChanged    = "slotChanged" // a slot was changed at the lock itself, any slot if Slot is 0; the server does not receive this event
)

// WrongPIN is the reason of a denied event for a PIN that no slot holds.
const WrongPIN = "wrongPin"

// Event is something that happened at a lock, such as an opening.
type Event struct {
	Address string
	Kind    string
	Slot    uint32 // Slot is the slot of the typed or changed code; 0: unknown or no code, and for SlotChanged any slot
	Reason  string // Reason is why access was denied, how the door was opened or the kind of tampering; empty if not given
	At      time.Time
}

// Signal sends to a channel with a buffer of one, unless the channel is full.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
