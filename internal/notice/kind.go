package notice

import "latchkey.dev/internal/message"

// Kind is what a notice is about, in camelCase. Kinds are part of the API, so they cannot be renamed.
type Kind string

// Locks and bridges.
const (
	BatteryLow         Kind = "batteryLow"
	BridgeDoubled      Kind = "bridgeDoubled" // two machines use the identity of one bridge
	BridgeUnreachable  Kind = "bridgeUnreachable"
	BrokerUnreachable  Kind = "brokerUnreachable" // a bridge has no connection to its MQTT broker, so it reaches no lock
	GatewayOffline     Kind = "gatewayOffline"    // Zigbee2MQTT does not run at a bridge's broker, so the bridge reaches no lock
	LockUnreachable    Kind = "lockUnreachable"
	LockTampered       Kind = "lockTampered"
	LockJammed         Kind = "lockJammed"
	Guessing           Kind = "guessing"           // wrong PINs were typed
	PINPatternsRefused Kind = "pinPatternsRefused" // the service ignores patterns of PINs that a lock forbids, because they are too costly to check
)

// Staff, one-time and backup codes.
const (
	CodeRedrawn    Kind = "codeRedrawn"   // the service replaced a code's PIN after staff had read it
	CodeNotPlaced  Kind = "codeNotPlaced" // a code is missing on a lock, for example without a free slot
	BackupCodeUsed Kind = "backupCodeUsed"
)

// The access of a stay.
const (
	CodeLate                 Kind = "codeLate"        // a lock has not confirmed a code for a long time
	ShortPIN                 Kind = "shortPin"        // a lock takes only PINs of fewer than six digits
	WindowInFuture           Kind = "windowInFuture"  // the PMS checked the guest in before the booked day
	SpacesDisagree           Kind = "spacesDisagree"  // the PMS names another room than that of the bed
	SpaceShared              Kind = "spaceShared"     // two stays are checked in to one private space
	FormerCode               Kind = "formerCode"      // a former code of the stay may still open a door
	SlotsFull                Kind = "slotsFull"       // a lock has no free slot for the code
	PINNotPossible           Kind = "pinNotPossible"  // a lock takes no PIN that the property's rules allow
	LockRefused              Kind = "lockRefused"     // a lock refused the code
	DuplicateOnLock          Kind = "duplicateOnLock" // a lock refused every PIN as one that it holds already
	SpaceUnknown             Kind = "spaceUnknown"
	SpaceNotMapped           Kind = "spaceNotMapped"
	RoomNotAssigned          Kind = "roomNotAssigned"
	SpaceInactive            Kind = "spaceInactive"
	BridgeRevoked            Kind = "bridgeRevoked"            // the bridge of a lock was revoked
	NoBridge                 Kind = "noBridge"                 // a lock has no bridge
	ArrivalAtRisk            Kind = "arrivalAtRisk"            // the doors of a coming stay may not open
	ArrivalNotReady          Kind = "arrivalNotReady"          // a coming stay is not ready for its guest
	RetentionBlockedByAccess Kind = "retentionBlockedByAccess" // the stay's data is due to be removed, but its access has not ended
	RetentionBlockedByLock   Kind = "retentionBlockedByLock"   // the stay's data is due to be removed, but a lock may still hold its code
)

// The endpoints and webhooks of a PMS, and the mapping of its spaces.
const (
	EndpointFailing       Kind = "endpointFailing"
	WebhookFailing        Kind = "webhookFailing"
	WebhookGivenUp        Kind = "webhookGivenUp"  // an event was not delivered, and is not retried any more
	WebhookDisabled       Kind = "webhookDisabled" // the service disabled a webhook, because no delivery succeeded for as long as an event is retried
	WebhookGone           Kind = "webhookGone"     // a webhook answered 410, and was disabled
	MappingMissing        Kind = "mappingMissing"
	MappingInactive       Kind = "mappingInactive"
	MappingRenamed        Kind = "mappingRenamed"
	MappingRetyped        Kind = "mappingRetyped"
	MappingMoved          Kind = "mappingMoved"
	MappingNewUnmapped    Kind = "mappingNewUnmapped"
	MappingBedWithoutRoom Kind = "mappingBedWithoutRoom"
	MappingDuplicateID    Kind = "mappingDuplicateId"
	MappingUnreadable     Kind = "mappingUnreadable"
)

// The check-in of guests.
const (
	CheckInOwing              Kind = "checkInOwing" // the guest owes more than the limit
	CheckInRoomNotReady       Kind = "checkInRoomNotReady"
	CheckInPartnerError       Kind = "checkInPartnerError"
	CheckInPartnerUnavailable Kind = "checkInPartnerUnavailable"
	CheckInIdentityCheck      Kind = "checkInIdentityCheck"
	CheckInSignature          Kind = "checkInSignature"
	CheckInStageRefused       Kind = "checkInStageRefused" // staff refused the check-in
	CheckInMinorAlone         Kind = "checkInMinorAlone"
	CheckInRefused            Kind = "checkInRefused"
	CheckInAtDesk             Kind = "checkInAtDesk"   // the guest has finished, but the PMS has no checkIn endpoint
	CheckInNoAnswer           Kind = "checkInNoAnswer" // the PMS did not answer the checkIn call
	CheckInLate               Kind = "checkInLate"     // the guest checked in, but the PMS has not reported the stay as started
	CheckInRepeated           Kind = "checkInRepeated" // the same checked-in stay was searched for many times
	CheckInHelp               Kind = "checkInHelp"
	KioskHelp                 Kind = "kioskHelp"
	KioskOffline              Kind = "kioskOffline"
	SearchesFailed            Kind = "searchesFailed" // many searches for a booking failed at one place
)

