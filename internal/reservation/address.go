package reservation

import (
	"bytes"
	"fmt"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	"latchkey.dev/ent/invitation"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/text"
	"latchkey.dev/internal/watch"
)

// AddressMAC returns the keyed hash of a mail address at one property. Upper and lower case give the same hash, and blanks around the
// address do not count.
func AddressMAC(keys *keyring.Ring, propertyID, address string) []byte {
	return keys.MAC("guestAddress", propertyID, text.FoldAddress(address))
}

// address returns the booker's mail address in the form in which addresses are compared, or "" if there is none.
func (b Booker) address() string {
	if b.Email == nil {
		return ""
	}
	return text.FoldAddress(*b.Email)
}

// endFormerAddress ends the links that were mailed to the booker's former address, and all sessions that the booker opened from mails, with
// their SmartKeys. It does nothing if the address is the same, or if the former one has no valid link. It runs in the transaction that
// changes the address, so that no former link works once the PMS has the response. The sweep of invitations ends links at other addresses
// and invites the present address.
func (svc Service) endFormerAddress(tx *db.Tx, row *ent.Reservation, before, after Booker) error {
	former := before.address()
	if former == "" || former == after.address() {
		return nil
	}
	n, err := tx.GuestLink.Update().SetRevokedAt(tx.Now()).Where(guestlink.PropertyID(row.PropertyID), guestlink.ReservationID(row.ID), guestlink.GuestID(""),
		guestlink.AddressMAC(AddressMAC(svc.Keys, row.PropertyID, former)), guestlink.RevokedAtIsNil()).Save(tx.Context())
	if err != nil {
		return fmt.Errorf("revoke the links of a booker's former address: %w", err)
	}
	if n == 0 {
		return nil
	}
	if err := EndMailDevices(tx, row.PropertyID, row.ID); err != nil {
		return err
	}
	return markMoved(tx, row)
}

// EndMailDevices ends the sessions that were opened from mails to the booker of reservations, with the SmartKeys of their phones, because
// the booker's address was corrected. A person at a former address may have given an address of their own in such a session. So
// EndMailDevices also marks those that ended before: see the column of_former_address. It takes back the answers that such a link put into
// the form: see takeBackOffers.
func EndMailDevices(tx *db.Tx, propertyID string, reservationIDs ...string) error {
	opened := []predicate.GuestSession{guestsession.PropertyID(propertyID), guestsession.ReservationIDIn(reservationIDs...), guestsession.GuestID(""),
		guestsession.Origin(actor.OriginMail)}
	active, err := tx.GuestSession.Query().Where(append(opened, guestsession.RevokedAtIsNil())...).IDs(tx.Context())
	if err == nil && len(active) > 0 {
		err = tx.GuestSession.Update().SetRevokedAt(tx.Now()).Where(guestsession.PropertyID(propertyID), guestsession.IDIn(active...)).Exec(tx.Context())
	}
	if err == nil {
		err = tx.GuestSession.Update().SetOfFormerAddress(true).Where(opened...).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("end the devices of a booker's former address: %w", err)
	}
	if err := takeBackOffers(tx, propertyID, reservationIDs...); err != nil {
		return err
	}
	return mobilekey.RevokePhonesOfSessions(tx, propertyID, active...)
}

// takeBackOffers deletes the answers of main guests that come from the profile of the booker's former address and that no guest of the stay
// has confirmed: none was saved, no one decided what is shared of them, and the guests have not arrived. They may be another person's, whom
// the present booker must not read. The stay then keeps no answers until the present booker wants it. The profile stays: if the booker wants
// none, it is deleted, because it may be their own under a former address.
func takeBackOffers(tx *db.Tx, propertyID string, reservationIDs ...string) error {
	coming, err := tx.Reservation.Query().Where(entreservation.PropertyID(propertyID), entreservation.IDIn(reservationIDs...), entreservation.ArrivedAtIsNil()).
		IDs(tx.Context())
	if err != nil {
		return fmt.Errorf("find the stays of a booker's former address: %w", err)
	}
	offered := []predicate.Guest{entguest.PropertyID(propertyID), entguest.ReservationIDIn(coming...), entguest.FromProfile(true), entguest.SharingSetAtIsNil()}
	stays, err := tx.Guest.Query().Where(offered...).Select(entguest.FieldReservationID).Strings(tx.Context())
	if err != nil {
		return fmt.Errorf("find the answers of a booker's former address: %w", err)
	}
	if len(stays) == 0 {
		return nil
	}
	err = tx.Guest.Update().Where(offered...).ClearPerson().SetFromProfile(false).SetComplete(false).SetLaw("").Exec(tx.Context())
	if err == nil {
		err = tx.Stay.Update().Where(entstay.PropertyID(propertyID), entstay.ReservationIDIn(stays...)).SetKeepProfile(false).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("take back the answers of a booker's former address: %w", err)
	}
	watch.Notify(tx, propertyID, watch.Reservations, stays...)
	return nil
}

// beginAgain prepares the row of an erased stay for a new stay with the same id. It revokes the phones of the former guest, which could
// otherwise get SmartKeys for the doors of the new one. Links and sessions were deleted with the data of the former guest. The new guest
// counts as not invited, and gets a PIN of their own.
func (svc Service) beginAgain(tx *db.Tx, row *ent.Reservation) error {
	err := tx.Reservation.Update().Where(entreservation.PropertyID(row.PropertyID), entreservation.ID(row.ID)).ClearErasedAt().Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store a new stay with the id of an erased one: %w", err)
	}
	err = tx.Invitation.Update().Where(invitation.PropertyID(row.PropertyID), invitation.ID(row.ID)).
		ClearInvitedAt().SetMailID("").ClearRemindedAt().SetReminderID("").Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("forget the invitation of an erased stay: %w", err)
	}
	if err := access.ForbidReopening(tx, svc.Keys, row.PropertyID, row.ID); err != nil {
		return err
	}
	return mobilekey.RevokePhonesOfStay(tx, row.PropertyID, row.ID)
}

// movedMAC is a hash that no address has. In an invitation it means that the booker's address has changed: see [IsMarkedMoved].
var movedMAC = []byte{0}

// IsMarkedMoved reports whether the hash in an invitation is not that of an address, but means that the booker's address has changed and
// that the access of the former one ended.
func IsMarkedMoved(addressMAC []byte) bool { return bytes.Equal(addressMAC, movedMAC) }

// markMoved marks the booker's address as changed, so that the next sweep of invitations mails a link to the present
// address. It creates the row of the invitation if there is none: a stay that began as started has none yet.
func markMoved(tx *db.Tx, row *ent.Reservation) error {
	n, err := tx.Invitation.Update().Where(invitation.PropertyID(row.PropertyID), invitation.ID(row.ID)).SetAddressMAC(movedMAC).SetNextAt(tx.Now()).Save(tx.Context())
	if err == nil && n == 0 {
		err = tx.Invitation.Create().SetID(row.ID).SetPropertyID(row.PropertyID).SetReservationID(row.ID).SetSeenAt(row.CreatedAt).SetAddressMAC(movedMAC).
			SetNextAt(tx.Now()).SetCreatedAt(tx.Now()).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("record that a booker's address changed: %w", err)
	}
	return nil
}
