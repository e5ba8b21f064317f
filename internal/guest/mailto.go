package guest

import (
	"fmt"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/watch"
)

// mailTo is an address that a guest gave for the mails about the stay, and the session in which it was given.
type mailTo struct {
	Address string `json:"address"`
	By      string `json:"by"`
}

// SetMailAddress stores the address to which the mails of a stay go while the PMS has none that reaches the guest (it has none, or an
// agency's). Links that were mailed to a replaced address end: see endGivenAddress. A companion's session gets ErrMainGuestOnly. A session
// of two facts (booking number and name) gets errMailLinkOnly if it would replace an address that was given with the link of the mail.
func SetMailAddress(tx *db.Tx, keys *keyring.Ring, a actor.Actor, address string) error {
	p, err := loadOwnParty(tx, keys, a)
	if err != nil {
		return err
	}
	m := p.Members[0]
	may, err := p.MayGiveAddress(tx, a)
	if err != nil {
		return err
	}
	if !may {
		return errMailLinkOnly
	}
	if former := m.mailTo; former != nil && former.Address != address {
		if err := endGivenAddress(tx, keys, a, former.Address); err != nil {
			return err
		}
	}
	m.mailTo = &mailTo{Address: address, By: a.ID}
	sealed, err := sealPerson(tx.Context(), keys, m.Row, m.person())
	if err != nil {
		return err
	}
	err = tx.Guest.Update().Where(entguest.PropertyID(a.PropertyID), entguest.ID(m.Row.ID)).SetPerson(sealed).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store a guest's mail address: %w", err)
	}
	watch.Notify(tx, a.PropertyID, watch.Reservations, m.Row.ReservationID)
	return nil
}

// MayGiveAddress reports whether a session may set or replace the address for the mails about the stay. Only a session of a mailed link may
// replace an address that was given with one.
func (p *Party) MayGiveAddress(view *db.Tx, a actor.Actor) (bool, error) {
	if a.Origin == OriginMail || len(p.Members) == 0 || p.Members[0].mailTo == nil {
		return true, nil
	}
	mailed, err := view.GuestSession.Query().Where(guestsession.PropertyID(a.PropertyID), guestsession.ID(p.Members[0].mailTo.By), guestsession.Origin(OriginMail)).Exist(view.Context())
	if err != nil {
		return false, fmt.Errorf("find the session of a mail address: %w", err)
	}
	return !mailed, nil
}

// endGivenAddress ends the links that were mailed to an address which a guest gave and has now replaced: it may have been mistyped. If
// there was such a link, it also ends the main guest's sessions of mailed links, except the caller's.
func endGivenAddress(tx *db.Tx, keys *keyring.Ring, a actor.Actor, former string) error {
	n, err := tx.GuestLink.Update().SetRevokedAt(tx.Now()).Where(guestlink.PropertyID(a.PropertyID), guestlink.ReservationID(a.ReservationID),
		guestlink.GuestID(""), guestlink.AddressMAC(AddressMAC(keys, a.PropertyID, former)), guestlink.RevokedAtIsNil()).Save(tx.Context())
	if err != nil {
		return fmt.Errorf("revoke the links of an address that a guest replaced: %w", err)
	}
	if n == 0 {
		return nil
	}
	return endSessions(tx, a.PropertyID, guestsession.ReservationID(a.ReservationID), guestsession.GuestID(""), guestsession.Origin(OriginMail), guestsession.IDNEQ(a.ID))
}

// MailAddress returns the address that the main guest gave with [SetMailAddress], or that a companion typed on a link of their own, or "".
func (m Member) MailAddress() string {
	if m.mailTo == nil {
		return ""
	}
	return m.mailTo.Address
}

// GivenAddresses returns the addresses that the main guest gave: that of [SetMailAddress], then that of the form. It panics for a party
// without stored guests.
func (p *Party) GivenAddresses() []string { return addressesOf(givenAddresses(p.Members[0].person())) }

