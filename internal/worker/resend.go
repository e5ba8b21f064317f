package worker

import (
	"fmt"

	entmail "latchkey.dev/ent/mail"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/mail"
)

// sentOnce has the kinds of mails that are not sent again, and why.
var sentOnce = map[mail.Kind]string{
	mail.Join:    "is a mail to join the staff: send the invitation again, which replaces its link",
	mail.Erasure: "is a mail about an erasure, which is sent once",
}

// Resend orders a mail again, with a new link, and returns the new mail's id. A booker's mail goes to the present address, a mail to staff
// about a stay to the present staffEmail (without one it is refused), any other to the same address as before. It replaces the newest mail
// of the same kind to the same guest: links of that mail that no device has opened end. A mail that is still on its way is not ordered
// again, and its id is returned: if it waits for its next attempt, that is made now. So if staff press twice, only one link works. It refuses
// the mails of sentOnce, and a mail to an address that is no longer the companion's, because such a mail would be canceled.
func (m Mails) Resend(tx *db.Tx, propertyID, mailID string) (string, error) {
	row, err := mail.Get(tx, propertyID, mailID)
	if err != nil {
		return "", err
	}
	if why := sentOnce[mail.Kind(row.Kind)]; why != "" {
		return "", fault.Fields(fault.Field{Path: "id", Reason: fault.Unsupported, Message: why})
	}
	if row, err = newestAttempt(tx, row); err != nil {
		return "", err
	}
	switch mail.State(row.State) {
	case mail.Waiting: // staff may have repaired what refused the last attempt, and the next one may be an hour away
		return row.ID, m.Jobs.InsertNow(tx, jobs.SendMail{PropertyID: propertyID, MailID: row.ID})
	case mail.Sending:
		return row.ID, nil
	}
	again := mail.Mail{PropertyID: propertyID, Kind: mail.Kind(row.Kind), ReservationID: row.ReservationID, GuestID: row.GuestID, Params: row.Parameters}
	if row.GuestID != "" || row.ReservationID == "" {
		if again.To, err = mail.Recipient(tx, m.Keys, row); err != nil {
			return "", err
		}
	}
	if row.GuestID != "" {
		is, err := m.isCompanions(tx, row, again.To)
		if err != nil {
			return "", err
		}
		if !is {
			return "", fault.Fields(fault.Field{Path: "id", Reason: fault.Unsupported, Message: "is a mail to a companion who was removed, or has another address"})
		}
	}
	if again.Kind.HasLink() && row.ReservationID != "" {
		if err := m.revokeLinks(tx, row); err != nil {
			return "", fmt.Errorf("replace the links of a mail: %w", err)
		}
	}
	newID, err := mail.Order(tx, m.Keys, m.Jobs, again)
	if err != nil {
		return "", err
	}
	if newID == "" {
		return "", fault.Fields(fault.Field{Path: "id", Reason: fault.Unsupported, Message: "is a mail to staff, and the property has no staffEmail: set one first"})
	}
	return newID, relist(tx, row, newID)
}

// newestAttempt returns the newest mail of the same kind to the same guest. Mails to staff and mails without a stay are not replaced by
// newer ones, so it returns them unchanged.
func newestAttempt(tx *db.Tx, row *mail.Row) (*mail.Row, error) {
	if row.ReservationID == "" || mail.Kind(row.Kind) == mail.Staff {
		return row, nil
	}
	newest, err := mail.Latest(tx, row.PropertyID, row.ReservationID, row.GuestID, mail.Kind(row.Kind))
	if err != nil || newest == nil {
		return row, err
	}
	return newest, nil
}

// OrderLink orders a mail with a new link to the booker, or to a companion. It returns false if such a mail with the same o.Occasion was
// ordered before for this guest. If the caller has no session, o.Occasion must be something that only the guest has and that each mail uses
// up; with a session it can be a time, as a limit. With a GuestID and an Occasion it returns an error if guests mailed too many links to
// companions. It cancels mails of the same kind to this guest that wait to be sent, but not other kinds of mails with links, such as an
// invitation. The caller ends the links of mails that were sent.
func (m Mails) OrderLink(tx *db.Tx, o mail.LinkOrder) (bool, error) {
	kind := mail.Link
	if o.GuestID != "" && !o.Renews {
		kind = mail.Companion
	}
	ordered := mail.Mail{PropertyID: o.PropertyID, Kind: kind, ReservationID: o.ReservationID, GuestID: o.GuestID, To: o.Address}
	if o.GuestID != "" && o.Occasion != "" {
		if err := mail.CheckCompanionMails(tx, o.PropertyID, o.ReservationID); err != nil {
			return false, err
		}
	}
	if o.Occasion != "" {
		ordered.OnceKey = fmt.Sprintf("%s/%s/%s/%s", o.ReservationID, kind, o.GuestID, o.Occasion)
	}
	mailID, err := mail.Order(tx, m.Keys, m.Jobs, ordered)
	if err != nil || mailID == "" {
		return false, err
	}
	err = tx.Mail.Update().Where(entmail.PropertyID(o.PropertyID), entmail.ReservationID(o.ReservationID), entmail.GuestID(o.GuestID),
		entmail.Kind(string(kind)), entmail.State(string(mail.Waiting)), entmail.IDNEQ(mailID)).SetState(string(mail.Canceled)).Exec(tx.Context())
	if err != nil {
		return false, fmt.Errorf("cancel former mails with a link: %w", err)
	}
	return true, nil
}
