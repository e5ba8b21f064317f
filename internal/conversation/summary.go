package conversation

import (
	"fmt"
	"strings"

	"latchkey.dev/ent"
	entmessage "latchkey.dev/ent/message"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/text"
)

// Summary is the state of a conversation as staff see it.
type Summary struct {
	Last   Message
	Unread int // messages of the guest that the property has not read
}

// searched is the number of messages of a property that a search reads. They are sealed, so no index finds their words.
const searched = 5000

// Search selects conversations.
type Search struct {
	UnreadOnly bool
	Query      string // words of a message, in any case and with any accents
	Before     string // the id of the last message of the page before
	Limit      int
}

// Find returns the conversations of a property that a search selects, the latest message first, and the place at which the next page begins,
// or "".
func Find(view *db.Tx, keys *keyring.Ring, propertyID string, s Search) (out []Summary, next string, err error) {
	guests, last, err := found(view, keys, propertyID, s)
	if err != nil {
		return nil, "", err
	}
	for _, guestID := range guests {
		one, err := Summarize(view, keys, propertyID, guestID)
		if err != nil {
			return nil, "", err
		}
		if one != nil {
			out = append(out, *one)
		}
	}
	if len(guests) == s.Limit {
		next = last
	}
	return out, next, nil
}

// found returns the guests of a page of the conversations that a search selects, the latest message first. last is the id of the message at
// which the next page begins, or "".
func found(view *db.Tx, keys *keyring.Ring, propertyID string, s Search) (guests []string, last string, err error) {
	q := view.Message.Query().Where(entmessage.PropertyID(propertyID)).Order(ent.Desc(entmessage.FieldID)).Limit(searched)
	if s.UnreadOnly {
		q = q.Where(entmessage.ReadAtIsNil(), entmessage.Sender(string(Guest)))
	}
	query := strings.Join(text.Words(s.Query), " ")
	if query == "" {
		q.Select(entmessage.FieldID, entmessage.FieldGuestID)
	}
	rows, err := q.All(view.Context())
	if err != nil {
		return nil, "", fmt.Errorf("search the messages of a property: %w", err)
	}
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row.GuestID] {
			continue
		}
		if query != "" {
			m, err := open(view.Context(), keys, row)
			if err != nil {
				return nil, "", err
			}
			if !strings.Contains(strings.Join(text.Words(m.Text), " "), query) {
				continue
			}
		}
		seen[row.GuestID] = true
		if s.Before == "" || row.ID < s.Before {
			guests, last = append(guests, row.GuestID), row.ID
		}
		if len(guests) == s.Limit {
			break
		}
	}
	return guests, last, nil
}

// Summarize returns the state of the conversation of a guest, or nil if there is none.
func Summarize(view *db.Tx, keys *keyring.Ring, propertyID, guestID string) (*Summary, error) {
	rows, err := view.Message.Query().Where(entmessage.PropertyID(propertyID), entmessage.GuestID(guestID)).Order(ent.Desc(entmessage.FieldNumber)).Limit(1).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("load the last message of a conversation: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	last, err := open(view.Context(), keys, rows[0])
	if err != nil {
		return nil, err
	}
	unread, err := Unread(view, last.Key, Property)
	if err != nil {
		return nil, err
	}
	return &Summary{Last: last, Unread: unread}, nil
}

// AllUnread returns the number of messages of all guests that a property has not read.
func AllUnread(view *db.Tx, propertyID string) (int, error) {
	n, err := view.Message.Query().Where(entmessage.PropertyID(propertyID), entmessage.Sender(string(Guest)), entmessage.ReadAtIsNil()).Aggregate(ent.Count()).Int(view.Context())
	if err != nil {
		return 0, fmt.Errorf("count the unread messages of a property: %w", err)
	}
	return n, nil
}
