package mail

import (
	"encoding/hex"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entmail "latchkey.dev/ent/mail"
	"latchkey.dev/ent/mailsettings"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/keyring"
)

// Move changes the stored state of a mail if it is still from, and reports whether it was. row names the mail and does not change. set, if
// not nil, changes more columns. A move to Sent or InBox also stores the time.
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

// DeleteWithoutStay deletes mails of all properties that belong to no stay, such as tests of the mail server, and were ordered before a
// time. It deletes at most limit, and returns their number. Other mails go with their stay.
func DeleteWithoutStay(tx *db.Tx, before time.Time, limit int) (int, error) {
	result, err := tx.ExecContext(tx.Context(), deleteWithoutStay, before, limit)
	if err != nil {
		return 0, fmt.Errorf("delete mails without a stay: %w", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// EraseGuest erases the addresses, texts and replies of the mails to a companion, and cancels those that wait or are in the mailbox. It
// keeps the rows, because [CheckCompanionMails] counts them: guests can remove and add companions as often as they like.
func EraseGuest(tx *db.Tx, propertyID, reservationID, guestID string) error {
	to := entmail.And(entmail.PropertyID(propertyID), entmail.ReservationID(reservationID), entmail.GuestID(guestID))
	err := tx.Mail.Update().Where(to, entmail.StateIn(string(Waiting), string(InBox))).SetState(string(Canceled)).Exec(tx.Context())
	if err == nil {
		err = tx.Mail.Update().Where(to).SetAddress([]byte{}).ClearAddressMAC().ClearReply().ClearText().Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("erase the mails to a companion: %w", err)
	}
	return nil
}

// inMailboxIndex repeats the condition of a partial index: see [deleteWithoutStay].
func inMailboxIndex(s *sql.Selector) { s.Where(sql.ExprP("state = 'mailbox'")) }

// CountInMailbox returns how many mails of a property are in its mailbox.
func CountInMailbox(view *db.Tx, propertyID string) (int, error) {
	n, err := view.Mail.Query().Where(entmail.PropertyID(propertyID), inMailboxIndex).Aggregate(ent.Count()).Int(view.Context())
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

// LinkSecret returns the secret of the link to a reservation in a mail. It is derived from both ids and the keyed hash of the recipient, so
// that a retry of the mail has the same link, and a retry to a corrected address another one: the link of a former address is revoked.
func LinkSecret(keys *keyring.Ring, mailID, reservationID string, addressMAC []byte) string {
	return keys.DeriveToken(keyring.GuestLink, mailID, reservationID, hex.EncodeToString(addressMAC))
}

// LinkSecrets returns the secrets that the link to a reservation in a stored mail may have: that of [LinkSecret], and that of mails of
// former versions, which did not depend on the recipient.
func LinkSecrets(keys *keyring.Ring, mailID, reservationID string, addressMAC []byte) []string {
	return []string{LinkSecret(keys, mailID, reservationID, addressMAC), keys.DeriveToken(keyring.GuestLink, mailID, reservationID)}
}

// latestLinks selects the latest mail of the kind Companion or Link to each companion of a stay. Canceled mails do not count.
const latestLinks = `SELECT m.guest_id, m.state FROM mails AS m WHERE m.property_id = $1 AND m.id IN (
	SELECT MAX(l.id) FROM mails AS l WHERE l.property_id = $1 AND l.reservation_id = $2 AND l.guest_id <> '' AND l.kind IN ('companion', 'link') AND l.state <> 'canceled'
	GROUP BY l.guest_id)`

// LatestLinks returns the state of the latest mail with a link to each companion of a stay, the first link or a renewed one, by the
// companion's id. Canceled mails do not count.
func LatestLinks(view *db.Tx, propertyID, reservationID string) (map[string]State, error) {
	type link struct{ guestID, state string }
	links, err := db.ReadList(view, func(l *link) []any { return []any{&l.guestID, &l.state} }, latestLinks, propertyID, reservationID)
	if err != nil {
		return nil, fmt.Errorf("find the latest links to companions: %w", err)
	}
	states := make(map[string]State, len(links))
	for _, l := range links {
		states[l.guestID] = State(l.state)
	}
	return states, nil
}

// Unfinished is a mail that waits or is being sent: its job, and when it was ordered.
type Unfinished struct {
	jobs.SendMail
	OrderedAt time.Time
}

// selectUnfinished finds mails that wait or are being sent, the oldest first, after a mail of the list.
const selectUnfinished = `SELECT id, property_id, created_at FROM mails WHERE (state = 'waiting' OR state = 'sending')
	AND created_at < $1 AND created_at >= $2 AND (created_at > $2 OR id > $3) ORDER BY created_at, id LIMIT $4`

// ListUnfinished returns at most limit mails of all properties that were ordered before until, and still wait or are being sent, the oldest
// first. It begins after a mail of an earlier list: its time and id are enough. The zero after begins with the oldest.
func ListUnfinished(view *db.Tx, after Unfinished, until time.Time, limit int) ([]Unfinished, error) {
	list, err := db.ReadList(view, func(k *Unfinished) []any { return []any{&k.MailID, &k.PropertyID, &k.OrderedAt} },
		selectUnfinished, until, after.OrderedAt, after.MailID, limit)
	if err != nil {
		return nil, fmt.Errorf("find unfinished mails: %w", err)
	}
	return list, nil
}
