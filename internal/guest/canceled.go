package guest

import (
	"fmt"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

// What a cancelation ended: the link or session was valid when the PMS canceled the stay, and has not expired since. A link that was
// replaced before, and a device that was removed before, are strangers to the stay. A tablet in the lobby tells its next guest nothing.
const (
	endedByCancelation = ` JOIN reservations AS r ON r.id = t.reservation_id AND r.property_id = t.property_id
	WHERE t.mac = $1 AND t.expires_at > $2 AND r.state = 'canceled' AND r.erased_at IS NULL AND (t.revoked_at IS NULL OR t.revoked_at >= r.canceled_at)`
	findCanceledLink    = `SELECT t.property_id FROM guest_links AS t` + endedByCancelation
	findCanceledSession = `SELECT t.property_id FROM guest_sessions AS t` + endedByCancelation + ` AND t.origin IN ('mail', 'door')`
)

var errNotCanceled = fault.New(fault.NotFound, fault.StayNotFound, "the token is unknown, or a cancelation is not what ended its session")

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

// PropertyOfCanceledStay returns the property of a session on a guest's own device that ended because the PMS canceled the stay. Other
// sessions are not found.
func PropertyOfCanceledStay(view *db.Tx, keys *keyring.Ring, token string) (propertyID string, err error) {
	if !keyring.IsToken(token, keyring.SessionToken) {
		return "", errNotCanceled
	}
	found, err := view.ReadOne(findCanceledSession, []any{sessionMAC(keys, token), view.Now()}, &propertyID)
	if err != nil {
		return "", fmt.Errorf("find the session of a canceled stay: %w", err)
	}
	if !found {
		return "", errNotCanceled
	}
	return propertyID, nil
}
