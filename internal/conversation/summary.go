package conversation

import (
	"fmt"
	"strings"

	"latchkey.dev/ent"
	entmessage "latchkey.dev/ent/message"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/text"
)

// Summary is the state of a conversation as staff see it.
type Summary struct {
	Last   Message
	Unread int // messages of the guest that the property has not read
}

// Limits of a search in the texts. The texts are sealed, so no index finds their words, and each message is decrypted. The next page
// continues where a search stopped.
const (
	searched      = 5000 // the most messages that one page searches; isOnPageBefore can decrypt more
	searchedAtOne = 500  // the messages that one query loads
)

// Search selects conversations.
type Search struct {
	UnreadOnly bool
	Query      string // a part of a message, which may begin and end within words; case and accents do not count; empty: any message
	Before     string // the result next of [Find] for the page before; empty for the first page
	Limit      int
}

// Find returns the conversations of a property that a search selects, in the order of the latest message that matches it, the latest first.
// Last in a [Summary] is the last message of the conversation, also if it does not match. next is the Before of the next page, which may be
// empty, or "" if there is none. A page of a search by words may be short, or even empty, although a next one exists: see searched.
func Find(view *db.Tx, keys *keyring.Ring, propertyID string, s Search) (out []Summary, next string, err error) {
	s.Query = strings.Join(text.Words(s.Query), " ")
	var guests []string
	if s.Query == "" {
		guests, next, err = findLatest(view, propertyID, s)
	} else {
		guests, next, err = findByText(view, keys, propertyID, s)
	}
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
	return out, next, nil
}

// findLatest returns the ids of the guests of a page of conversations, ordered by their latest message (with UnreadOnly, by the latest
// unread one), and the Before of the next page, or "".
func findLatest(view *db.Tx, propertyID string, s Search) (guests []string, next string, err error) {
	type latest struct{ guestID, id string }
	rows, err := db.ReadList(view, func(l *latest) []any { return []any{&l.guestID, &l.id} }, selectLatest(s), propertyID, propertyID, s.Before, s.Before, s.Limit)
	if err != nil {
		return nil, "", fmt.Errorf("list the conversations of a property: %w", err)
	}
	for _, row := range rows {
		guests = append(guests, row.guestID)
	}
	if len(rows) == s.Limit {
		next = rows[len(rows)-1].id
	}
	return guests, next, nil
}

// findByText returns the ids of the guests of a page of conversations, ordered by their latest message with the words of a search, and the
// Before of the next page, or "".
func findByText(view *db.Tx, keys *keyring.Ring, propertyID string, s Search) (guests []string, next string, err error) {
	seen := map[string]bool{} // guests of this page, and of the pages before
	next = s.Before
	for range searched / searchedAtOne {
		rows, err := s.read(view, propertyID, before(next), searchedAtOne)
		if err != nil {
			return nil, "", err
		}
		for _, row := range rows {
			if seen[row.GuestID] {
				continue
			}
			matches, err := s.matches(view, keys, row)
			if err != nil {
				return nil, "", err
			}
			if !matches {
				continue
			}
			seen[row.GuestID] = true
			listed, err := s.isOnPageBefore(view, keys, row)
			if err != nil {
				return nil, "", err
			}
			if !listed {
				guests = append(guests, row.GuestID)
			}
			if len(guests) == s.Limit {
				return guests, row.ID, nil
			}
		}
		if len(rows) < searchedAtOne {
			return guests, "", nil
		}
		next = rows[len(rows)-1].ID
	}
	return guests, next, nil
}

// before selects the messages that are older than the one with an id; "" selects all.
func before(messageID string) []predicate.Message {
	if messageID == "" {
		return nil
	}
	return []predicate.Message{entmessage.IDLT(messageID)}
}

// read returns at most limit messages of a property that match which and, with UnreadOnly, are unread messages of guests, the latest first.
// It does not compare their texts with the search.
func (s Search) read(view *db.Tx, propertyID string, which []predicate.Message, limit int) ([]*ent.Message, error) {
	q := view.Message.Query().Where(entmessage.PropertyID(propertyID)).Where(which...).Order(ent.Desc(entmessage.FieldID)).Limit(limit)
	if s.UnreadOnly {
		q = q.Where(entmessage.ReadAtIsNil(), entmessage.Sender(string(Guest)))
	}
	rows, err := q.All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("search the messages of a property: %w", err)
	}
	return rows, nil
}

// matches reports whether a message contains the words of the search one after the other. The first and the last may be parts of words.
func (s Search) matches(view *db.Tx, keys *keyring.Ring, row *ent.Message) (bool, error) {
	m, err := open(view.Context(), keys, row)
	return err == nil && strings.Contains(strings.Join(text.Words(m.Text), " "), s.Query), err
}

// isOnPageBefore reports whether the conversation of a message was listed on an earlier page, because a later message matches, too.
func (s Search) isOnPageBefore(view *db.Tx, keys *keyring.Ring, row *ent.Message) (bool, error) {
	if s.Before == "" {
		return false, nil
	}
	later, err := s.read(view, row.PropertyID, []predicate.Message{entmessage.GuestID(row.GuestID), entmessage.IDGTE(s.Before)}, maxMessages)
	if err != nil {
		return false, err
	}
	for _, one := range later {
		if matches, err := s.matches(view, keys, one); err != nil || matches {
			return matches, err
		}
	}
	return false, nil
}

// Summarize returns the last message of the conversation of a guest and how many messages the property has not read, or nil if there are
// no messages.
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