// Messages and mails.
const (
	MessageUnread   Kind = "messageUnread"
	ErasureLate     Kind = "erasureLate" // a guest's data is not erased by the date when it must be
	MailFailed      Kind = "mailFailed"
	MailFailedOther Kind = "mailFailedOther" // a mail that is not about a booking
	MailsNotSent    Kind = "mailsNotSent"    // no mail server is set
	NoGuestAddress  Kind = "noGuestAddress"  // no invitation was sent: the booking has no address of the guest
)

// Kinds has, for every kind, the names of the parameters of its text, in alphabetical order.
var Kinds = map[Kind][]string{
	BatteryLow:         {"lock"},
	BridgeDoubled:      {"bridge"},
	BridgeUnreachable:  {"bridge"},
	BrokerUnreachable:  {"bridge"},
	GatewayOffline:     {"bridge"},
	LockUnreachable:    {"lock"},
	LockTampered:       {"late", "lock", "what"},
	LockJammed:         {"what"},
	Guessing:           {"what"},
	PINPatternsRefused: {"instructions", "lock", "patterns", "refused", "repeat"},

	CodeRedrawn:    {"code", "codeId"},
	CodeNotPlaced:  nil,
	BackupCodeUsed: {"what"},

	CodeLate:                 nil,
	ShortPIN:                 {"doors"},
	WindowInFuture:           nil,
	SpacesDisagree:           nil,
	SpaceShared:              nil,
	FormerCode:               {"doors"},
	SlotsFull:                {"doors"},
	PINNotPossible:           {"doors"},
	LockRefused:              {"doors"},
	DuplicateOnLock:          {"doors"},
	SpaceUnknown:             nil,
	SpaceNotMapped:           nil,
	RoomNotAssigned:          nil,
	SpaceInactive:            nil,
	BridgeRevoked:            {"doors"},
	NoBridge:                 {"doors"},
	ArrivalAtRisk:            {"fixes", "from", "number"},
	ArrivalNotReady:          {"fixes", "from", "number"},
	RetentionBlockedByAccess: nil,
	RetentionBlockedByLock:   nil,

	EndpointFailing:       {"action", "app", "failures", "problem"},
	WebhookFailing:        {"app", "failures", "host", "problem"},
	WebhookGivenUp:        {"app", "host"},
	WebhookDisabled:       {"app", "host"},
	WebhookGone:           {"app", "host"},
	MappingMissing:        {"affected", "conflicts"},
	MappingInactive:       {"affected", "conflicts"},
	MappingRenamed:        {"affected", "conflicts"},
	MappingRetyped:        {"affected", "conflicts"},
	MappingMoved:          {"affected", "conflicts"},
	MappingNewUnmapped:    {"affected", "conflicts"},
	MappingBedWithoutRoom: {"affected", "conflicts"},
	MappingDuplicateID:    {"affected", "conflicts"},
	MappingUnreadable:     {"affected", "conflicts"},

	CheckInOwing:              {"amount", "limit", "number"},
	CheckInRoomNotReady:       {"number"},
	CheckInPartnerError:       {"number", "status"},
	CheckInPartnerUnavailable: {"number"},
	CheckInIdentityCheck:      {"number"},
	CheckInSignature:          {"number"},
	CheckInStageRefused:       {"number"},
	CheckInMinorAlone:         {"number"},
	CheckInRefused:            {"number", "status"},
	CheckInAtDesk:             {"number"},
	CheckInNoAnswer:           {"number"},
	CheckInLate:               {"number"},
	CheckInRepeated:           {"number", "place"},
	CheckInHelp:               {"number"},
	KioskHelp:                 {"kiosk"},
	KioskOffline:              {"kiosk", "since"},
	SearchesFailed:            {"at", "number", "place"},

	MessageUnread:   {"number"},
	ErasureLate:     {"due", "number"},
	MailFailed:      {"number", "problem"},
	MailFailedOther: {"problem"},
	MailsNotSent:    nil,
	NoGuestAddress:  {"number"},
}

// Message returns the message with the text of a notice of this kind. params are the parameters of its text: see [Kinds].
func (k Kind) Message(params message.Params) message.Message {
	return message.Message{Kind: "notice." + string(k), Params: params}
}

// maxDoors is how many doors a notice names.
const maxDoors = 10

// Doors returns the parameter "doors" of a text: a message that names up to maxDoors doors, or nil if there is no name.
func Doors(names []string) any {
	var doors []any
	for _, name := range names {
		if name != "" && len(doors) < maxDoors {
			doors = append(doors, message.Message{Kind: "affectedDoor", Params: message.Params{"door": name}})
		}
	}
	if len(doors) == 0 {
		return nil
	}
	return message.Message{Kind: "affectedDoors", Params: message.Params{"doors": doors}}
}

// Key returns the deduplication key (OnceKey) for a problem that exists at most once per subject. subject is the id of an object of the
// property.
func (k Kind) Key(subject string) string { return subject + "/" + string(k) }
