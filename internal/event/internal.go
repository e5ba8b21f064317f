package event

import "slices"

// Kinds that tell of steps inside the service: they explain a stay and are no business of webhooks. Their subject is
// [Inside] of what they are about, so that the numbers of a subject that partners see have no gaps.
const (
	ReservationChanged Kind = "reservation.changed" // a change by the PMS that touches access
	CredentialChanged  Kind = "credential.changed"  // more, or less, is known of a code on a lock
	LockOnline         Kind = "lock.online"         // after a lock.offline

	LockBatteryOK      Kind = "lock.batteryOk"      // after a lock.batteryLow
	LockClockUntrusted Kind = "lock.clockUntrusted" // so wrong that it keeps no windows
	LockClockOK        Kind = "lock.clockOk"
	LockMoved          Kind = "lock.moved"      // it was put on a door, or taken off one
	SlotReassigned     Kind = "slot.reassigned" // a slot of a lock was given to another grant
	BridgeOffline      Kind = "bridge.offline"
	BridgeOnline       Kind = "bridge.online"

	GuessesAtLock Kind = "lock.guessBudgetSpent" // wrong PINs at one keypad
	GuessesAtSite Kind = "site.guessBudgetSpent" // and at all of a property
	KeypadPaused  Kind = "lock.keypadPaused"     // after wrong PINs, by its bridge

	CodeCreated Kind = "code.created" // a code of staff, for one use, or a backup
	CodeUsed    Kind = "code.used"    // it opened a door, the first time
	CodeRead    Kind = "code.read"    // its PIN was shown to somebody
	CodeEnded   Kind = "code.ended"   // by a person
)

var internal = []Kind{
	ReservationChanged, CredentialChanged, LockOnline, LockBatteryOK, LockClockUntrusted, LockClockOK, LockMoved, SlotReassigned, BridgeOffline, BridgeOnline,
	GuessesAtLock, GuessesAtSite, KeypadPaused, CodeCreated, CodeUsed, CodeRead, CodeEnded,
}

// Internal says that the kind is not for webhooks: its events count as delivered from the beginning.
func (k Kind) Internal() bool { return slices.Contains(internal, k) }

// Inside is the subject of internal events about something with an id.
func Inside(id string) string { return "in:" + id }
