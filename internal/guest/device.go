package guest

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/guestsession"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// maxDevices bounds the sessions that a list shows. One guest has fewer, but all guests of a stay together can have more.
const maxDevices = 100

// usedInterval is the shortest time between two updates of a session's last use.
const usedInterval = 5 * time.Minute

var errDeviceNotFound = fault.New(fault.NotFound, fault.DeviceNotFound, "no such session acts for this guest: it ended, or it is another guest's; list the devices again")

// Device is a session as stored.
type Device = ent.GuestSession

// UseIsOld reports whether a call should store a new time of use for its session: the stored one is at least usedInterval old.
func UseIsOld(a actor.Actor, now time.Time) bool { return now.Sub(a.UsedAt) >= usedInterval }

// MarkUsed stores that a session is used now. On a tablet the session then ends kioskSession from now, and longestKioskSession after its
// beginning at the latest. It does nothing if the session was deleted.
func MarkUsed(tx *db.Tx, a actor.Actor) error {
	row, err := tx.GuestSession.Query().Where(guestsession.PropertyID(a.PropertyID), guestsession.ID(a.ID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil // the session was removed meanwhile
	}
	if err == nil {
		u := tx.GuestSession.Update().Where(guestsession.PropertyID(a.PropertyID), guestsession.ID(a.ID)).SetUsedAt(tx.Now())
		if atKiosk(a) {
			u.SetExpiresAt(slices.MinFunc([]time.Time{row.CreatedAt.Add(longestKioskSession), tx.Now().Add(kioskSession)}, time.Time.Compare))
		}
		err = u.Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("store the last use of a guest's session: %w", err)
	}
	return nil
}

// atKiosk reports whether a session acts on a tablet, not on a phone that took the stay from it.
func atKiosk(a actor.Actor) bool {
	return a.Origin != OriginMail && a.Origin != OriginDoor && a.HandedBy == ""
}

// ownDevices selects the sessions that a caller may list and end. A session of two facts (booking number and family name) may be a
// stranger's: it sees only itself. A session of a mailed link sees all sessions of its guest. The main guest's also sees those of two
// facts.
func ownDevices(a actor.Actor) []predicate.GuestSession {
	if a.Origin != OriginMail {
		return []predicate.GuestSession{guestsession.ID(a.ID)}
	}
	return []predicate.GuestSession{guestsession.ReservationID(a.ReservationID), guestsession.GuestID(a.GuestID)}
}

// ListOwnDevices returns the active sessions that a caller may list, the latest used first, at most maxDevices.
func ListOwnDevices(view *db.Tx, a actor.Actor) ([]*Device, error) {
	return listDevices(view, a.PropertyID, ownDevices(a)...)
}

// ListDevices returns the active sessions of a reservation, also those of companions, the latest used first, at most maxDevices. For an
// unknown reservation it returns the error fault.ReservationNotFound.
func ListDevices(view *db.Tx, propertyID, reservationID string) ([]*Device, error) {
	if _, err := loadReservation(view, propertyID, reservationID); err != nil {
		return nil, err
	}
	return listDevices(view, propertyID, guestsession.ReservationID(reservationID))
}

// listDevices returns the active sessions that match which, the latest used first, at most maxDevices.
func listDevices(view *db.Tx, propertyID string, which ...predicate.GuestSession) ([]*Device, error) {
	rows, err := view.GuestSession.Query().Where(active(view, propertyID, which)...).
		Order(ent.Desc(guestsession.FieldUsedAt), ent.Desc(guestsession.FieldID)).Limit(maxDevices).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list the sessions of a stay: %w", err)
	}
	return rows, nil
}

// active returns a copy of which with more conditions: the sessions are of the property, not revoked and not expired.
func active(view *db.Tx, propertyID string, which []predicate.GuestSession) []predicate.GuestSession {
	return append(slices.Clone(which), guestsession.PropertyID(propertyID), guestsession.RevokedAtIsNil(), guestsession.ExpiresAtGT(view.Now()))
}

// EndOwnDevice ends a session that a caller may end, also the caller's own, with its SmartKeys. For others it returns errDeviceNotFound.
func EndOwnDevice(tx *db.Tx, a actor.Actor, sessionID string) error {
	return endDevice(tx, a.PropertyID, append(ownDevices(a), guestsession.ID(sessionID))...)
}

// EndOtherDevices ends all sessions that a caller may end, with their SmartKeys, except the caller's own.
func EndOtherDevices(tx *db.Tx, a actor.Actor) error {
	return endSessions(tx, a.PropertyID, append(ownDevices(a), guestsession.IDNEQ(a.ID))...)
}

// EndDevice ends one session of a reservation with its SmartKeys, for staff, or returns errDeviceNotFound.
func EndDevice(tx *db.Tx, propertyID, reservationID, sessionID string) error {
	return endDevice(tx, propertyID, guestsession.ReservationID(reservationID), guestsession.ID(sessionID))
}

// endDevice ends the sessions that match which, with their SmartKeys. It returns errDeviceNotFound if none of them is active.
func endDevice(tx *db.Tx, propertyID string, which ...predicate.GuestSession) error {
	found, err := tx.GuestSession.Query().Where(active(tx, propertyID, which)...).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("find the session of a device: %w", err)
	}
	if !found {
		return errDeviceNotFound
	}
	return endSessions(tx, propertyID, which...)
}
