package guest

import (
	"cmp"
	"slices"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
)

// addMails adds the address to which mails go, and how far the mails to the guests are.
func (s *Stays) addMails(view *db.Tx, a actor.Actor, p *guest.Party, out *guestv1.Stay) error {
	outlet, err := s.mailOutlet(view, a.PropertyID)
	if err != nil {
		return err
	}
	out.SendsNoMail = !outlet.Reaches()
	address, err := s.mailAddress(view, a, p)
	if err != nil {
		return err
	}
	if outlet.Reaches() {
		out.MaskedEmail = mail.Mask(address)
	}
	if a.GuestID == "" && p.Trusts(a) && outlet.Reaches() && address == "" {
		if out.NeedsMailAddress, err = s.needsMailAddress(view, p); err != nil {
			return err
		}
	}
	if err := s.addLinkMails(view, a, outlet, out.GetGuests()); err != nil {
		return err
	}
	if a.GuestID != "" || p.Reservation.State != string(access.Started) { // codes are mailed once the stay has started
		return nil
	}
	row, err := mail.Latest(view, a.PropertyID, a.ReservationID, "", mail.Key, mail.KeyChanged)
	if err == nil && row == nil && !outlet.Reaches() {
		out.CodeMail = &guestv1.StayMail{State: string(mail.InMailbox)}
	}
	if err != nil || row == nil {
		return err
	}
	to, err := mail.Recipient(view, s.Keys, row)
	if err != nil {
		return err
	}
	out.CodeMail = &guestv1.StayMail{State: string(mail.DeliveryOf(mail.State(row.State), outlet)), MaskedTo: cmp.Or(mail.Mask(to), out.MaskedEmail)}
	if out.CodeMail.GetMaskedTo() == "" && outlet.Reaches() {
		out.CodeMail.State = string(mail.Undelivered) // it fails when it is due
	}
	return nil
}

// addLinkMails adds how far the mails with the links of companions are.
func (s *Stays) addLinkMails(view *db.Tx, a actor.Actor, outlet mail.Outlet, guests []*guestv1.StayGuest) error {
	if !slices.ContainsFunc(guests, (*guestv1.StayGuest).GetInvited) {
		return nil
	}
	states, err := mail.LatestLinks(view, a.PropertyID, a.ReservationID)
	for _, g := range guests {
		if state, ok := states[g.GetId()]; ok && g.GetInvited() {
			g.LinkMail = string(mail.DeliveryOf(state, outlet))
		}
	}
	return err
}

// needsMailAddress reports whether no address of the booker or the guests is known that reaches them. An address whose latest mail bounced
// does not.
func (s *Stays) needsMailAddress(view *db.Tx, p *guest.Party) (bool, error) {
	booker, err := s.Reservations.Booker(view.Context(), p.Reservation)
	if err != nil {
		return false, err
	}
	known := p.GivenAddresses()
	if booker.Email != nil {
		known = append(known, *booker.Email)
	}
	propertyID := p.Reservation.PropertyID
	working, err := mail.FirstWorking(view, propertyID, known, func(address string) []byte { return guest.AddressMAC(s.Keys, propertyID, address) })
	return working == "", err
}
