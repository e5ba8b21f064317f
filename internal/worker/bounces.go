package worker

import (
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/mail"
)

// TakeBounce marks the mail that a bounce reports as not delivered as given up, notifies staff, and returns the mail. It returns nil if the
// mail is unknown at this property or cannot bounce. A repeated report changes nothing and returns the mail again.
func (m Mails) TakeBounce(tx *db.Tx, propertyID string, bounce mail.Bounce) (*mail.Row, error) {
	row, err := mail.Get(tx, propertyID, bounce.MailID)
	if fault.Has(err, fault.NotFoundReason) {
		return nil, nil // it belongs to another property, or was deleted with its stay
	}
	if err != nil {
		return nil, err
	}
	if !mail.MayBounce(row) {
		return givenUp(row), nil
	}
	reply, err := mail.SealReply(tx.Context(), m.Keys, row, bounce.Answer)
	if err != nil {
		return nil, err
	}
	if _, err := m.storeFailure(tx, row, mail.State(row.State), bounce.Failure, reply); err != nil {
		return nil, err
	}
	return mail.Get(tx, propertyID, bounce.MailID)
}

// givenUp returns a mail that was given up before; nil for any other.
func givenUp(row *mail.Row) *mail.Row {
	if s := mail.State(row.State); s == mail.Failed || s == mail.Bounced {
		return row
	}
	return nil
}
