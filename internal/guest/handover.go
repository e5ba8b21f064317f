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

// deviceLinkTTL is how long the link from a guest's device to a further one works.
const deviceLinkTTL = 15 * time.Minute

var (
	errKioskOnly  = fault.New(fault.Denied, fault.MainGuestOnly, "only a session at a kiosk hands the stay to a phone; other devices open the link of the mail")
	errHandedOver = fault.New(fault.Precondition, fault.LinkBound, "a phone has the stay already: use it, or the link of the mail")
)

// NewLink is a link whose secret is returned to the caller instead of being mailed. Only a hash of the secret is stored.
type NewLink struct {
	Secret    string
	ExpiresAt time.Time
}

// createLink stores a link for a guest of a stay; guestID is "" for the main guest. handedBy is the session that makes the link for another
// device of its own guest; "" for the link of a companion.
func createLink(tx *db.Tx, keys *keyring.Ring, a actor.Actor, guestID, handedBy string, ends time.Time) (NewLink, error) {
	out := NewLink{Secret: keyring.NewToken(keyring.GuestLink), ExpiresAt: ends}
	err := tx.GuestLink.Create().SetID(id.New(id.GuestLink)).SetPropertyID(a.PropertyID).SetReservationID(a.ReservationID).SetGuestID(guestID).
		SetMAC(linkMAC(keys, out.Secret)).SetHandedBy(handedBy).SetExpiresAt(ends).SetCreatedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return NewLink{}, fmt.Errorf("store a guest's link: %w", err)
	}
	return out, nil
}

// deleteUnboundLinks deletes the links that a session made and that no device has opened.
func deleteUnboundLinks(tx *db.Tx, a actor.Actor) error {
	_, err := tx.GuestLink.Delete().Where(guestlink.PropertyID(a.PropertyID), guestlink.ReservationID(a.ReservationID),
		guestlink.HandedBy(a.ID), guestlink.BoundAtIsNil()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("delete the former link of a session: %w", err)
	}
	return nil
}

// CreateDeviceLink creates the link with which a guest opens the stay on a further device. It needs a session of a mailed link, and
// replaces the session's former link, if no device has opened it. The new session is listed among the guest's devices, and ends like them
// if the booker's address changes.
func CreateDeviceLink(tx *db.Tx, keys *keyring.Ring, a actor.Actor) (NewLink, error) {
	if a.Origin != OriginMail {
		return NewLink{}, errMailLinkOnly
	}
	if err := deleteUnboundLinks(tx, a); err != nil {
		return NewLink{}, err
	}
	return createLink(tx, keys, a, a.GuestID, a.ID, tx.Now().Add(deviceLinkTTL))
}

// CreateHandOver creates the link with which a guest at a kiosk continues on a phone, which scans it as a QR code. It replaces a former
// link of the session that no phone has opened. Only a session at a kiosk can do this, and only with access to the stay: see
// [Party.MayAccess]. A session hands its stay to one phone, and only before it has shown the PIN. So a copied cookie of a kiosk is worth
// nothing after that.
func CreateHandOver(tx *db.Tx, keys *keyring.Ring, a actor.Actor) (NewLink, error) {
	if a.Origin == OriginMail || a.Origin == OriginDoor {
		return NewLink{}, errKioskOnly
	}
	if _, err := loadOwnParty(tx, keys, a); err != nil {
		return NewLink{}, err
	}
	shown, err := tx.GuestSession.Query().Where(guestsession.PropertyID(a.PropertyID), guestsession.ID(a.ID), guestsession.PinShown(true)).Exist(tx.Context())
	if err != nil {
		return NewLink{}, fmt.Errorf("load a guest's session: %w", err)
	}
	if shown {
		return NewLink{}, ShownBefore.err()
	}
	taken, err := tx.GuestLink.Query().Where(guestlink.PropertyID(a.PropertyID), guestlink.ReservationID(a.ReservationID),
		guestlink.HandedBy(a.ID), guestlink.BoundAtNotNil()).Exist(tx.Context())
	if err != nil {
		return NewLink{}, fmt.Errorf("find the link from a kiosk to a phone: %w", err)
	}
	if taken {
		return NewLink{}, errHandedOver
	}
	if err := deleteUnboundLinks(tx, a); err != nil {
		return NewLink{}, err
	}
	return createLink(tx, keys, a, "", a.ID, tx.Now().Add(handOverTTL))
}

// session describes the session that a device gets when it binds the link. A phone that took the stay from a kiosk knows no more than two
// facts (booking number and name), so its session is like one from a QR code at the door. It may see the PIN if the kiosk's session may. A
// further device of a guest has the guest's rights.
func (l Link) session(now time.Time, device string) SessionSpec {
	s := SessionSpec{PropertyID: l.Row.PropertyID, ReservationID: l.Row.ReservationID, GuestID: l.Row.GuestID, Origin: OriginMail, Device: device,
		HandedBy: l.Row.HandedBy, TTL: LinksEndAt(l.Reservation).Sub(now)}
	if l.Source == FromKiosk {
		s.Origin, s.TTL = OriginDoor, doorSession
	}
	return s
}
