package conversation

import (
	"fmt"
	"strconv"

	"latchkey.dev/ent"
	entmessage "latchkey.dev/ent/message"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

// Page selects messages of a conversation.
type Page struct {
	After       int    // only messages with a larger number
	NewestFirst bool   // the list begins with the newest message instead of the oldest
	Token       string // the token that came with the page before; empty for the first page
	Size        int    // at least 1
}

// List returns at most limit messages of a conversation with numbers above after, the oldest first, and whether there are more.
func List(view *db.Tx, keys *keyring.Ring, k Key, after, limit int) (list []Message, more bool, err error) {
	list, next, err := ListPage(view, keys, k, Page{After: after, Size: limit})
	return list, next != "", err
}

// ListPage returns a page of the messages of a conversation, the oldest first unless p.NewestFirst is set, and the token of the next page,
// or "" on the last page. The token is the number of the last message on the page, so a message that is sent between two calls does not
// shift the pages. For a malformed token it returns a fault.
func ListPage(view *db.Tx, keys *keyring.Ring, k Key, p Page) (list []Message, next string, err error) {
	query := view.Message.Query().Where(entmessage.PropertyID(k.PropertyID), entmessage.GuestID(k.GuestID), entmessage.NumberGT(p.After))
	if p.Token != "" {
		last, err := strconv.ParseInt(p.Token, 10, 32)
		if err != nil || last < 0 {
			return nil, "", fault.BadPageToken()
		}
		if p.NewestFirst {
			query.Where(entmessage.NumberLT(int(last)))
		} else {
			query.Where(entmessage.NumberGT(int(last)))
		}
	}
	order := ent.Asc
	if p.NewestFirst {
		order = ent.Desc
	}
	rows, err := query.Order(order(entmessage.FieldNumber)).Limit(p.Size + 1).All(view.Context())
	if err != nil {
		return nil, "", fmt.Errorf("list the messages of a conversation: %w", err)
	}
	if len(rows) > p.Size {
		rows = rows[:p.Size]
		next = strconv.Itoa(rows[p.Size-1].Number)
	}
	for _, row := range rows {
		m, err := open(view.Context(), keys, row)
		if err != nil {
			return nil, "", err
		}
		list = append(list, m)
	}
	return list, next, nil
}
