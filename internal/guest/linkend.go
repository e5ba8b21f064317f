package guest

import (
	"fmt"

	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	"latchkey.dev/ent/invitation"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/db"
)

// EndLinksAndSessions revokes all links of a reservation and ends all its sessions. The booker of a stay that is reinstated later is
// invited again.
func EndLinksAndSessions(tx *db.Tx, propertyID, reservationID string) error {
	if err := revokeLinksWhere(tx, guestlink.PropertyID(propertyID), guestlink.ReservationID(reservationID)); err != nil {
		return err
	}
	if err := EndSessions(tx, propertyID, reservationID, ""); err != nil {
		return err
	}
	return forgetInvitation(tx, propertyID, reservationID)
}

// EndFormerAddress ends what a booker's former address could reach: links that were mailed elsewhere than to the present address, and
// the devices that such links have bound. Sessions that began at a kiosk or at the door go on, and so do companions'. The present address
// is invited again. presentMAC is nil if the booker has none.
func EndFormerAddress(tx *db.Tx, propertyID, reservationID string, presentMAC []byte) error {
	which := []predicate.GuestLink{guestlink.PropertyID(propertyID), guestlink.ReservationID(reservationID), guestlink.GuestID("")}
	if presentMAC != nil {
		which = append(which, guestlink.Or(guestlink.AddressMACNEQ(presentMAC), guestlink.AddressMACIsNil()))
	}
	if err := revokeLinksWhere(tx, which...); err != nil {
		return err
	}
	err := endSessionsWhere(tx, guestsession.PropertyID(propertyID), guestsession.ReservationID(reservationID), guestsession.GuestID(""), guestsession.Origin(OriginMail))
	if err != nil {
		return err
	}
	return forgetInvitation(tx, propertyID, reservationID)
}

func revokeLinksWhere(tx *db.Tx, which ...predicate.GuestLink) error {
	err := tx.GuestLink.Update().SetRevokedAt(tx.Now()).Where(append(which, guestlink.RevokedAtIsNil())...).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("revoke the links of a stay: %w", err)
	}
	return nil
}

// forgetInvitation makes the booker of a reservation one who was not invited yet.
func forgetInvitation(tx *db.Tx, propertyID, reservationID string) error {
	err := tx.Invitation.Update().Where(invitation.PropertyID(propertyID), invitation.ReservationID(reservationID)).
		ClearInvitedAt().SetMailID("").ClearRemindedAt().SetReminderID("").Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("forget an invitation: %w", err)
	}
	return nil
}