// addressesOf returns the addresses without the sessions in which they were given.
func addressesOf(all []mailTo) []string {
	out := make([]string, len(all))
	for i, given := range all {
		out[i] = given.Address
	}
	return out
}

// givenAddresses returns the mail addresses that a guest gave, with the session in which each was given.
func givenAddresses(p person) (all []mailTo) {
	if p.MailTo != nil {
		all = append(all, *p.MailTo)
	}
	if address := p.Answers[rule.Email]; address != "" {
		all = append(all, mailTo{Address: address, By: p.By[rule.Email]})
	}
	return all
}

// GivenAddresses returns the addresses that the main guest of a stay gave: that of [SetMailAddress], then that of the form.
func GivenAddresses(view *db.Tx, keys *keyring.Ring, propertyID, reservationID string) ([]string, error) {
	answered, err := openMain(view, keys, propertyID, reservationID)
	return addressesOf(givenAddresses(answered)), err
}

// openMain decrypts what the main guest of a stay answered. It is empty until a guest opens the stay.
func openMain(view *db.Tx, keys *keyring.Ring, propertyID, reservationID string) (person, error) {
	guests, err := ListGuests(view, propertyID, reservationID)
	if err != nil || len(guests) == 0 || guests[0].Role != Main {
		return person{}, err
	}
	return openPerson(view.Context(), keys, guests[0])
}

// TrustedAddresses returns those of the main guest's [GivenAddresses] to which a code may be mailed. A stranger who knows a number and a
// name can give an address at a kiosk. So an address counts only if the same session pressed check-in, or came from a mailed link.
func TrustedAddresses(view *db.Tx, keys *keyring.Ring, propertyID, reservationID string) ([]string, error) {
	answered, err := openMain(view, keys, propertyID, reservationID)
	if err != nil {
		return nil, err
	}
	stay, err := LoadStay(view, propertyID, reservationID)
	if err != nil {
		return nil, err
	}
	return trustedAddresses(view, propertyID, stay, answered)
}

// TrustedAddresses returns the addresses that the party's main guest gave and to which a code may be mailed: see the function
// [TrustedAddresses].
func (p *Party) TrustedAddresses(view *db.Tx) ([]string, error) {
	if len(p.Members) == 0 || p.Members[0].Row.Role != Main {
		return nil, nil
	}
	return trustedAddresses(view, p.Reservation.PropertyID, p.Stay, p.Members[0].person())
}

// trustedAddresses returns those of the given addresses to which a code may be mailed.
func trustedAddresses(view *db.Tx, propertyID string, stay *ent.Stay, answered person) ([]string, error) {
	var all []string
	for _, given := range givenAddresses(answered) {
		trusted, err := isTrusted(view, propertyID, stay, given.By)
		if err != nil {
			return nil, err
		}
		if trusted {
			all = append(all, given.Address)
		}
	}
	return all, nil
}

// isTrusted reports whether an address that was given in a session counts. It follows the rule of the PIN, see [isPressedBy].
//
//	the address was given by                      it counts
//	a session of a mailed link                    yes, unless the booker's address was corrected afterwards
//	the session that pressed check-in             yes
//	the phone that took the stay from it          yes
//	a kiosk that handed the stay to the presser   no: another person may have scanned the code
//	any other session                             no
func isTrusted(view *db.Tx, propertyID string, stay *ent.Stay, session string) (bool, error) {
	if session == "" {
		return false, nil
	}
	given, err := view.GuestSession.Query().Where(guestsession.PropertyID(propertyID), guestsession.ID(session)).Only(view.Context())
	switch {
	case ent.IsNotFound(err):
		return stay != nil && stay.AttemptSession == session, nil
	case err != nil:
		return false, fmt.Errorf("find the session of a mail address: %w", err)
	case given.OfFormerAddress:
		return false, nil
	}
	return given.Origin == OriginMail || stay != nil && isPressedBy(actor.Actor{ID: session, HandedBy: given.HandedBy}, stay), nil
}
