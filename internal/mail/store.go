package mail

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entmail "latchkey.dev/ent/mail"
	"latchkey.dev/ent/mailsettings"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
)

// Move changes the state of a mail if it is still in a former state. It reports whether it was.
func Move(tx *db.Tx, row *Row, from, to State, set func(*ent.MailUpdate)) (bool, error) {
	update := tx.Mail.Update().Where(entmail.PropertyID(row.PropertyID), entmail.ID(row.ID), entmail.State(string(from))).SetState(string(to))
	if to == Sent || to == InBox {
		update.SetSentAt(tx.Now())
	}
	if set != nil {
		set(update)
	}
	n, err := update.Save(tx.Context())
	if err != nil {
		return false, fmt.Errorf("change the state of a mail: %w", err)
	}
	return n == 1, nil
}

// deleteWithoutStay repeats the condition of a partial index. Neither database would use the index if the condition were a parameter.
const deleteWithoutStay = `DELETE FROM mails WHERE id IN (SELECT id FROM mails WHERE reservation_id = '' AND created_at < $1 ORDER BY created_at LIMIT $2)`

// DeleteWithoutStay deletes mails that belong to no stay, such as tests of the mail server, and were ordered before a time. It deletes at
// most limit, and returns their number. Other mails go with their stay.
func DeleteWithoutStay(tx *db.Tx, before time.Time, limit int) (int, error) {
	result, err := tx.ExecContext(tx.Context(), deleteWithoutStay, before, limit)
	if err != nil {
		return 0, fmt.Errorf("delete mails without a stay: %w", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// CountInMailbox returns how many mails of a property are in its mailbox.
func CountInMailbox(view *db.Tx, propertyID string) (int, error) {
	n, err := view.Mail.Query().Where(entmail.PropertyID(propertyID), entmail.State(string(InBox))).Count(view.Context())
	if err != nil {
		return 0, fmt.Errorf("count the mails in the mailbox: %w", err)
	}
	return n, nil
}

// loadSettings returns the mail settings of a property, or nil if it has none.
func loadSettings(view *db.Tx, propertyID string) (*ent.MailSettings, error) {
	row, err := view.MailSettings.Query().Where(mailsettings.PropertyID(propertyID), mailsettings.ID(propertyID)).Only(view.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the mail settings: %w", err)
	}
	return row, nil
}

// Look is how a property presents itself to guests.
type Look = ent.CheckInSettings

// LinkSecret returns the secret of the link to a reservation in a mail. A retry of the mail has the same link.
func LinkSecret(keys *keyring.Ring, mailID, reservationID string) string {
	return keys.DeriveToken(keyring.GuestLink, mailID, reservationID)
}
