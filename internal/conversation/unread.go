package conversation

import (
	"fmt"

	entmessage "latchkey.dev/ent/message"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/notice"
)

// NoticeKey identifies the notice about a conversation.
func NoticeKey(k Key) string { return notice.MessageUnread.Key(k.GuestID) }

// UnreadMessages are messages of one side of a conversation that the other side has not read and no mail has announced.
type UnreadMessages struct {
	Key
	Sender Side
	First  string // the id of the first one
	Number int    // of the last one
}

// MarkMailed records that a mail announces the messages of u.Sender up to u.Number.
func MarkMailed(tx *db.Tx, u UnreadMessages) error {
	err := tx.Message.Update().Where(entmessage.PropertyID(u.PropertyID), entmessage.GuestID(u.GuestID), entmessage.Sender(string(u.Sender)), entmessage.NumberLTE(u.Number)).
		SetMailed(true).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("mark messages as mailed: %w", err)
	}
	return nil
}

// resolveNotice closes the notice about unread messages of a guest, because staff have read them.
func resolveNotice(tx *db.Tx, k Key) error { return notice.Resolve(tx, k.PropertyID, NoticeKey(k)) }
