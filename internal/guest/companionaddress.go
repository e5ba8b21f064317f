package guest

import (
	"fmt"
	"strings"

	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
)

// CompanionAddress returns the address to which the mails of a companion go, or "". It is the address that the companion typed on a link of
// their own, as long as such a link works; otherwise the one to which the companion's link was mailed. An address that the main guest typed
// into the companion's form does not count: the mails have links with which their reader acts as the companion.
func CompanionAddress(view *db.Tx, keys *keyring.Ring, g *Row) (string, error) {
	answered, err := openPerson(view.Context(), keys, g)
	if err != nil || answered.MailTo == nil {
		return answered.InvitedTo, err
	}
	works, err := view.GuestLink.Query().Where(guestlink.PropertyID(g.PropertyID), guestlink.ReservationID(g.ReservationID), guestlink.GuestID(g.ID),
		guestlink.HandedBy(""), guestlink.RevokedAtIsNil(), guestlink.ExpiresAtGT(view.Now())).Exist(view.Context())
	if err != nil {
		return "", fmt.Errorf("find the link of a companion: %w", err)
	}
	if !works {
		return answered.InvitedTo, nil
	}
	return answered.MailTo.Address, nil
}

// CompanionAddresses returns the addresses of a companion: what the companion typed, and the address to which the link was mailed.
// A companion who was removed has none.
func CompanionAddresses(view *db.Tx, keys *keyring.Ring, propertyID, guestID string) ([]string, error) {
	g, err := Get(view, propertyID, guestID)
	if fault.Has(err, fault.GuestNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	answered, err := openPerson(view.Context(), keys, g)
	return answered.companionAddresses(), err
}

// companionAddresses returns the mail addresses of a companion: the typed one, then the one to which the link was mailed.
func (p person) companionAddresses() (all []string) {
	if p.MailTo != nil {
		all = append(all, p.MailTo.Address)
	}
	if p.InvitedTo != "" {
		all = append(all, p.InvitedTo)
	}
	return all
}

// companionMailTo returns the mail address to store with m, a copy of the form's guest with new answers; nil: none. A companion who types
// another address than before on their own link replaces the stored one; case does not count. An address that another person types does not
// count. An empty field removes the stored one. The main guest keeps theirs.
func (f Form) companionMailTo(m Member) *mailTo {
	address := m.Answers[rule.Email]
	switch {
	case m.Row.Role != Companion:
		return m.mailTo
	case address == "":
		return nil
	case callerOf(f.viewer, m.Row) == theGuest && !strings.EqualFold(address, f.Member.Answers[rule.Email]):
		return &mailTo{Address: address, By: f.viewer.ID}
	}
	return m.mailTo
}

// endCompanionAddress ends the links that were mailed to an address which a companion typed and has now replaced or removed: it may have
// been mistyped. If there was such a link, also one that has ended, it also ends the companion's sessions, except the caller's: renewing a
// link ends it and keeps its session. It does nothing for the main guest, and for the address of the invitation.
func endCompanionAddress(tx *db.Tx, keys *keyring.Ring, a actor.Actor, former, present Member) error {
	if former.Row.Role != Companion || former.mailTo == nil || strings.EqualFold(former.mailTo.Address, former.invitedTo) ||
		present.mailTo != nil && strings.EqualFold(former.mailTo.Address, present.mailTo.Address) {
		return nil
	}
	mailed := []predicate.GuestLink{guestlink.PropertyID(a.PropertyID), guestlink.ReservationID(a.ReservationID), guestlink.GuestID(former.Row.ID),
		guestlink.AddressMAC(AddressMAC(keys, a.PropertyID, former.mailTo.Address))}
	found, err := tx.GuestLink.Query().Where(mailed...).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("find the links of an address that a companion replaced: %w", err)
	}
	if !found {
		return nil
	}
	if err := revokeLinksWhere(tx, mailed...); err != nil {
		return err
	}
	return endSessions(tx, a.PropertyID, guestsession.ReservationID(a.ReservationID), guestsession.GuestID(former.Row.ID), guestsession.IDNEQ(a.ID))
}
