package reservation

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// eventBatch bounds the events that one statement reads.
const eventBatch = 1000

// ListByAccessEvent returns a page of the reservations with events about their access since q.Since, oldest event first, and the token of
// the next page, or "" at the end. An opening of a door also counts. q.State selects by the present state. A reservation that has another
// event while a client reads the pages is listed again. Changes whose events were deleted are missing. A page may have fewer than q.Size
// entries. A malformed token is a fault.
func ListByAccessEvent(tx *db.Tx, s Scope, q Query) (rows []*ent.Reservation, next string, err error) {
	after, err := q.afterEvent(tx, s.PropertyID)
	if err != nil {
		return nil, "", err
	}
	ids, last, more, err := nextAccessChanges(tx, s, q, after)
	if err != nil {
		return nil, "", fmt.Errorf("list reservations by access: %w", err)
	}
	for _, reservationID := range ids {
		row, err := Get(tx, s, reservationID)
		if fault.Has(err, fault.ReservationNotFound) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, row)
	}
	if more {
		next = eventToken(last)
	}
	return rows, next, nil
}

// nextAccessChanges reads the events after an event id and returns the ids of up to q.Size reservations whose access
// they changed, each once. last is the last event that it read, where the next page continues. more means that there
// is a next page.
func nextAccessChanges(tx *db.Tx, s Scope, q Query, after int64) (ids []string, last int64, more bool, err error) {
	seen := map[string]bool{}
	for last = after; ; {
		found, err := accessEventsAfter(tx, s.PropertyID, last)
		if err != nil {
			return nil, 0, false, err
		}
		for _, e := range found {
			if e.matches(s, q) && !seen[e.reservation] {
				if len(ids) == q.Size {
					return ids, last, true, nil
				}
				seen[e.reservation] = true
				ids = append(ids, e.reservation)
			}
			last = e.id
		}
		if len(found) < eventBatch {
			return ids, last, false, nil
		}
	}
}

// matches reports whether the event changed the access of a reservation that is in the scope, and that is now in the state for which the
// query asks.
func (e accessEvent) matches(s Scope, q Query) bool {
	return e.reservation != "" && (s.IntegrationID == "" || e.integration == s.IntegrationID) && (q.State == "" || e.state == string(q.State))
}

// afterEvent returns the event id after which the list begins: the last event of the previous page, or the last event before q.Since. It
// returns 0 to begin with the first event, and a fault for a malformed token.
func (q Query) afterEvent(tx *db.Tx, propertyID string) (int64, error) {
	if q.Token != "" {
		return parseEventToken(q.Token)
	}
	last, err := tx.Event.Query().Where(entevent.PropertyID(propertyID), entevent.CreatedAtLT(q.Since)).
		Order(entevent.ByID(sql.OrderDesc())).FirstID(tx.Context())
	if err != nil && !ent.IsNotFound(err) {
		return 0, fmt.Errorf("find the event where a list begins: %w", err)
	}
	return last, nil
}

// eventToken encodes the last event of a page as a page token. Its length differs from that of a [PageToken], so that
// no list accepts a token of the other kind.
func eventToken(eventID int64) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(eventID))) // parseEventToken converts back
}

// parseEventToken is the inverse of [eventToken]. It returns an error of the field pageToken for every other text.
func parseEventToken(token string) (int64, error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil && len(b) == 8 {
		if id := int64(binary.BigEndian.Uint64(b)); id >= 0 && eventToken(id) == token { // inverse of the conversion in eventToken
			return id, nil
		}
	}
	return 0, fault.BadPageToken()
}

// LastAccessEventAt returns the time of the last event about the access of a reservation: new evidence for a code, an opening of a door, a
// new PIN, an end. It returns zero if the reservation never had access, or if its events were deleted.
func LastAccessEventAt(tx *db.Tx, propertyID, reservationID string) (last time.Time, err error) {
	for _, query := range []string{lastOfGrants, lastOfSubject} {
		var at time.Time
		if _, err := tx.ReadOne(query, []any{propertyID, reservationID}, &at); err != nil {
			return last, fmt.Errorf("find the last change of access: %w", err)
		}
		if at.After(last) {
			last = at.UTC()
		}
	}
	return last, nil
}
