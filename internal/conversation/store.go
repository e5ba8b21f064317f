package conversation

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	entmessage "latchkey.dev/ent/message"
	"latchkey.dev/internal/db"
)

// storeMessage stores a message with the next number of its conversation and the present time, and returns its row. It stores sealed, the
// encrypted text, instead of m.Text, and ignores m.Number and m.SentAt.
func storeMessage(tx *db.Tx, messageID string, m Message, sealed []byte) (*ent.Message, error) {
	_, err := tx.ExecContext(tx.Context(), insertMessage, messageID, m.PropertyID, m.ReservationID, m.GuestID, m.GuestID, m.PropertyID, m.PropertyID, m.GuestID, string(m.Sender), m.Author, sealed, tx.Now())
	if err != nil {
		return nil, fmt.Errorf("store a message: %w", err)
	}
	row, err := tx.Message.Query().Where(entmessage.PropertyID(m.PropertyID), entmessage.ID(messageID)).Only(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load a new message: %w", err)
	}
	return row, nil
}

// insertMessage stores a message with the next number of its conversation. If all messages of it were deleted, the numbers continue after
// the last one. If two transactions choose the same number, PostgreSQL makes one of them run again.
const insertMessage = `INSERT INTO messages (id, property_id, reservation_id, guest_id, number, sender, author, text, created_at, mailed)
	VALUES ($1, $2, $3, $4, (SELECT COALESCE(MAX(number), (SELECT deleted_messages FROM guests WHERE id = $5 AND property_id = $6), 0) + 1
	FROM messages WHERE property_id = $7 AND guest_id = $8), $9, $10, $11, $12, FALSE)
	ON CONFLICT (guest_id, number) DO NOTHING`

// findUnread finds unread messages that were sent up to a time and that no mail has announced, by conversation and sender. The ids of
// messages ascend with time, so the oldest conversations come first.
const findUnread = `SELECT property_id, reservation_id, guest_id, sender, MIN(id), MAX(number) FROM messages
	WHERE read_at IS NULL AND NOT mailed AND created_at <= $1 GROUP BY property_id, reservation_id, guest_id, sender HAVING MIN(id) > $2 ORDER BY MIN(id) LIMIT $3`

// ListUnread returns the messages of all properties that were sent up to a time, and were neither read nor announced by a mail: one result
// for each conversation and sender, at most limit, the oldest first. after is the last result of the previous page, or zero.
func ListUnread(view *db.Tx, until time.Time, after UnreadMessages, limit int) ([]UnreadMessages, error) {
	out, err := db.ReadList(view, func(u *UnreadMessages) []any {
		return []any{&u.PropertyID, &u.ReservationID, &u.GuestID, &u.Sender, &u.First, &u.Number}
	}, findUnread, until, after.First, limit)
	if err != nil {
		return nil, fmt.Errorf("find unread messages: %w", err)
	}
	return out, nil
}

// selectLatest returns the statement that selects the latest message of each conversation, the latest first, for a search without words.
// With UnreadOnly it selects the latest unread message of each guest.
func selectLatest(s Search) string {
	unread := func(string) string { return "" }
	if s.UnreadOnly {
		unread = func(table string) string {
			return " AND " + table + ".read_at IS NULL AND " + table + ".sender = '" + string(Guest) + "'"
		}
	}
	return `SELECT m.guest_id, m.id FROM messages AS m WHERE m.property_id = $1` + unread("m") + ` AND NOT EXISTS
	(SELECT 1 FROM messages AS later WHERE later.property_id = $2 AND later.guest_id = m.guest_id AND later.number > m.number` + unread("later") + `)
	AND ($3 = '' OR m.id < $4) ORDER BY m.id DESC LIMIT $5`
}

// selectEnded selects the last message of each conversation of a property whose stay ended, and whose last message was written, before a
// time.
const selectEnded = `SELECT m.property_id, m.reservation_id, m.guest_id, m.number FROM messages AS m JOIN reservations AS r ON r.id = m.reservation_id
	WHERE m.property_id = $1 AND m.created_at < $2 AND r.property_id = $3 AND r.to_at < $4 AND NOT EXISTS
	(SELECT 1 FROM messages AS later WHERE later.guest_id = m.guest_id AND later.number > m.number AND later.property_id = m.property_id)`

// selectAllEnded selects all conversations to delete, the oldest last message first. selectOneEnded checks that one conversation is still
// to be deleted.
const (
	selectAllEnded = selectEnded + ` ORDER BY m.created_at LIMIT $5`
	selectOneEnded = selectEnded + ` AND m.guest_id = $5`
)

// ListEnded returns at most limit conversations of a property whose stay ended, and whose last message was written, before a time.
func ListEnded(view *db.Tx, propertyID string, before time.Time, limit int) ([]Key, error) {
	var last int
	ended, err := db.ReadList(view, func(k *Key) []any { return k.columns(&last) }, selectAllEnded, propertyID, before, propertyID, before, limit)
	if err != nil {
		return nil, fmt.Errorf("find conversations to delete: %w", err)
	}
	return ended, nil
}

// columns returns the destinations of a row of selectEnded: the fields of the key, and last for the number of the last message.
func (k *Key) columns(last *int) []any {
	return []any{&k.PropertyID, &k.ReservationID, &k.GuestID, last}
}

// DeleteEnded deletes a conversation that [ListEnded] returned for the same time, and resolves its notice, unless it has a new message or
// its stay was prolonged meanwhile. The last number is stored with the guest, so that numbers, which clients use as cursors, never go back.
func DeleteEnded(tx *db.Tx, k Key, before time.Time) error {
	var last int
	still, err := tx.ReadOne(selectOneEnded, []any{k.PropertyID, before, k.PropertyID, before, k.GuestID}, k.columns(&last)...)
	if err != nil {
		return fmt.Errorf("find a conversation to delete: %w", err)
	}
	if !still {
		return nil
	}
	_, err = tx.Message.Delete().Where(entmessage.PropertyID(k.PropertyID), entmessage.GuestID(k.GuestID)).Exec(tx.Context())
	if err == nil {
		err = tx.Guest.Update().Where(entguest.PropertyID(k.PropertyID), entguest.ID(k.GuestID)).SetDeletedMessages(last).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("delete a conversation: %w", err)
	}
	notifyChanged(tx, k)
	return resolveNotice(tx, k)
}
