package guest

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	entreservation "latchkey.dev/ent/reservation"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// MailedLink is a link in the text of a mail, or the link to a test stay. Its secret is made first; [MailedLink.Store] makes the link work.
type MailedLink struct {
	Stay    *ent.Reservation
	GuestID string // GuestID is a companion; empty: the link is the booker's and acts for the whole party
	Secret  string
	Address string // Address is where the mail goes
}

// Store stores the hash of the link's secret. A retried mail has the same secret, so its link is stored once.
func (l MailedLink) Store(tx *db.Tx, keys *keyring.Ring) error {
	mac := linkMAC(keys, l.Secret)
	stored, err := tx.GuestLink.Query().Where(guestlink.PropertyID(l.Stay.PropertyID), guestlink.MAC(mac)).Exist(tx.Context())
	if err == nil && !stored {
		err = tx.GuestLink.Create().SetID(id.New(id.GuestLink)).SetPropertyID(l.Stay.PropertyID).SetReservationID(l.Stay.ID).SetGuestID(l.GuestID).
			SetMAC(mac).SetAddressMAC(AddressMAC(keys, l.Stay.PropertyID, l.Address)).
			SetExpiresAt(LinksEndAt(l.Stay)).SetCreatedAt(tx.Now()).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("store the link of a mail: %w", err)
	}
	return nil
}

// Prolong extends links and sessions because the PMS has moved, prolonged or started stays, which now end at end: the links to them, except
// those that a session made for another device, and the sessions of mailed links. They work for keepAfterStay after end. Expired ones work
// again, revoked ones do not. It shortens none. It also extends the active sessions on phones of guests who checked in without a link: see
// [checkInSessions].
func Prolong(tx *db.Tx, propertyID string, end time.Time, reservationIDs ...string) error {
	until := end.Add(keepAfterStay)
	err := tx.GuestLink.Update().Where(
		guestlink.PropertyID(propertyID), guestlink.ReservationIDIn(reservationIDs...), guestlink.HandedBy(""), guestlink.RevokedAtIsNil(), guestlink.ExpiresAtLT(until),
	).SetExpiresAt(until).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("prolong the links to a stay: %w", err)
	}
	pressed, err := checkInSessions(tx, propertyID, reservationIDs)
	if err != nil {
		return err
	}
	lasting := guestsession.Origin(OriginMail)
	if len(pressed) > 0 {
		byGuest := guestsession.Or(guestsession.IDIn(pressed...), guestsession.HandedByIn(pressed...))
		lasting = guestsession.Or(lasting, guestsession.And(guestsession.Origin(OriginDoor), byGuest, guestsession.ExpiresAtGT(tx.Now())))
	}
	err = tx.GuestSession.Update().Where(
		guestsession.PropertyID(propertyID), guestsession.ReservationIDIn(reservationIDs...), lasting, guestsession.RevokedAtIsNil(),
		guestsession.ExpiresAtLT(until),
	).SetExpiresAt(until).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("prolong the sessions of a stay: %w", err)
	}
	return nil
}

// checkInSessions returns the ids of the sessions that last pressed check-in, of stays that are started, unless the PMS refused that
// check-in. For a guest without a mailed link, the phone with such a session, or another phone that took the stay from it, is the only way
// to the code. So its session lasts as long as that of a mailed link. The result includes sessions of tablets, by which callers find the
// phones that took the stay; a tablet's own session does not last longer.
func checkInSessions(view *db.Tx, propertyID string, reservationIDs []string) ([]string, error) {
	started, err := view.Reservation.Query().Where(entreservation.PropertyID(propertyID), entreservation.IDIn(reservationIDs...),
		entreservation.State(string(access.Started))).IDs(view.Context())
	if err != nil || len(started) == 0 {
		return nil, err
	}
	stays, err := view.Stay.Query().Where(entstay.PropertyID(propertyID), entstay.ReservationIDIn(started...), entstay.AttemptSessionNEQ("")).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("find the sessions that checked guests in: %w", err)
	}
	var sessions []string
	for _, stay := range stays {
		if mayBeCheckedIn(stay) {
			sessions = append(sessions, stay.AttemptSession)
		}
	}
	return sessions, nil
}

// RevokeMailedLinks revokes links that a mail contains, except those that a device has opened.
func RevokeMailedLinks(tx *db.Tx, keys *keyring.Ring, propertyID string, secrets []string) error {
	macs := make([][]byte, len(secrets))
	for i, secret := range secrets {
		macs[i] = linkMAC(keys, secret)
	}
	err := tx.GuestLink.Update().SetRevokedAt(tx.Now()).Where(guestlink.PropertyID(propertyID), guestlink.MACIn(macs...),
		guestlink.BoundAtIsNil(), guestlink.RevokedAtIsNil()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("revoke the links of a mail: %w", err)
	}
	return nil
}
