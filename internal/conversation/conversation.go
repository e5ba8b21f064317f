// Package conversation stores the messages between guests and their property. Each guest of a stay has one conversation with the property.
// Its messages are numbered, sealed with the property's key, and deleted with the guest.
package conversation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"latchkey.dev/ent"
	entmessage "latchkey.dev/ent/message"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/watch"
)

// Side is one of the two sides of a conversation: Guest or Property, whose staff write for it.
type Side string

// The two sides of a conversation.
const (
	Guest    Side = "guest"
	Property Side = "property"
)

// other returns the other side of the conversation.
func (s Side) other() Side {
	if s == Guest {
		return Property
	}
	return Guest
}

// Key names a conversation. PropertyID and GuestID select it. ReservationID must be that of the guest's stay: no query checks it.
type Key struct{ PropertyID, ReservationID, GuestID string }

// Message is one message of a conversation.
type Message struct {
	Key
	Number int // the position in the conversation, from 1, without gaps; after a deletion the numbers continue
	Sender Side
	Author string // who of the staff wrote it: an actor's Author, such as staff:prs_1, or the name of a token; empty for a guest
	Text   string
	SentAt time.Time
	ReadAt *time.Time // when the other side read it, or nil
}

// Changed is the topic of notifications inside the process that a conversation has a new message, or that one was read. Its keys are from
// [Key.Topic].
const Changed db.Topic = "conversation.changed"

// Topic returns the key under which changes of the conversation are notified, see [Changed].
func (k Key) Topic() string { return k.PropertyID + " " + k.ReservationID + " " + k.GuestID }

// notifyChanged wakes the watchers of a conversation when the transaction is committed.
func notifyChanged(tx *db.Tx, k Key) {
	tx.Notify(Changed, k.Topic())
	watch.Notify(tx, k.PropertyID, watch.Messages, k.GuestID)
}

// ParseTopic returns the conversation of a key from [Key.Topic], and false for a text that has not three parts.
func ParseTopic(key string) (k Key, ok bool) {
	parts := strings.Split(key, " ")
	if len(parts) != 3 {
		return Key{}, false
	}
	return Key{parts[0], parts[1], parts[2]}, true
}

// Limits of a conversation: messages of one side within an hour, and messages in all. maxMessages is far more than staff can answer.
const (
	maxInAnHour = 60
	maxMessages = 2000
)

// Send stores a message, without spaces around its text, and marks all earlier messages that the sender's side received as read. It ignores
// m.Number, m.SentAt and m.ReadAt: the result has the number and time that are stored. It refuses an empty text, and messages beyond the
// limits: see checkBounds. The caller checks the length of the text.
func Send(tx *db.Tx, keys *keyring.Ring, m Message) (Message, error) {
	if m.Text = strings.TrimSpace(m.Text); m.Text == "" {
		return Message{}, fault.Fields(fault.Field{Path: "text", Reason: fault.Required, Message: "write a text"})
	}
	if err := checkBounds(tx, m); err != nil {
		return Message{}, err
	}
	messageID := id.New(id.Message)
	sealed, err := keys.Seal(tx.Context(), m.PropertyID, purpose(messageID), []byte(m.Text))
	if err != nil {
		return Message{}, fmt.Errorf("seal a message: %w", err)
	}
	row, err := storeMessage(tx, messageID, m, sealed)
	if err != nil {
		return Message{}, err
	}
	if err := MarkRead(tx, m.Key, m.Sender, row.Number); err != nil {
		return Message{}, err
	}
	notifyChanged(tx, m.Key)
	m.Number, m.SentAt = row.Number, row.CreatedAt
	return m, nil
}

