package checkin

import (
	"context"
	"fmt"
	"time"

	entguest "latchkey.dev/ent/guest"
	entmail "latchkey.dev/ent/mail"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/watch"
)

// CanceledRetention is how long the answers of guests are kept after their stay was canceled.
const CanceledRetention = 30 * 24 * time.Hour

// EraseCanceled deletes the data of guests of stays that were canceled before a time: the guests with their answers, what the check-in
// stored, and the mails from before that time. It keeps a stay whose official forms are not in the guest register yet, and a mail that is
// about another room too. It covers at most limit stays and limit mails, and returns the larger number.
func EraseCanceled(tx *db.Tx, before time.Time, limit int) (int, error) {
	found, err := findCanceledStays(tx, before, limit)
	if err != nil {
		return 0, err
	}
	stays := make([]string, len(found))
	for i, k := range found {
		stays[i] = k.ReservationID
		watch.Notify(tx, k.PropertyID, watch.Reservations, k.ReservationID)
		watch.Notify(tx, k.PropertyID, watch.Messages)
	}
	mails, err := findCanceledMails(tx, before, limit)
	if err != nil {
		return 0, err
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
