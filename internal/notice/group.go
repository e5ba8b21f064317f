package notice

import "slices"

// Group is a group of kinds of notices. Each member of staff chooses which groups to see, and which to get by mail.
type Group string

// The groups. They are part of the API, so they cannot be renamed.
const (
	OfLocks    Group = "locks"    // locks and bridges
	OfCodes    Group = "codes"    // staff, one-time and backup codes
	OfAccess   Group = "access"   // the access of a stay
	OfPMS      Group = "pms"      // the PMS, its webhooks and the mapping of its spaces
	OfCheckIns Group = "checkIns" // the check-in of guests
	OfMessages Group = "messages" // messages, mails and erasures
)

// Groups are all groups, in the order in which staff see them.
var Groups = []Group{OfCheckIns, OfAccess, OfLocks, OfCodes, OfMessages, OfPMS}

// groups has the kinds of each group. Each kind is in exactly one.
var groups = map[Group][]Kind{
	OfLocks: {
		BatteryLow, BridgeDoubled, BridgeUnreachable, BrokerUnreachable, GatewayOffline, LockUnreachable, LockTampered, LockJammed, Guessing,
		PINPatternsRefused,
	},
	OfCodes: {CodeRedrawn, CodeNotPlaced, BackupCodeUsed},
	OfAccess: {
		CodeLate, ShortPIN, WindowInFuture, SpacesDisagree, SpaceShared, FormerCode, SlotsFull, PINNotPossible, LockRefused, DuplicateOnLock,
		SpaceUnknown, SpaceNotMapped, RoomNotAssigned, SpaceInactive, BridgeRevoked, NoBridge, ArrivalAtRisk, ArrivalNotReady,
		RetentionBlockedByAccess, RetentionBlockedByLock,
	},
	OfPMS: {
		EndpointFailing, WebhookFailing, WebhookGivenUp, WebhookDisabled, WebhookGone, MappingMissing, MappingInactive, MappingRenamed,
		MappingRetyped, MappingMoved, MappingNewUnmapped, MappingBedWithoutRoom, MappingDuplicateID, MappingUnreadable,
	},
	OfCheckIns: {
		CheckInOwing, CheckInRoomNotReady, CheckInPartnerError, CheckInPartnerUnavailable, CheckInIdentityCheck, CheckInSignature,
		CheckInStageRefused, CheckInMinorAlone, CheckInRefused, CheckInAtDesk, CheckInNoAnswer, CheckInLate, CheckInRepeated, CheckInHelp,
		KioskHelp, KioskOffline, SearchesFailed,
	},
	OfMessages: {MessageUnread, ErasureLate, MailFailed, MailFailedOther, MailsNotSent, NoGuestAddress},
}

// notMailed are kinds that no mail announces, because they are about mails that do not arrive.
var notMailed = []Kind{MailFailed, MailFailedOther, MailsNotSent}

// KindsOf returns the kinds of notices in the groups with these names. It ignores unknown names.
func KindsOf(of []string) (kinds []string) {
	for _, name := range of {
		for _, k := range groups[Group(name)] {
			kinds = append(kinds, string(k))
		}
	}
	return kinds
}

// MailedKinds returns the kinds of notices in the groups with these names, without those that no mail announces. It ignores unknown names.
func MailedKinds(of []string) []string {
	return slices.DeleteFunc(KindsOf(of), func(kind string) bool { return slices.Contains(notMailed, Kind(kind)) })
}
