package guest

import (
	"fmt"

	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	"latchkey.dev/ent/invitation"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// EndLinksAndSessions revokes all links of reservations and ends all their sessions, with the SmartKeys of these. The booker of a stay that
// is reinstated later is invited again.
func EndLinksAndSessions(tx *db.Tx, propertyID string, reservationIDs ...string) error {
	if len(reservationIDs) == 0 {
		return nil
	}
	if err := revokeLinksWhere(tx, guestlink.PropertyID(propertyID), guestlink.ReservationIDIn(reservationIDs...)); err != nil {
		return err
	}
	if err := endSessions(tx, propertyID, guestsession.ReservationIDIn(reservationIDs...)); err != nil {
		return err
	}
	return ForgetInvitations(tx, propertyID, reservationIDs...)
}

// EndFormerAddress ends the access of a booker's former address to reservations: the main guest's links, except those mailed to the present
// address, and all the main guest's sessions of mailed links, with their SmartKeys. Sessions that began at a kiosk or at the door go on,
// and so do those of companions. presentMAC is the keyed hash of the present address, or nil if the booker has no address. Mail addresses
// that were given in the main guest's sessions of mailed links are no longer trusted: see isTrusted.
func EndFormerAddress(tx *db.Tx, propertyID string, presentMAC []byte, reservationIDs ...string) error {
	which := []predicate.GuestLink{guestlink.PropertyID(propertyID), guestlink.ReservationIDIn(reservationIDs...), guestlink.GuestID("")}
	if presentMAC != nil {
		which = append(which, guestlink.Or(guestlink.AddressMACNEQ(presentMAC), guestlink.AddressMACIsNil()))
	}
	if err := revokeLinksWhere(tx, which...); err != nil {
		return err
	}
	return reservation.EndMailDevices(tx, propertyID, reservationIDs...)
}

// HadLinkAt reports whether a link of the main guest was mailed to an address, also if the link has ended, until [DeleteExpired] deletes
// it. addressMAC is the address's keyed hash.
func HadLinkAt(view *db.Tx, propertyID, reservationID string, addressMAC []byte) (bool, error) {
	found, err := view.GuestLink.Query().Where(guestlink.PropertyID(propertyID), guestlink.ReservationID(reservationID), guestlink.GuestID(""),
		guestlink.AddressMAC(addressMAC)).Exist(view.Context())
	if err != nil {
		return false, fmt.Errorf("find the links that were mailed to an address: %w", err)
	}
	return found, nil
}

// HasMailedLink reports whether a mailed link of the main guest works.
func HasMailedLink(view *db.Tx, propertyID, reservationID string) (bool, error) {
	found, err := view.GuestLink.Query().Where(guestlink.PropertyID(propertyID), guestlink.ReservationID(reservationID), guestlink.GuestID(""),
		guestlink.AddressMACNotNil(), guestlink.RevokedAtIsNil(), guestlink.ExpiresAtGT(view.Now())).Exist(view.Context())
	if err != nil {
		return false, fmt.Errorf("find the mailed links of a stay: %w", err)
	}
	return found, nil
}

// revokeLinksWhere revokes the links that match which, unless they are revoked already. The sessions that they opened go on.
func revokeLinksWhere(tx *db.Tx, which ...predicate.GuestLink) error {
	err := tx.GuestLink.Update().SetRevokedAt(tx.Now()).Where(append(which, guestlink.RevokedAtIsNil())...).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("revoke the links of a stay: %w", err)
	}
	return nil
}

// ForgetInvitations makes the reservations count as not invited and not reminded, so that the next sweep can mail their bookers again.
func ForgetInvitations(tx *db.Tx, propertyID string, reservationIDs ...string) error {
	err := tx.Invitation.Update().Where(invitation.PropertyID(propertyID), invitation.ReservationIDIn(reservationIDs...)).
		ClearInvitedAt().SetMailID("").ClearRemindedAt().SetReminderID("").Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("forget an invitation: %w", err)
	}
	return nil
}
