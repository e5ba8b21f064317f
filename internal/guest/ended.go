package guest

import (
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

// Ending is what ended a session before it expired.
type Ending string

const (
	EndedByCancelation Ending = "canceled"    // the PMS canceled the stay
	EndedByRevocation  Ending = "accessEnded" // a guest or staff ended the session, an address changed, or it was one beyond maxSessions
)

var errNotEnded = fault.New(fault.NotFound, fault.StayNotFound, "the token is unknown or expired, or its session has not ended")

// PropertyOfCanceledLink returns the property of a link that ended because the PMS canceled the stay. For any other link it returns
// errLinkNotFound.
func PropertyOfCanceledLink(view *db.Tx, keys *keyring.Ring, secret string) (propertyID string, err error) {
	if !keyring.IsToken(secret, keyring.GuestLink) {
		return "", errLinkNotFound
	}
	propertyID, found, err := findCanceledLink(view, linkMAC(keys, secret))
	if err == nil && !found {
		err = errLinkNotFound
	}
	return propertyID, err
}

// PropertyOfEndedSession returns the property of a session that was ended early, and by what. For an unknown token, and for a session that
// is active or has expired, it returns errNotEnded. Of a kiosk's sessions it finds only those that a cancelation ended.
func PropertyOfEndedSession(view *db.Tx, keys *keyring.Ring, token string) (propertyID string, by Ending, err error) {
	if !keyring.IsToken(token, keyring.SessionToken) {
		return "", "", errNotEnded
	}
	propertyID, by, found, err := findEndedSession(view, sessionMAC(keys, token))
	if err == nil && !found {
		err = errNotEnded
	}
	return propertyID, by, err
}
