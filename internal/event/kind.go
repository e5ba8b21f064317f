package event

import "slices"

// Kind is the kind of an event. Webhooks send its value.
type Kind string

const (
	PINGenerated       Kind = "reservationPinGenerated"
	AccessIssued       Kind = "access.issued"
	AccessUpdated      Kind = "access.updated"
	AccessRemoved      Kind = "access.removed"
	AccessFailed       Kind = "access.failed"       // a lock refused the code, or a guest who is checked in has no door that opens
	CredentialVerified Kind = "credential.verified" // a lock confirmed a guest's code
	DoorOpened         Kind = "door.opened"
	DoorDenied         Kind = "door.denied"
	LockOffline        Kind = "lock.offline"
	LockBatteryLow     Kind = "lock.batteryLow"
	ConflictOpened     Kind = "mapping.conflictOpened"
	ConflictClosed     Kind = "mapping.conflictClosed"
	EndpointFailing    Kind = "endpoint.failing" // an endpoint or a webhook of an integration failed three times in a row

	PreCheckInCompleted Kind = "preCheckIn.completed" // no required answer of the guests is missing any more
	CheckInStarted      Kind = "checkIn.started"      // the guest began the check-in, by a mailed link, by the QR code at the door or at a kiosk
	CheckInBlocked      Kind = "checkIn.blocked"      // something stops the check-in
	CheckInCompleted    Kind = "checkIn.completed"    // the PMS started the stay of a guest who had begun the check-in

	LockTampered Kind = "lock.tampered" // codes were changed at the lock itself, its tamper contact opened, its door was forced open, or it was reset
	LockJammed   Kind = "lock.jammed"
)

// Kinds are the kinds that webhooks deliver. [Kind.Internal] kinds are not among them.
var Kinds = []Kind{
	PINGenerated, AccessIssued, AccessUpdated, AccessRemoved, AccessFailed, CredentialVerified, DoorOpened, DoorDenied,
	LockOffline, LockBatteryLow, LockTampered, LockJammed, ConflictOpened, ConflictClosed, EndpointFailing,
	PreCheckInCompleted, CheckInStarted, CheckInBlocked, CheckInCompleted,
}

// Internal kinds record steps inside the service. They serve to explain a reservation and are not delivered to webhooks. Their subject is
// the [InternalSubject] of an id, so that the sequence numbers of subjects that partners see have no gaps.
const (
	ReservationChanged Kind = "reservation.changed" // the PMS changed a reservation in a way that affects access
	CredentialChanged  Kind = "credential.changed"  // the evidence that a code works on a lock has changed
	LockOnline         Kind = "lock.online"         // the lock is online again after a lock.offline

	LockBatteryOK      Kind = "lock.batteryOk"      // the battery is charged again after a lock.batteryLow
	LockClockUntrusted Kind = "lock.clockUntrusted" // the lock's clock is too wrong to enforce time windows
	LockClockOK        Kind = "lock.clockOk"
	LockMoved          Kind = "lock.moved"      // the lock was assigned to a door or removed from one
	SlotReassigned     Kind = "slot.reassigned" // a slot of a lock was given to another grant, or its state was issued again with a new generation
	BridgeOffline      Kind = "bridge.offline"
	BridgeOnline       Kind = "bridge.online"

	GuessesAtLock Kind = "lock.guessBudgetSpent" // too many wrong PINs were typed at one keypad
	GuessesAtSite Kind = "site.guessBudgetSpent" // too many wrong PINs were typed at all keypads of a property
	KeypadPaused  Kind = "lock.keypadPaused"     // the bridge paused a keypad after wrong PINs

	CodeCreated Kind = "code.created" // a staff code, one-time code or backup code was created
	CodeUsed    Kind = "code.used"    // a staff, one-time or backup code opened a door for the first time
	CodeRead    Kind = "code.read"    // the PIN of a staff, one-time or backup code was shown to a person
	CodeEnded   Kind = "code.ended"   // a person ended a staff, one-time or backup code

	PINShown       Kind = "stay.pinShown"        // a guest read the PIN of their stay; further reads of the session within ten minutes are not recorded
	PINRead        Kind = "stay.pinRead"         // staff read the PIN of a stay
	PINReplaced    Kind = "stay.pinReplaced"     // staff replaced the PIN of a stay
	StageCleared   Kind = "checkIn.stageCleared" // staff cleared or refused a stage of the law
	OwingWaived    Kind = "checkIn.owingWaived"  // staff let a guest check in who owes an amount
	CallEnded      Kind = "checkIn.callEnded"    // staff ended a checkIn call without an answer
	AccessExtended Kind = "stay.accessExtended"  // staff extended the access of a stay beyond its planned end

	GuestsRead   Kind = "guests.read"   // staff read the data of a stay's guests
	RegisterRead Kind = "register.read" // staff read the guest register
)

var internal = []Kind{
	ReservationChanged, CredentialChanged, LockOnline, LockBatteryOK, LockClockUntrusted, LockClockOK, LockMoved, SlotReassigned, BridgeOffline, BridgeOnline,
	GuessesAtLock, GuessesAtSite, KeypadPaused, CodeCreated, CodeUsed, CodeRead, CodeEnded, PINShown, PINRead, PINReplaced, AccessExtended, StageCleared, OwingWaived, CallEnded, GuestsRead, RegisterRead,
}

// reads are the kinds of events that record that a person saw something. The open streams of staff are not notified of them.
var reads = []Kind{CodeRead, PINShown, PINRead, GuestsRead, RegisterRead}

// Internal reports whether this kind of event is only stored and never delivered to webhooks.
func (k Kind) Internal() bool { return slices.Contains(internal, k) }

// InternalSubject returns the subject of internal events about the object with an id. It differs from the id, so that
// the sequence numbers that partners see have no gaps.
func InternalSubject(id string) string { return internalPrefix + id }

const internalPrefix = "in:"
