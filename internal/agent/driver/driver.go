// Package driver is what a bridge asks of the software that talks to locks. A driver translates; it
// decides nothing, keeps no plans and repeats nothing.
package driver

import (
	"context"
	"time"

	"latchkey.dev/internal/lock/slot"
)

// Driver knows some locks.
type Driver interface {
	// Locks finds the locks. It is called once, before anything else.
	Locks(ctx context.Context) ([]Lock, error)
	// Events tells what happens at the locks; each value is read soon. The channel is never closed.
	Events() <-chan Event
	// Close ends whatever the driver runs. Calls under way have ended by then.
	Close() error
}

// Changing is a driver that notices when it knows other locks than it returned.
type Changing interface {
	// Changes signals it.
	Changes() <-chan struct{}
}

// Remote is a driver that reaches its locks through another program, such as an MQTT broker. Its locks are not known
// before that program answers, so Locks of a Remote driver may be called again after an error.
type Remote interface {
	// Connection says how the connection to that program is.
	Connection() Connection
	// Updates signals that the connection, or the status of a lock, may have changed.
	Updates() <-chan struct{}
}

// Connection is a driver's connection to the program through which it reaches its locks.
type Connection struct {
	Peer   string    // the program and its address, for people
	Cause  string    // why no lock can be reached: slot.BrokerUnreachable or slot.GatewayOffline; empty: connected
	Detail string    // the cause, for people
	Since  time.Time // when the connection came, or the cause began
}

// Lock is one lock. The bridge makes at most one call at a time to a lock, and to the locks of one
// radio.
//
// Set, Clear and Read end at the context's deadline at the latest. What a call started can take
// effect on the lock no later than Capabilities().Lifetime() after the call began, whatever the
// answer; after an answer for which Result.MayLand is false it can no longer take effect at all.
type Lock interface {
	// Address names the lock on this bridge, for ever.
	Address() string
	// Radio names what the lock shares with others that can carry one call at a time.
	Radio() string
	// Model is the maker and model, for people.
	Model() string
	// Capabilities do not change while the bridge runs.
	Capabilities() slot.Capabilities
	// Set puts a PIN into a slot.
	Set(ctx context.Context, s Setting) Answer
	// Clear empties a slot. An empty slot is cleared successfully.
	Clear(ctx context.Context, number uint32) Answer
	// Read looks into a slot.
	Read(ctx context.Context, number uint32) (Content, Answer)
	// Unlock opens the door once, or not at all after the context's deadline.
	Unlock(ctx context.Context) Answer
	// SetLockout has the lock refuse every PIN for a while after wrong ones, and returns what the lock
	// shows of it when read back. A lock that keeps it already is only read. Unsupported, unless
	// Capabilities().Lockout is settable.
	SetLockout(ctx context.Context, l slot.Lockout) (slot.Lockout, Answer)
	// PauseKeypad has the keypad refuse every PIN for a time. The lock itself ends the pause, also when
	// the bridge has died: a driver whose lock cannot do that answers Unsupported and does not claim
	// Capabilities().KeypadPause. Slots are not written. The door still opens from inside, by Unlock, and
	// by anything but the keypad.
	PauseKeypad(ctx context.Context, d time.Duration) Answer
	// Status tells how the lock does, without waking it if it sleeps.
	Status(ctx context.Context) (Status, error)
}

// Setting is a PIN for a slot.
type Setting struct {
	Slot uint32
	PIN  slot.PIN
	// NotBefore and NotAfter are zero unless the lock keeps windows by itself. They are by the lock's
	// own clock, as far as Status tells how it differs from ours.
	NotBefore, NotAfter time.Time
	// Replace says that what is in the slot may be an older code of ours. Without it an occupied
	// slot is answered with Occupied and left alone, where the lock can tell.
	Replace bool
}

// Answer is how a call ended.
type Answer struct {
	Result     slot.Result
	Rule       string        // with InvalidFormat: the lock's rule that was broken
	RetryAfter time.Duration // with Busy, if the lock said so
	Unsent     bool          // the lock never heard of the call and never will
}

// Content is what a slot shows. A driver shows a code that is there but does not open as a PIN that
// no keypad can type.
type Content struct {
	Present bool
	PIN     slot.PIN // empty unless the lock shows PINs
}

// Status is how a lock does. Zero times and nil numbers are not known.
type Status struct {
	Bolt              string // locked, unlocked, notFullyLocked, jammed, unknown
	Door              string // open, closed, unknown
	BatteryPercent    *uint32
	BatteryObservedAt time.Time
	Online            bool
	RSSI              *int32
	LastSeenAt        time.Time
	ClockOffset       *time.Duration // the lock's clock minus ours
	ClockObservedAt   time.Time
	Firmware          string
	Name              string // what people call the lock, where the driver knows; it may change
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
	SlotChanged    = "slotChanged" // somebody changed a slot at the lock, any if Slot is 0; stays on the bridge
)

// WrongPIN is the reason of a denial for a PIN that no slot holds.
const WrongPIN = "wrongPin"

// Event happened at a lock.
type Event struct {
	Address string
	Kind    string
	Slot    uint32 // 0: not known
	Reason  string // why it was denied
	At      time.Time
}
