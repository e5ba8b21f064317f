package guest

import (
	"fmt"
	"time"

	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// handOverTTL is how long the link from a kiosk to a phone works.
const handOverTTL = 5 * time.Minute

var (
	errKioskOnly  = fault.New(fault.Denied, fault.MainGuestOnly, "only a session at a kiosk hands the stay to a phone; other devices open the link of the mail")
	errHandedOver = fault.New(fault.Precondition, fault.LinkBound, "a phone has the stay already: use it, or the link of the mail")
)

// HandOver is a link from a kiosk to the guest's phone. Its secret is not stored.
type HandOver struct {
	Secret    string
	ExpiresAt time.Time
}

// CreateHandOver creates the link with which a guest at a kiosk continues on a phone. It replaces the former link of the session. A
// session hands its stay to one phone, and only before it has shown the PIN: a copied cookie of a kiosk is then worth nothing.
func CreateHandOver(tx *db.Tx, keys *keyring.Ring, a actor.Actor) (HandOver, error) {
	if a.Origin == OriginMail || a.Origin == OriginDoor {
		return HandOver{}, errKioskOnly
	}
	if _, err := loadOwnParty(tx, keys, a); err != nil {
		return HandOver{}, err
	}
	shown, err := tx.GuestSession.Query().Where(guestsession.PropertyID(a.PropertyID), guestsession.ID(a.ID), guestsession.PinShown(true)).Exist(tx.Context())
	if err != nil {
		return HandOver{}, fmt.Errorf("load a guest's session: %w", err)
	}
	if shown {
		return HandOver{}, ShownBefore.err()
	}
	taken, err := tx.GuestLink.Query().Where(guestlink.PropertyID(a.PropertyID), guestlink.ReservationID(a.ReservationID),
		guestlink.HandedBy(a.ID), guestlink.BoundAtNotNil()).Exist(tx.Context())
	if err != nil {
		return HandOver{}, fmt.Errorf("find the link from a kiosk to a phone: %w", err)
	}
	if taken {
		return HandOver{}, errHandedOver
	}
	_, err = tx.GuestLink.Delete().Where(guestlink.PropertyID(a.PropertyID), guestlink.ReservationID(a.ReservationID),
		guestlink.HandedBy(a.ID)).Exec(tx.Context())
	if err != nil {
		return HandOver{}, fmt.Errorf("delete the former link from a kiosk to a phone: %w", err)
	}
	out := HandOver{Secret: keyring.NewToken(keyring.GuestLink), ExpiresAt: tx.Now().Add(handOverTTL)}
	err = tx.GuestLink.Create().SetID(id.New(id.GuestLink)).SetPropertyID(a.PropertyID).SetReservationID(a.ReservationID).
		SetMAC(linkMAC(keys, out.Secret)).SetHandedBy(a.ID).SetExpiresAt(out.ExpiresAt).SetCreatedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return HandOver{}, fmt.Errorf("store the link from a kiosk to a phone: %w", err)
	}
	return out, nil
}

// session returns the session that the device gets when it binds the link. A phone that took the stay from a kiosk knows no more than two
// facts, so its session is that of a door. It has the right of the kiosk's session to the PIN.
func (l Link) session(now time.Time, device string) SessionSpec {
	s := SessionSpec{PropertyID: l.Row.PropertyID, ReservationID: l.Row.ReservationID, GuestID: l.Row.GuestID, Origin: OriginMail, Device: device,
		TTL: l.Reservation.ToAt.Add(keepAfterStay).Sub(now)}
	if l.Row.HandedBy != "" {
		s.Origin, s.TTL, s.HandedBy = OriginDoor, doorSession, l.Row.HandedBy
	}
	return s
}
