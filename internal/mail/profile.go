package mail

import (
	"fmt"

	entmail "latchkey.dev/ent/mail"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/message"
)

// ProfileParams are the parameters of a mail with a link to a profile: the language of its reader.
func ProfileParams(language string) map[string]string { return map[string]string{"language": language} }

// ProfileSecret returns the secret of the link to a profile in a mail. It is derived from the mail's id, so that a retry has the same link.
func ProfileSecret(keys *keyring.Ring, mailID string) string {
	return keys.DeriveToken(keyring.GuestLink, mailID, "profile")
}

// DeleteProfileMails deletes the mails with links to a profile. addressMAC is the keyed hash of its address.
func DeleteProfileMails(tx *db.Tx, propertyID string, addressMAC []byte) error {
	_, err := tx.Mail.Delete().Where(entmail.PropertyID(propertyID), entmail.AddressMAC(addressMAC), entmail.Kind(string(Profile))).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("delete the mails with a link to a profile: %w", err)
	}
	return nil
}

// profileContent is the mail to a guest who wants to see what the property keeps.
func (o Occasion) profileContent(content Content) Content {
	params := message.Params{"property": o.Property}
	content.Subject = o.text("subject", params)
	content.Paragraphs = []string{o.common("helloNameless", nil), o.text("text", params)}
	content.Buttons = []Button{{o.text("button", params), o.Profile}}
	content.Closing = []string{o.text("link", params), o.text("unexpected", params)}
	return content
}
