package guest

import (
	"context"
	"fmt"
	"time"

	enterasure "latchkey.dev/ent/erasure"
	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	entmail "latchkey.dev/ent/mail"
	entnotice "latchkey.dev/ent/notice"
	entphone "latchkey.dev/ent/phone"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/watch"
)

// Erase erases the data of a request whose time has come, all in this transaction: a server that is killed has erased everything or
// nothing. The official forms of guests who arrived go to the guest register first. done is false if the time has not come: the stay may
// have been prolonged. It is true if the reservation was removed.
func Erase(tx *db.Tx, keys *keyring.Ring, row *ErasureRow) (done bool, err error) {
	p, _, err := ViewParty(tx, keys, row.PropertyID, row.ReservationID)
	if fault.Has(err, fault.ReservationNotFound) { // it was removed with all its data
		return true, finishErasure(tx, row, "", nil)
	}
	if err != nil {
		return false, err
	}
	if p.planErasure(row.CreatedAt, tx.Now()).From.After(tx.Now()) {
		return false, nil
	}
	kept := p.erasure(row, row.GuestID, tx.Now())
	for _, f := range p.officialForms() {
		if covers(row.GuestID, f.guest) && f.guest.Row.EraseAt == nil {
			if err := p.storeEntry(tx, keys, f); err != nil {
				return false, err
			}
		}
	}
	if row.GuestID != "" {
		err = p.eraseCompanion(tx, row.GuestID)
	} else {
		err = p.eraseParty(tx, keys, row)
	}
	if err != nil {
		return false, err
	}
	watch.Notify(tx, row.PropertyID, watch.Reservations, row.ReservationID)
	watch.Notify(tx, row.PropertyID, watch.Messages)
	watch.Notify(tx, row.PropertyID, watch.Notices)
	if kept.Law == "" {
		return true, finishErasure(tx, row, "", nil)
	}
	return true, finishErasure(tx, row, kept.Law, new(kept.KeptUntil.UTC()))
}

// finishErasure records that an erasure is done. law and keptUntil name the country rule that keeps official forms, and until when; empty
// and nil: none. It stores row.KeepProfile, and forgets the mail that confirmed the request, because that is erased.
func finishErasure(tx *db.Tx, row *ErasureRow, law string, keptUntil *time.Time) error {
	err := tx.Erasure.Update().Where(enterasure.PropertyID(row.PropertyID), enterasure.ID(row.ID)).
		SetFinishedAt(tx.Now()).SetMailID("").SetKeepProfile(row.KeepProfile).SetLaw(law).SetNillableKeptUntil(keptUntil).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("record that an erasure is done: %w", err)
	}
	return nil
}

// eraseParty erases a whole party. If the stay no longer uses a profile, because the booking got more rooms since the request, it keeps the
// profile and sets row.KeepProfile, which the caller must store: the receipt says so.
func (p *Party) eraseParty(tx *db.Tx, keys *keyring.Ring, row *ErasureRow) error {
	uses, err := p.UsesProfile(tx)
	if err != nil {
		return err
	}
	row.KeepProfile = row.KeepProfile || !uses
	return p.eraseAll(tx, keys, row.KeepProfile)
}

// eraseAll ends all links and sessions, and erases what is stored about a party and its booker, and the profile for the next stay unless
// keepProfile is set. Of the reservation it leaves the dates, the rooms and the PMS's ids, except those of companions.
func (p *Party) eraseAll(tx *db.Tx, keys *keyring.Ring, keepProfile bool) error {
	if !keepProfile {
		if err := p.deleteProfile(tx, keys); err != nil {
			return err
		}
	}
	propertyID, reservationID := p.Reservation.PropertyID, p.Reservation.ID
	if err := EndLinksAndSessions(tx, propertyID, reservationID); err != nil {
		return err
	}
	if _, err := reservation.EraseGuests(tx, propertyID, reservationID); err != nil {
		return err
	}
	if err := reservation.EraseNotices(tx, propertyID, reservationID); err != nil {
		return err
	}
	return reservation.Service{Keys: keys}.EraseBooker(tx, p.Reservation)
}

// eraseCompanion erases what is stored about one companion. The party keeps its size: [LoadParty] adds a guest without data in the
// companion's place.
func (p *Party) eraseCompanion(tx *db.Tx, guestID string) error {
	propertyID := p.Reservation.PropertyID
	for _, m := range p.Members {
		if m.Row.ID != guestID {
			continue
		}
		if err := deleteCompanion(tx, m); err != nil {
			return err
		}
	}
	return execAll(tx,
		tx.Mail.Delete().Where(entmail.PropertyID(propertyID), entmail.ReservationID(p.Reservation.ID), entmail.GuestID(guestID)),
		tx.GuestLink.Delete().Where(guestlink.PropertyID(propertyID), guestlink.ReservationID(p.Reservation.ID), guestlink.GuestID(guestID)),
		tx.GuestSession.Delete().Where(guestsession.PropertyID(propertyID), guestsession.ReservationID(p.Reservation.ID), guestsession.GuestID(guestID)),
		tx.Notice.Delete().Where(entnotice.PropertyID(propertyID), entnotice.Subject(p.Reservation.ID), entnotice.OnceKeyHasPrefix(guestID+"/")),
	)
}

// erasePhoneNames erases the names of the phones that a companion enrolled.
func erasePhoneNames(tx *db.Tx, propertyID, guestID string) error {
	sessions, err := tx.GuestSession.Query().Where(guestsession.PropertyID(propertyID), guestsession.GuestID(guestID)).IDs(tx.Context())
	if err == nil {
		err = tx.Phone.Update().Where(entphone.PropertyID(propertyID), entphone.Or(entphone.GuestID(guestID), entphone.SessionIn(sessions...))).ClearLabel().Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("erase the names of a companion's phones: %w", err)
	}
	return nil
}

// execAll runs updates or deletions in their order, and stops at the first error.
func execAll(tx *db.Tx, all ...interface {
	Exec(ctx context.Context) (int, error)
}) error {
	for _, one := range all {
		if _, err := one.Exec(tx.Context()); err != nil {
			return fmt.Errorf("erase what a guest left: %w", err)
		}
	}
	return nil
}

// PendingErasures returns when the oldest pending erasure of each reservation was requested, by reservation. Reservations without one are
// missing.
func PendingErasures(view *db.Tx, propertyID string, reservationIDs []string) (map[string]time.Time, error) {
	rows, err := view.Erasure.Query().Where(enterasure.PropertyID(propertyID), enterasure.ReservationIDIn(reservationIDs...), enterasure.FinishedAtIsNil()).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list the pending erasures of reservations: %w", err)
	}
	requested := map[string]time.Time{}
	for _, row := range rows {
		if first, ok := requested[row.ReservationID]; !ok || row.CreatedAt.Before(first) {
			requested[row.ReservationID] = row.CreatedAt
		}
	}
	return requested, nil
}
