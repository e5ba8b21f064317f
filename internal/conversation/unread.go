package conversation

import (
	"fmt"
	"time"

	entmessage "latchkey.dev/ent/message"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/notice"
)

// NoticeKey identifies the notice about a conversation.
func NoticeKey(k Key) string { return notice.MessageUnread.Key(k.GuestID) }

// UnreadMessages are the messages of one side of a conversation that the other side has not read.
type UnreadMessages struct {
	Key
	Sender Side
	Number int // of the last one
}

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

// MarkMailed records that a mail announces the messages of one side, up to the last one.
func MarkMailed(tx *db.Tx, u UnreadMessages) error {
	err := tx.Message.Update().Where(entmessage.PropertyID(u.PropertyID), entmessage.GuestID(u.GuestID), entmessage.Sender(string(u.Sender)), entmessage.NumberLTE(u.Number)).
		SetMailed(true).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("mark messages as mailed: %w", err)
	}
	return nil
}

// resolveNotice ends the notice about the messages of a guest, which staff have read.
func resolveNotice(tx *db.Tx, k Key) error { return notice.Resolve(tx, NoticeKey(k)) }
