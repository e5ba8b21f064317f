package guest

import (
	"crypto/hmac"
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/reservation"
)

// keepAfterStay is how long links and the sessions of mailed links work after the end of a stay.
const keepAfterStay = 7 * 24 * time.Hour

// LinksEndAt returns when links to a stay, and the sessions of mailed links, end: keepAfterStay (7 days) after the end of the stay.
func LinksEndAt(stay *ent.Reservation) time.Time { return stay.ToAt.Add(keepAfterStay) }

var (
	errLinkNotFound = fault.New(fault.NotFound, fault.LinkNotFound, "the link is not valid: it is mistyped, replaced or expired, or the stay was canceled; use the link of the latest mail or ask the desk")
	errLinkBound    = fault.New(fault.Precondition, fault.LinkBound, "the link was opened on another device; ask for a new link")
)

// linkMAC returns the keyed hash under which a link's secret is stored and found.
func linkMAC(keys *keyring.Ring, secret string) []byte { return keys.MAC("guestLink", secret) }

// AddressMAC returns the keyed hash of a mail address at one property. Case does not count.
func AddressMAC(keys *keyring.Ring, propertyID, address string) []byte {
	return reservation.AddressMAC(keys, propertyID, address)
}

// loadReservation returns a reservation of a property, or the error fault.ReservationNotFound.
func loadReservation(tx *db.Tx, propertyID, reservationID string) (*ent.Reservation, error) {
	rows, err := tx.Reservation.Read(tx.Context(), "property_id = $1 AND id = $2", propertyID, reservationID)
	if err != nil {
		return nil, fmt.Errorf("load the reservation of a guest: %w", err)
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.NotFound, fault.ReservationNotFound, "no such reservation at this property")
	}
	return rows[0], nil
}

// Link is a valid link with its reservation.
type Link struct {
	Row         *ent.GuestLink
	Reservation *ent.Reservation
	Source      Source
}

// Source is where a link comes from.
type Source string

const (
	FromMail      Source = "mail"
	FromKiosk     Source = "kiosk"
	FromDevice    Source = "device"    // the link was made on another device of the same guest
	FromMainGuest Source = "mainGuest" // a link for a companion, shown to the main guest to pass on
	FromProfile   Source = "profile"   // mailed to the owner of a kept profile: see [FindProfileLink]
)

// sourceOf returns where a link comes from. A link from another device ends with the session of that device: then it returns
// errLinkNotFound. If that session's row is deleted, the link counts as a kiosk's.
func sourceOf(view *db.Tx, row *ent.GuestLink) (Source, error) {
	switch {
	case row.HandedBy == "" && row.AddressMAC == nil:
		return FromMainGuest, nil
	case row.HandedBy == "":
		return FromMail, nil
	}
	from, err := view.GuestSession.Query().Where(guestsession.PropertyID(row.PropertyID), guestsession.ID(row.HandedBy)).Only(view.Context())
	switch {
	case ent.IsNotFound(err):
		return FromKiosk, nil
	case err != nil:
		return "", fmt.Errorf("find the session that made a link: %w", err)
	case from.Origin != OriginMail:
		return FromKiosk, nil
	case from.RevokedAt != nil || !view.Now().Before(from.ExpiresAt):
		return "", errLinkNotFound
	}
	return FromDevice, nil
}

// LookUpLink returns the valid link with a secret, bound to a device or not, or errLinkNotFound. It changes nothing, because mail scanners
// open links.
func LookUpLink(view *db.Tx, keys *keyring.Ring, secret string) (Link, error) {
	if !keyring.IsToken(secret, keyring.GuestLink) {
		return Link{}, errLinkNotFound
	}
	row, err := view.GuestLink.Query().Where(guestlink.MAC(linkMAC(keys, secret))).Only(view.Context())
	if ent.IsNotFound(err) {
		return Link{}, errLinkNotFound
	}
	if err != nil {
		return Link{}, fmt.Errorf("find a guest's link: %w", err)
	}
	if row.RevokedAt != nil || !view.Now().Before(row.ExpiresAt) {
		return Link{}, errLinkNotFound
	}
	reserved, err := loadReservation(view, row.PropertyID, row.ReservationID)
	if fault.Has(err, fault.ReservationNotFound) {
		return Link{}, errLinkNotFound
	}
	if err != nil {
		return Link{}, err
	}
	if reserved.State == string(access.Canceled) || reserved.ErasedAt != nil || !view.Now().Before(LinksEndAt(reserved)) {
		return Link{}, errLinkNotFound
	}
	source, err := sourceOf(view, row)
	if err != nil {
		return Link{}, err
	}
	return Link{row, reserved, source}, nil
}

