// Package staff stores the people who work at properties: their roles and rights, passwords, second factors, sessions and invitations. The
// tokens of scripts are in package credential.
package staff

import (
	"slices"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/fault"
)

// Role is what a person is at a property.
type Role string

const (
	Owner        Role = "owner"
	Manager      Role = "manager"
	FrontDesk    Role = "frontDesk"
	Housekeeping Role = "housekeeping"
)

// Roles lists all roles, the one with the most rights first.
var Roles = []Role{Owner, Manager, FrontDesk, Housekeeping}

// Right is what a person needs to call an RPC of the property API. Each RPC names its right in its proto.
type Right string

const (
	// Self is the right to one's own account, which every signed-in person has, also without a property.
	Self Right = "self"

	ReadProperty      Right = "readProperty"      // settings, rooms, doors, apps, kiosks
	ReadLocks         Right = "readLocks"         // locks and bridges with their health
	ReadReservations  Right = "readReservations"  // stays, arrivals, check-ins
	ReadAccess        Right = "readAccess"        // codes without PINs, phones with SmartKeys
	ReadGuests        Right = "readGuests"        // what guests entered and wrote
	ReadNotices       Right = "readNotices"       // what needs attention
	ReadAudit         Right = "readAudit"         // who did what
	InspectRegister   Right = "inspectRegister"   // the guest register that the law asks for
	EraseGuests       Right = "eraseGuests"       // erase or hand out the data of a guest who asked
	ManageNotices     Right = "manageNotices"     // mark notices as read
	ManageCheckIns    Right = "manageCheckIns"    // clear what stops a check-in, send links again
	WriteMessages     Right = "writeMessages"     // answer guests
	ManageAccess      Right = "manageAccess"      // codes, SmartKey links
	RevealPINs        Right = "revealPins"        // see a PIN
	OpenDoors         Right = "openDoors"         // open a door from afar
	ManageLocks       Right = "manageLocks"       // name locks and put them on doors
	ManageSpaces      Right = "manageSpaces"      // rooms, beds, doors of common areas, mapping
	ManageBridges     Right = "manageBridges"     // connect and revoke bridges
	ManageSettings    Right = "manageSettings"    // property, check-in, mail, kiosks
	ManagePeople      Right = "managePeople"      // invite people, change roles
	ManageCredentials Right = "manageCredentials" // partner apps, api-key, issuer keys
)

// Rights lists all rights.
var Rights = []Right{
	Self, ReadProperty, ReadLocks, ReadReservations, ReadAccess, ReadGuests, ReadNotices, ReadAudit, InspectRegister, EraseGuests, ManageNotices, ManageCheckIns,
	WriteMessages, ManageAccess, RevealPINs, OpenDoors, ManageLocks, ManageSpaces, ManageBridges, ManageSettings, ManagePeople, ManageCredentials,
}

// housekeeping and frontDesk are the rights of these roles. A manager has all but manageCredentials, an owner has all.
var (
	housekeeping = []Right{Self, ReadProperty, ReadLocks}
	frontDesk    = []Right{
		Self, ReadProperty, ReadLocks, ReadReservations, ReadAccess, ReadGuests, ReadNotices, ManageNotices, ManageCheckIns, WriteMessages,
		ManageAccess, RevealPINs, OpenDoors,
	}
)

// Allows reports whether a role includes a right. Unknown roles and rights are refused, also [Self] without a role: the caller must grant
// Self to every signed-in person.
func Allows(role Role, right Right) bool {
	if !slices.Contains(Rights, right) {
		return false
	}
	switch role {
	case Owner:
		return true
	case Manager:
		return right != ManageCredentials
	case FrontDesk:
		return slices.Contains(frontDesk, right)
	case Housekeeping:
		return slices.Contains(housekeeping, right)
	}
	return false
}

// RightsOf returns the rights of a role at a property, without Self.
func RightsOf(role Role) (all []Right) {
	for _, r := range Rights {
		if r != Self && Allows(role, r) {
			all = append(all, r)
		}
	}
	return all
}

// IsRight reports whether a text names a right.
func IsRight(text string) bool { return slices.Contains(Rights, Right(text)) }

// IsRole reports whether a text names a role.
func IsRole(text string) bool { return slices.Contains(Roles, Role(text)) }

// MayManage reports whether a person with a role has the right to give, change or end the role other. An owner manages all roles, a manager
// only those below, and others manage none.
func MayManage(role, other Role) bool {
	switch role {
	case Owner:
		return IsRole(string(other))
	case Manager:
		return other == FrontDesk || other == Housekeeping
	}
	return false
}

var (
	errConfirmAgain = fault.New(fault.Denied, fault.SecondFactorRequired, "confirm your second factor again for this call")
	errSignInAgain  = fault.New(fault.Denied, fault.SignInAgain, "this call needs a proof that it is you: sign in again, and make it within 15 minutes")
)

// accessRights are the rights whose calls with step-up open doors, or change or show access. A property can switch their step-up off.
var accessRights = []Right{OpenDoors, RevealPINs, ManageAccess}

// StepUp returns why a person must prove again who they are before a sensitive call, or nil. A person with a second factor must have
// confirmed it within actor.StepUpWithin; a person without one must have signed in within that time. Otherwise a stranger who finds an open
// session could open doors, or invite themselves. It returns nil for accessRights if the property has switched their step-up off. A token
// has no proof: do not call it for one.
func StepUp(a actor.Actor, right Right, now time.Time) error {
	switch {
	case a.NoAccessProof && slices.Contains(accessRights, right):
		return nil
	case !a.SecondFactor.Suffices(now):
		return errConfirmAgain
	case !a.SecondFactor.Enrolled && now.Sub(a.ProvedAt) >= actor.StepUpWithin:
		return errSignInAgain
	}
	return nil
}
