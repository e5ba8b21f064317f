package worker

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"latchkey.dev/ent"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
)

// checkRecipient returns errOutdated if the mail may reach a former address: any data of the booker, or the guest's address, changed after
// it was rendered. It checks no mail without stays.
func (m Mails) checkRecipient(tx *db.Tx, row *mail.Row, r rendered) error {
	if len(r.stays) == 0 {
		return nil
	}
	used := map[string][]byte{}
	for _, stay := range r.stays {
		used[stay.ID] = stay.Booker
	}
	present, err := tx.Reservation.Query().Where(entreservation.PropertyID(row.PropertyID), entreservation.IDIn(slices.Collect(maps.Keys(used))...)).
		Select(entreservation.FieldID, entreservation.FieldBooker).All(tx.Context())
	if err != nil {
		return fmt.Errorf("load the bookers of a mail: %w", err)
	}
	for _, stay := range present {
		if !bytes.Equal(stay.Booker, used[stay.ID]) {
			return errOutdated
		}
	}
	if row.GuestID != "" {
		is, err := m.isCompanions(tx, row, r.text.To)
		if err == nil && !is {
			err = errOutdated
		}
		return err
	}
	if mail.Kind(row.Kind) == mail.Staff || isListOf(row) {
		return nil // the recipient does not follow the guest
	}
	address, _, err := m.recipientNow(tx, row, r.stays[0], r.text.To)
	if err == nil && address != r.text.To {
		err = errOutdated
	}
	return err
}

// isCompanions reports whether an address is still one of the companion to whom a mail goes.
func (m Mails) isCompanions(view *db.Tx, row *mail.Row, address string) (bool, error) {
	present, err := guest.CompanionAddresses(view, m.Keys, row.PropertyID, row.GuestID)
	return slices.ContainsFunc(present, func(one string) bool { return strings.EqualFold(one, address) }), err
}

// isListOf reports whether a mail is a list of rooms that a sweep ordered for one address. It is false for a list that staff ordered again:
// such a mail goes to the guest's present address.
func isListOf(row *mail.Row) bool { return listsRooms(mail.Kind(row.Kind)) && row.OnceKey != nil }

// isRenewal reports whether a mail has the link that a guest asked for at the address of a former link. It is false for a mail that staff
// ordered: such a mail goes to the guest's present address.
func isRenewal(row *mail.Row) bool { return mail.Kind(row.Kind) == mail.Link && row.OnceKey != nil }

// recipientNow returns the address to which a mail to the booker goes now, or "". ordered is its recipient until now, or "": a list of rooms
// keeps it, and a renewal while it is one of the guest's addresses. Any other mail goes to the address of recipientOf, also if an
// earlier attempt had another one: a former address gets no data of the stay. trusted is false if the recipient may not be the guest.
func (m Mails) recipientNow(view *db.Tx, row *mail.Row, stay *ent.Reservation, ordered string) (address string, trusted bool, err error) {
	switch {
	case ordered == "":
	case isListOf(row):
		return ordered, true, nil
	case isRenewal(row):
		is, err := m.isBookers(view, stay, ordered)
		if err != nil || !is {
			return "", true, err
		}
		return ordered, true, nil
	}
	return m.recipientOf(view, stay, mail.Kind(row.Kind))
}

// isBookers reports whether an address is one of the main guest's: the booker's, or a trusted one that the guest gave. These are the
// addresses at which [guest.RenewLink] renews a link.
func (m Mails) isBookers(view *db.Tx, stay *ent.Reservation, address string) (bool, error) {
	booked, err := bookerAddress(view, m.Reservations, stay)
	if err != nil || strings.EqualFold(booked, strings.TrimSpace(address)) {
		return err == nil, err
	}
	given, err := guest.TrustedAddresses(view, m.Keys, stay.PropertyID, stay.ID)
	return slices.ContainsFunc(given, func(one string) bool { return strings.EqualFold(one, address) }), err
}

// addressBooker sets the recipient of a mail to the booker: see recipientNow. A renewal to a former address is canceled. Without an address
// that reaches the guest, the recipient is empty.
func (r *renderer) addressBooker(stay *ent.Reservation) error {
	address, trusted, err := r.recipientNow(r.view, r.row, stay, r.to)
	if err != nil {
		return err
	}
	r.out.canceled = address == "" && r.to != "" && isRenewal(r.row)
	r.to, r.occasion.Plain = address, !trusted
	return nil
}

// greet sets the booker's first name in a mail to the booker, unless the recipient may be another person. Of a list it is that of the first
// stay on the list: the booker of the mail's own reservation may be another person by now.
func (r *renderer) greet(stays []*ent.Reservation) error {
	if r.row.GuestID != "" || r.occasion.Plain || len(stays) == 0 {
		return nil
	}
	booker, err := r.Reservations.Booker(r.view.Context(), stays[0])
	if err == nil && booker.FirstName != nil {
		r.occasion.FirstName = *booker.FirstName
	}
	return err
}
