package guest

import (
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mobilekey"
)

// keyLinkLifetime is how long a page has to enrol its browser. The page does it at once.
const keyLinkLifetime = 10 * time.Minute

var errKioskKey = fault.New(fault.Denied, fault.MainGuestOnly, "a tablet keeps no SmartKey: continue on a phone")

// CreateKeyLink makes the link with which the browser of a session enrols its SmartKey. The SmartKey ends with the session. It fails for a
// kiosk's session, and for a session that may not see the PIN: see [WithheldFrom].
func CreateKeyLink(tx *db.Tx, keys *keyring.Ring, a actor.Actor) (mobilekey.Link, error) {
	if a.Origin != OriginMail && a.Origin != OriginDoor {
		return mobilekey.Link{}, errKioskKey
	}
	reserved, err := loadReservation(tx, a.PropertyID, a.ReservationID)
	if err != nil {
		return mobilekey.Link{}, err
	}
	stay, err := LoadStay(tx, a.PropertyID, a.ReservationID)
	if err != nil {
		return mobilekey.Link{}, err
	}
	withheld, err := withheldNow(tx, a, reserved.State, stay)
	if err != nil {
		return mobilekey.Link{}, err
	}
	if withheld != NotWithheld {
		return mobilekey.Link{}, withheld.err()
	}
	return mobilekey.CreateLink(tx, keys, mobilekey.LinkSpec{
		PropertyID: a.PropertyID, ReservationID: a.ReservationID, Session: a.ID, GuestID: a.GuestID, Lifetime: keyLinkLifetime,
	})
}
