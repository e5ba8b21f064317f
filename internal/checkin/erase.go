package checkin

import (
	"context"
	"fmt"
	"time"

	entguest "latchkey.dev/ent/guest"
	entmail "latchkey.dev/ent/mail"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/watch"
)

// CanceledRetention is how long the answers of guests are kept after their stay was canceled.
const CanceledRetention = 30 * 24 * time.Hour

// EraseCanceled deletes the data of guests of stays that were canceled before a time: the guests with their answers and messages, what the
// check-in stored, the names of phones, and the mails from before that time. It resolves the notices of the guests' unread messages. It
// keeps a stay whose official forms are not in the guest register yet, and a mail that is about another room too. It covers at most limit
// stays and limit mails, and returns the larger number.
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
		if err := mobilekey.EraseNames(tx, k.PropertyID, k.ReservationID); err != nil {
			return 0, err
		}
	}
	mails, err := findCanceledMails(tx, before, limit)
	if err != nil {
		return 0, err
	}
	if err := resolveUnread(tx, found); err != nil {
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

// resolveUnread resolves the notices of unread messages of the guests of stays, whose messages are deleted.
func resolveUnread(tx *db.Tx, stays []Key) error {
	ids := map[string][]string{} // the stays of each property
	for _, k := range stays {
		ids[k.PropertyID] = append(ids[k.PropertyID], k.ReservationID)
	}
	for propertyID, stays := range ids {
		guests, err := tx.Guest.Query().Where(entguest.PropertyID(propertyID), entguest.ReservationIDIn(stays...)).IDs(tx.Context())
		if err != nil {
			return fmt.Errorf("find the guests of canceled stays: %w", err)
		}
		keys := make([]string, len(guests))
		for i, id := range guests {
			keys[i] = conversation.NoticeKey(conversation.Key{GuestID: id})
		}
		if err := notice.Resolve(tx, propertyID, keys...); err != nil {
			return err
		}
	}
	return nil
}