// BindLink binds a link to the caller's device and returns the device's session. device is what the device says it is. A link can be bound
// once: after that, BindLink returns errLinkBound. It also stores missing guests, and copies a kept profile to the main guest's form: see
// offerProfile. If the kiosk's session that made the link checked the guest in, the phone's session lasts as long as that of a mailed link.
func BindLink(tx *db.Tx, keys *keyring.Ring, secret, device string) (Session, error) {
	l, err := LookUpLink(tx, keys, secret)
	if err != nil {
		return Session{}, err
	}
	bound, err := tx.GuestLink.Update().SetBoundAt(tx.Now()).
		Where(guestlink.PropertyID(l.Row.PropertyID), guestlink.ID(l.Row.ID), guestlink.BoundAtIsNil()).Save(tx.Context())
	if err != nil {
		return Session{}, fmt.Errorf("bind a guest's link: %w", err)
	}
	if bound == 0 {
		return Session{}, errLinkBound
	}
	members, err := ensureParty(tx, l.Reservation)
	if err != nil {
		return Session{}, err
	}
	if l.Row.GuestID == "" {
		if err := offerProfile(tx, keys, members[0], l.Row.AddressMAC); err != nil {
			return Session{}, err
		}
	}
	spec := l.session(tx.Now(), device)
	if l.Source == FromKiosk {
		pressed, err := checkInSessions(tx, spec.PropertyID, []string{spec.ReservationID})
		if err != nil {
			return Session{}, err
		}
		if slices.Contains(pressed, spec.HandedBy) {
			spec.TTL = LinksEndAt(l.Reservation).Sub(tx.Now())
		}
	}
	return CreateSession(tx, keys, spec)
}

// IsCoveredBy reports whether one of the session tokens of a device already gives what the link would give: an active session of the same
// guest and origin.
func (l Link) IsCoveredBy(view *db.Tx, keys *keyring.Ring, tokens []string) (bool, error) {
	var hashes [][]byte
	for _, token := range tokens {
		if keyring.IsToken(token, keyring.SessionToken) {
			hashes = append(hashes, sessionMAC(keys, token))
		}
	}
	if len(hashes) == 0 {
		return false, nil
	}
	like := l.session(view.Now(), "")
	found, err := view.GuestSession.Query().Where(active(view, like.PropertyID, []predicate.GuestSession{
		guestsession.MACIn(hashes...), guestsession.ReservationID(like.ReservationID), guestsession.GuestID(like.GuestID), guestsession.Origin(like.Origin),
	})...).Exist(view.Context())
	if err != nil {
		return false, fmt.Errorf("find the session of a link: %w", err)
	}
	return found, nil
}

// RevokeLinks revokes the links of one companion, or of the booker if guestID is empty. Sessions go on. With unboundOnly it keeps the links
// that a device has opened.
func RevokeLinks(tx *db.Tx, propertyID, reservationID, guestID string, unboundOnly bool) error {
	update := tx.GuestLink.Update().SetRevokedAt(tx.Now()).Where(guestlink.PropertyID(propertyID), guestlink.ReservationID(reservationID),
		guestlink.GuestID(guestID), guestlink.RevokedAtIsNil())
	if unboundOnly {
		update.Where(guestlink.BoundAtIsNil())
	}
	if err := update.Exec(tx.Context()); err != nil {
		return fmt.Errorf("revoke a guest's links: %w", err)
	}
	return nil
}

// Renewal says to whom a new link is mailed, and which link it replaces. A link is replaced once. GuestID is empty for the booker.
type Renewal struct{ PropertyID, ReservationID, GuestID, Address, LinkID string }

// RenewLink ends a link and returns to whom a new one is mailed. It returns nil and changes nothing if the link is not valid or was not
// mailed, or if its address is no longer the guest's: then the new address has got a link of its own.
func RenewLink(tx *db.Tx, keys *keyring.Ring, secret string) (*Renewal, error) {
	l, err := LookUpLink(tx, keys, secret)
	if fault.Has(err, fault.LinkNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	address, err := l.mailedAddress(tx, keys)
	if err != nil || address == "" {
		return nil, err
	}
	err = tx.GuestLink.Update().SetRevokedAt(tx.Now()).
		Where(guestlink.PropertyID(l.Row.PropertyID), guestlink.ID(l.Row.ID)).Exec(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("revoke a guest's link: %w", err)
	}
	return &Renewal{l.Row.PropertyID, l.Row.ReservationID, l.Row.GuestID, address, l.Row.ID}, nil
}

// mailedAddress returns the mail address to which a link was mailed, if it is still one of the guest's, or "".
func (l Link) mailedAddress(tx *db.Tx, keys *keyring.Ring) (string, error) {
	known, err := l.presentAddresses(tx, keys)
	if err != nil {
		return "", err
	}
	for _, address := range known {
		if address != "" && hmac.Equal(AddressMAC(keys, l.Row.PropertyID, address), l.Row.AddressMAC) {
			return address, nil
		}
	}
	return "", nil
}

// presentAddresses returns the present mail addresses of the guest whom a link is for. For the booker they include the trusted addresses
// that the main guest gave: a mail with a code may have gone there.
func (l Link) presentAddresses(tx *db.Tx, keys *keyring.Ring) ([]string, error) {
	if l.Row.GuestID == "" {
		booker, err := reservation.Service{Keys: keys}.Booker(tx.Context(), l.Reservation)
		if err != nil {
			return nil, err
		}
		given, err := TrustedAddresses(tx, keys, l.Row.PropertyID, l.Row.ReservationID)
		if booker.Email != nil {
			given = append(given, *booker.Email)
		}
		return given, err
	}
	g, err := tx.Guest.Query().Where(entguest.PropertyID(l.Row.PropertyID), entguest.ID(l.Row.GuestID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load a guest: %w", err)
	}
	p, err := openPerson(tx.Context(), keys, g)
	return p.companionAddresses(), err
}
