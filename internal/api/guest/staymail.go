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

// addMails adds to out the masked address for mails, whether the page must ask for one, and whether the mails with PINs and links were
// delivered. Only the main guest of a started stay gets the state of the mail with the PINs. If the property sends no mail, MaskedEmail is
// empty.
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
	if a.GuestID == "" && p.MayAccess(a) && outlet.Reaches() && address == "" {
		if out.NeedsMailAddress, err = s.needsMailAddress(view, a, p); err != nil {
			return err
		}
	}
	if err := s.addLinkMails(view, a, outlet, out.GetGuests()); err != nil {
		return err
	}
	if a.GuestID != "" || p.Reservation.State != string(access.Started) { // no mail with codes to describe: only the main guest of a started stay gets one
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
		out.CodeMail.State = string(mail.Undelivered) // without a recipient the mail will fail when the server sends it
	}
	return nil
}

// addLinkMails sets LinkMail of the invited companions in guests: the delivery of their latest mail with a link, as [mail.DeliveryOf] sees
// it for the outlet of the property. It stays empty if there is no such mail.
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

// needsMailAddress reports whether the page asks the guest for a mail address. The session must be allowed to give one, and no known
// address of the booker or the main guest works. An address whose latest mail bounced does not work.
func (s *Stays) needsMailAddress(view *db.Tx, a actor.Actor, p *guest.Party) (bool, error) {
	if may, err := p.MayGiveAddress(view, a); err != nil || !may {
		return false, err
	}
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
