package checkin

import (
	"context"
	"fmt"
	"time"

	entguest "latchkey.dev/ent/guest"
	entmail "latchkey.dev/ent/mail"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/db"
)

// CanceledRetention is how long the answers of guests are kept after their stay was canceled.
const CanceledRetention = 30 * 24 * time.Hour

// The statements find what guests left at canceled stays. Neither the state before the cancelation nor the check-in matters. A mail that
// lists a room of the group that is not canceled is kept with that room, and a mail about the cancelation for its own time. The official forms of guests who had
// arrived are in the guest register before: a stay whose forms are not there yet is erased after they are.
const (
	findCanceledStays = `SELECT r.id FROM reservations AS r WHERE r.canceled_at <= $1 AND NOT (r.arrived_at IS NOT NULL AND EXISTS (
			SELECT 1 FROM guests AS f WHERE f.reservation_id = r.id AND f.property_id = r.property_id AND f.erase_at IS NULL AND f.law <> '')) AND (
			EXISTS (SELECT 1 FROM guests AS g WHERE g.reservation_id = r.id AND g.property_id = r.property_id)
			OR EXISTS (SELECT 1 FROM stays AS s WHERE s.reservation_id = r.id AND s.property_id = r.property_id)) LIMIT $2`
	findCanceledMails = `SELECT m.id FROM reservations AS r JOIN mails AS m ON m.reservation_id = r.id AND m.property_id = r.property_id
		WHERE r.canceled_at <= $1 AND m.created_at <= $1 AND NOT EXISTS (
			SELECT 1 FROM invitations AS i JOIN reservations AS o ON o.id = i.reservation_id AND o.property_id = i.property_id
			WHERE (i.mail_id = m.id OR i.reminder_id = m.id) AND o.canceled_at IS NULL) LIMIT $2`
)

// EraseCanceled deletes what guests left at stays that were canceled before a time: the guests with their answers, what the check-in
// stored, and the mails. It covers at most limit stays and limit mails, and returns the larger number.
func EraseCanceled(tx *db.Tx, before time.Time, limit int) (int, error) {
	stays, err := tx.ReadIDs(findCanceledStays, before, limit)
	if err != nil {
		return 0, fmt.Errorf("find canceled stays: %w", err)
	}
	mails, err := tx.ReadIDs(findCanceledMails, before, limit)
	if err != nil {
		return 0, fmt.Errorf("find mails of canceled stays: %w", err)
	}
	for _, rows := range []interface {
		Exec(ctx context.Context) (int, error)
	}{
		tx.Guest.Delete().Where(entguest.ReservationIDIn(stays...)),
		tx.Stay.Delete().Where(entstay.ReservationIDIn(stays...)),
		tx.Mail.Delete().Where(entmail.IDIn(mails...)),
	} {
		if _, err := rows.Exec(tx.Context()); err != nil {
			return 0, fmt.Errorf("erase canceled stays: %w", err)
		}
	}
	return max(len(stays), len(mails)), nil
}
