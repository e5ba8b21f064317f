package guest

import (
	"fmt"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
)

// selectSession selects a session that has not ended. The session of a canceled or erased stay does not count.
const selectSession = `SELECT s.id, s.property_id, s.reservation_id, s.guest_id, s.origin, s.handed_by, s.used_at FROM guest_sessions AS s
	JOIN reservations AS r ON r.id = s.reservation_id AND r.property_id = s.property_id
	WHERE s.mac = $1 AND s.expires_at > $2 AND s.revoked_at IS NULL AND r.state <> 'canceled' AND r.erased_at IS NULL`

// findSession returns the guest whose session token has the keyed hash mac, and false if there is no active session.
func findSession(view *db.Tx, mac []byte) (a actor.Actor, found bool, err error) {
	a.Kind = actor.Guest
	found, err = view.ReadOne(selectSession, []any{mac, view.Now()}, &a.ID, &a.PropertyID, &a.ReservationID, &a.GuestID, &a.Origin, &a.HandedBy, &a.UsedAt)
	if err != nil {
		return actor.Actor{}, false, fmt.Errorf("find a guest's session: %w", err)
	}
	a.TokenID = a.ID
	return a, found, nil
}

// These queries find why a link or a session ended, until it would have expired. A cancelation is the reason if the link or session was
// valid then; a link that was replaced before is not found. Of a kiosk's sessions, only those that a cancelation ended are found: the
// tablet may serve the next guest, who must not learn about other endings.
const (
	isCanceled         = `(r.state = 'canceled' AND (t.revoked_at IS NULL OR t.revoked_at >= r.canceled_at))`
	ofStay             = ` AS t JOIN reservations AS r ON r.id = t.reservation_id AND r.property_id = t.property_id WHERE t.mac = $1 AND t.expires_at > $2 AND r.erased_at IS NULL`
	selectCanceledLink = `SELECT t.property_id FROM guest_links` + ofStay + ` AND ` + isCanceled
	selectEndedSession = `SELECT t.property_id, CASE WHEN ` + isCanceled + ` THEN 'canceled' ELSE 'accessEnded' END FROM guest_sessions` + ofStay + `
	AND (r.state = 'canceled' OR t.revoked_at IS NOT NULL) AND (t.origin IN ('mail', 'door') OR ` + isCanceled + `)`
)

// findCanceledLink returns the property of a link that ended because the PMS canceled the stay. found is false for any other link, and
// after the time at which the link would have expired.
func findCanceledLink(view *db.Tx, mac []byte) (propertyID string, found bool, err error) {
	if found, err = view.ReadOne(selectCanceledLink, []any{mac, view.Now()}, &propertyID); err != nil {
		return "", false, fmt.Errorf("find the link of a canceled stay: %w", err)
	}
	return propertyID, found, nil
}

// findEndedSession returns the property of a session that ended before its time, and what ended it. found is false for a session that did
// not, and for a kiosk's session unless a cancelation ended it.
func findEndedSession(view *db.Tx, mac []byte) (propertyID string, by Ending, found bool, err error) {
	if found, err = view.ReadOne(selectEndedSession, []any{mac, view.Now()}, &propertyID, &by); err != nil {
		return "", "", false, fmt.Errorf("find an ended session of a guest: %w", err)
	}
	return propertyID, by, found, nil
}

// selectOpenForms selects the guests who arrived in a range of time and whose official form is not closed. A form that no law with a
// retention time covers is never closed: it is listed until a day after the departure.
const selectOpenForms = `SELECT g.id, g.reservation_id, r.from_at FROM guests AS g JOIN reservations AS r ON r.id = g.reservation_id AND r.property_id = g.property_id
	WHERE g.property_id = $1 AND g.erase_at IS NULL AND r.from_at >= $2 AND r.from_at < $3
	AND (r.state IN ('started', 'processed') AND (g.law <> '' OR r.to_at > $4) OR r.arrived_at IS NOT NULL AND r.state = 'canceled' AND g.law <> '')`

// openForm is a guest whose official form is not in the register yet.
type openForm struct {
	guestID, reservationID string
	from                   time.Time // from is when the stay begins
}

// listOpenForms lists the guests whose official form is not closed, complete or not, and whose stay began in the range [from, before).
// Forms are closed RegisterDelay after the departure: see selectOpenForms.
func listOpenForms(view *db.Tx, propertyID string, from, before time.Time) ([]openForm, error) {
	forms, err := db.ReadList(view, func(f *openForm) []any { return []any{&f.guestID, &f.reservationID, &f.from} },
		selectOpenForms, propertyID, from.UTC(), before.UTC(), view.Now().Add(-RegisterDelay))
	if err != nil {
		return nil, fmt.Errorf("list guests whose official form is open: %w", err)
	}
	return forms, nil
}

// StayKey names a stay.
type StayKey struct{ PropertyID, ReservationID string }

const (
	selectStaysToClose = `SELECT DISTINCT g.property_id, g.reservation_id FROM guests AS g JOIN reservations AS r ON r.id = g.reservation_id AND r.property_id = g.property_id
	WHERE g.erase_at IS NULL AND g.law <> '' AND g.reservation_id > $1 AND (r.to_at <= $2 OR r.canceled_at <= $2) ORDER BY g.reservation_id LIMIT $3`
	selectStaysToErase = `SELECT DISTINCT g.property_id, g.reservation_id FROM guests AS g
	WHERE g.erase_at IS NOT NULL AND g.reservation_id > $1 AND g.erase_at <= $2 ORDER BY g.reservation_id LIMIT $3`
)

// StaysToClose lists stays of all properties whose official forms must be closed, in the order of reservation ids. after is the last id of
// the former page.
func StaysToClose(view *db.Tx, after string, limit int) ([]StayKey, error) {
	return listStays(view, selectStaysToClose, after, view.Now().Add(-RegisterDelay), limit)
}

// StaysToErase lists stays of all properties with official forms whose retention time is over, in the order of reservation ids. after is
// the last id of the former page.
func StaysToErase(view *db.Tx, after string, limit int) ([]StayKey, error) {
	return listStays(view, selectStaysToErase, after, view.Now(), limit)
}

// listStays runs a query that selects the ids of the property and the reservation of stays.
func listStays(view *db.Tx, query string, args ...any) ([]StayKey, error) {
	list, err := db.ReadList(view, func(k *StayKey) []any { return []any{&k.PropertyID, &k.ReservationID} }, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list stays with official forms: %w", err)
	}
	return list, nil
}
