package conversation

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entmessage "latchkey.dev/ent/message"
	"latchkey.dev/internal/db"
)

// storeMessage stores a message with a sealed text, and returns its row.
func storeMessage(tx *db.Tx, messageID string, m Message, sealed []byte) (*ent.Message, error) {
	_, err := tx.ExecContext(tx.Context(), insertMessage, messageID, m.PropertyID, m.ReservationID, m.GuestID, m.PropertyID, m.GuestID, string(m.Sender), m.Author, sealed, tx.Now())
	if err != nil {
		return nil, fmt.Errorf("store a message: %w", err)
	}
	row, err := tx.Message.Query().Where(entmessage.PropertyID(m.PropertyID), entmessage.ID(messageID)).Only(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load a new message: %w", err)
	}
	return row, nil
}

// insertMessage stores a message with the next number of its conversation. If two transactions choose the same number, PostgreSQL makes one
// of them run again.
const insertMessage = `INSERT INTO messages (id, property_id, reservation_id, guest_id, number, sender, author, text, created_at, mailed)
	VALUES ($1, $2, $3, $4, (SELECT COALESCE(MAX(number), 0) + 1 FROM messages WHERE property_id = $5 AND guest_id = $6), $7, $8, $9, $10, FALSE)
	ON CONFLICT (guest_id, number) DO NOTHING`

// findUnread finds messages before a time that were not read and not announced by a mail.
const findUnread = `SELECT property_id, reservation_id, guest_id, sender, MAX(number) FROM messages
	WHERE read_at IS NULL AND NOT mailed AND created_at <= $1 GROUP BY property_id, reservation_id, guest_id, sender ORDER BY MIN(created_at) LIMIT $2`

// ListUnread returns the conversations of all properties with a message from before a time that was not read and not mailed.
func ListUnread(view *db.Tx, before time.Time, limit int) ([]UnreadMessages, error) {
	out, err := db.ReadList(view, func(u *UnreadMessages) []any {
		return []any{&u.PropertyID, &u.ReservationID, &u.GuestID, &u.Sender, &u.Number}
	}, findUnread, before, limit)
	if err != nil {
		return nil, fmt.Errorf("find unread messages: %w", err)
	}
	return out, nil
}

// findEnded finds conversations of a property whose stay ended, and whose newest message was written, before a time.
const findEnded = `SELECT m.property_id, m.reservation_id, m.guest_id FROM messages AS m JOIN reservations AS r ON r.id = m.reservation_id
	WHERE m.property_id = $1 AND r.property_id = $2 AND r.to_at < $3 GROUP BY m.property_id, m.reservation_id, m.guest_id
	HAVING MAX(m.created_at) < $4 ORDER BY m.guest_id LIMIT $5`

// DeleteEnded deletes at most limit conversations of a property whose stay ended, and whose newest message was written, before a time. It
// returns their number.
func DeleteEnded(tx *db.Tx, propertyID string, before time.Time, limit int) (int, error) {
	ended, err := db.ReadList(tx, func(k *Key) []any { return []any{&k.PropertyID, &k.ReservationID, &k.GuestID} },
		findEnded, propertyID, propertyID, before, before, limit)
	if err != nil {
		return 0, fmt.Errorf("find conversations to delete: %w", err)
	}
	for _, k := range ended {
		_, err := tx.Message.Delete().Where(entmessage.PropertyID(k.PropertyID), entmessage.GuestID(k.GuestID)).Exec(tx.Context())
		if err == nil {
			err = resolveNotice(tx, k)
		}
		if err != nil {
			return 0, fmt.Errorf("delete a conversation: %w", err)
		}
	}
	return len(ended), nil
}
