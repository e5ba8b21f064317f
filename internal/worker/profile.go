package worker

import (
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
)

// OrderProfile orders the mail with a link to the profile that a property keeps under an address. If mails go to the mailbox, which only
// staff read, it orders none.
func (m Mails) OrderProfile(tx *db.Tx, propertyID, address, language string) error {
	outlet, err := m.Outlet(tx, propertyID)
	if err != nil || !outlet.Reaches() {
		return err
	}
	_, err = mail.Order(tx, m.Keys, m.Jobs, mail.Mail{
		PropertyID: propertyID, Kind: mail.Profile, To: address, Params: mail.ProfileParams(language), AddressMAC: guest.AddressMAC(m.Keys, propertyID, address),
	})
	return err
}

// addProfile adds the link to a profile. It cancels the mail if the profile was deleted.
func (r *renderer) addProfile() error {
	link := guest.MailedProfileLink{
		PropertyID: r.row.PropertyID, ProfileID: guest.ProfileID(r.Keys, r.row.PropertyID, r.to), Secret: mail.ProfileSecret(r.Keys, r.row.ID),
	}
	kept, err := link.IsKept(r.view)
	if err != nil {
		return err
	}
	r.out.canceled = !kept
	r.out.profile = &link
	r.occasion.Profile = r.BaseURL() + "/g/l/" + link.Secret
	return nil
}
