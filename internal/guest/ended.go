package guest

import (
	"fmt"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

// Ending is what ended a session before its time.
type Ending string

const (
	EndedByCancelation Ending = "canceled"    // the PMS canceled the stay
	EndedByRevocation  Ending = "accessEnded" // another device of the guest, the main guest or staff ended it, or the booker's address changed
)

// A cancelation ended a link or a session that was valid then and has not expired since. A link that was replaced before is a stranger to the
// stay. A tablet gets no other reason than a cancelation. It forgets its guest's session at its start page, so it tells the next guest nothing.
const (
	isCanceled       = `(r.state = 'canceled' AND (t.revoked_at IS NULL OR t.revoked_at >= r.canceled_at))`
	ofStay           = ` AS t JOIN reservations AS r ON r.id = t.reservation_id AND r.property_id = t.property_id WHERE t.mac = $1 AND t.expires_at > $2 AND r.erased_at IS NULL`
	findCanceledLink = `SELECT t.property_id FROM guest_links` + ofStay + ` AND ` + isCanceled
	findEndedSession = `SELECT t.property_id, CASE WHEN ` + isCanceled + ` THEN 'canceled' ELSE 'accessEnded' END FROM guest_sessions` + ofStay + `
	AND (r.state = 'canceled' OR t.revoked_at IS NOT NULL) AND (t.origin IN ('mail', 'door') OR ` + isCanceled + `)`
)

var errNotEnded = fault.New(fault.NotFound, fault.StayNotFound, "the token is unknown or expired, or its session has not ended")

// PropertyOfCanceledLink returns the property of a link that ended because the PMS canceled the stay. Other links are not found.
func PropertyOfCanceledLink(view *db.Tx, keys *keyring.Ring, secret string) (propertyID string, err error) {
	if !keyring.IsToken(secret, keyring.GuestLink) {
		return "", errLinkNotFound
	}
	found, err := view.ReadOne(findCanceledLink, []any{linkMAC(keys, secret), view.Now()}, &propertyID)
	if err != nil {
		return "", fmt.Errorf("find the link of a canceled stay: %w", err)
	}
	if !found {
		return "", errLinkNotFound
	}
	return propertyID, nil
}

// PropertyOfEndedSession returns the property of a session that was ended, and by what. Sessions that go on or have expired are not found.
func PropertyOfEndedSession(view *db.Tx, keys *keyring.Ring, token string) (propertyID string, by Ending, err error) {
	if !keyring.IsToken(token, keyring.SessionToken) {
		return "", "", errNotEnded
	}
	found, err := view.ReadOne(findEndedSession, []any{sessionMAC(keys, token), view.Now()}, &propertyID, &by)
	if err != nil {
		return "", "", fmt.Errorf("find an ended session of a guest: %w", err)
	}
	if !found {
		return "", "", errNotEnded
	}
	return propertyID, by, nil
}