// checkBounds returns an error if the conversation is full, or the side of m.Sender has sent too many messages in it within an hour.
func checkBounds(tx *db.Tx, m Message) error {
	of := tx.Message.Query().Where(entmessage.PropertyID(m.PropertyID), entmessage.GuestID(m.GuestID))
	all, err := of.Clone().Aggregate(ent.Count()).Int(tx.Context())
	recent := 0
	if err == nil {
		recent, err = of.Where(entmessage.Sender(string(m.Sender)), entmessage.CreatedAtGT(tx.Now().Add(-time.Hour))).Aggregate(ent.Count()).Int(tx.Context())
	}
	switch {
	case err != nil:
		return fmt.Errorf("count the messages of a conversation: %w", err)
	case all >= maxMessages:
		return fault.New(fault.Exhausted, fault.TooMany, "the conversation has %d messages, which is the most: call instead", maxMessages)
	case recent >= maxInAnHour:
		return fault.New(fault.Exhausted, fault.TooMany, "%d messages were sent in an hour, which is the most: wait, or call", maxInAnHour).Retry(10 * time.Minute)
	}
	return nil
}

// MarkRead marks the messages that one side (by) received as read, up to and including a number. If that marks any for the property, it
// also closes the notice about unread messages, even if later ones are unread.
func MarkRead(tx *db.Tx, k Key, by Side, number int) error {
	n, err := tx.Message.Update().Where(entmessage.PropertyID(k.PropertyID), entmessage.GuestID(k.GuestID), entmessage.Sender(string(by.other())),
		entmessage.NumberLTE(number), entmessage.ReadAtIsNil()).SetReadAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return fmt.Errorf("mark messages as read: %w", err)
	}
	if n == 0 {
		return nil
	}
	notifyChanged(tx, k)
	if by == Property {
		return resolveNotice(tx, k)
	}
	return nil
}

// Unread returns how many messages of a conversation one side (by) has received and not read.
func Unread(view *db.Tx, k Key, by Side) (int, error) {
	n, err := view.Message.Query().Where(entmessage.PropertyID(k.PropertyID), entmessage.GuestID(k.GuestID), entmessage.Sender(string(by.other())), entmessage.ReadAtIsNil()).Aggregate(ent.Count()).Int(view.Context())
	if err != nil {
		return 0, fmt.Errorf("count unread messages: %w", err)
	}
	return n, nil
}

// open decrypts a message.
func open(ctx context.Context, keys *keyring.Ring, row *ent.Message) (Message, error) {
	text, err := keys.Open(ctx, row.PropertyID, purpose(row.ID), row.Text)
	if err != nil {
		return Message{}, fmt.Errorf("open a message: %w", err)
	}
	return Message{
		Key: Key{row.PropertyID, row.ReservationID, row.GuestID}, Number: row.Number, Sender: Side(row.Sender), Author: row.Author, Text: string(text),
		SentAt: row.CreatedAt, ReadAt: row.ReadAt,
	}, nil
}

// purpose returns the purpose with which a message is sealed: it binds the sealed text to the message's id.
func purpose(messageID string) string { return "message/" + messageID }

// NoticeKey returns the OnceKey of the notice about unread messages of a conversation.
func NoticeKey(k Key) string { return notice.MessageUnread.Key(k.GuestID) }

// UnreadMessages are messages of one side of a conversation that the other side has not read and no mail has announced.
type UnreadMessages struct {
	Key
	Sender Side
	First  string // the id of the first of the unread messages
	Number int    // the number of the last of the unread messages
}

// MarkMailed records that a mail announces the unread messages of u.Sender up to u.Number. It returns false, and the caller announces
// nothing, if all of them were read or announced since u was loaded.
func MarkMailed(tx *db.Tx, u UnreadMessages) (bool, error) {
	n, err := tx.Message.Update().Where(entmessage.PropertyID(u.PropertyID), entmessage.GuestID(u.GuestID), entmessage.Sender(string(u.Sender)), entmessage.NumberLTE(u.Number),
		entmessage.ReadAtIsNil(), entmessage.Mailed(false)).SetMailed(true).Save(tx.Context())
	if err != nil {
		return false, fmt.Errorf("mark messages as mailed: %w", err)
	}
	return n > 0, nil
}

// resolveNotice closes the notice about unread messages of a guest, because staff have read them or they were deleted.
func resolveNotice(tx *db.Tx, k Key) error { return notice.Resolve(tx, k.PropertyID, NoticeKey(k)) }
