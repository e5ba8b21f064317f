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

// accessEvents lists the events of a property after an event id, each with the reservation whose access it changed.
// An event about a code names the code's grant; an event about the whole access has the reservation as its subject.
const accessEvents = `SELECT e.id, r.id, r.integration_id, r.state FROM events AS e
	LEFT JOIN grants AS g ON g.id = e.grant_id AND g.property_id = e.property_id
	LEFT JOIN reservations AS r ON r.id = COALESCE(g.reservation_id, e.subject) AND r.property_id = e.property_id
	WHERE e.property_id = $1 AND e.id > $2 ORDER BY e.id LIMIT $3`

// eventBatch bounds the events that one statement reads.
const eventBatch = 1000

// ListByAccess returns a page of the reservations whose access changed since q.Since, oldest change first, and the
// token of the next page. A reservation that changes again while a client reads the pages is listed again.
func ListByAccess(tx *db.Tx, s Scope, q Query) (rows []*ent.Reservation, next string, err error) {
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

// nextAccessChanges returns the next reservations whose access changed, and the last event that it read.
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

// accessEvent is a row of the query accessEvents. The reservation is empty if the event concerns none.
type accessEvent struct {
	id                              int64
	reservation, integration, state string
}

func (e accessEvent) matches(s Scope, q Query) bool {
	return e.reservation != "" && (s.IntegrationID == "" || e.integration == s.IntegrationID) && (q.State == "" || e.state == string(q.State))
}

func accessEventsAfter(tx *db.Tx, propertyID string, after int64) ([]accessEvent, error) {
	rows, err := tx.Client.QueryContext(tx.Context(), accessEvents, propertyID, after, eventBatch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []accessEvent
	for rows.Next() {
		var e accessEvent
		var reservation, integration, state sql.NullString
		if err := rows.Scan(&e.id, &reservation, &integration, &state); err != nil {
			return nil, err
		}
		e.reservation, e.integration, e.state = reservation.String, integration.String, state.String
		all = append(all, e)
	}
	return all, rows.Err()
}

// afterEvent returns the event id after which the list begins: the last event of the previous page, or the last event
// before q.Since.
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
// neither list accepts the other's token.
func eventToken(eventID int64) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(eventID))) // parseEventToken converts back
}

func parseEventToken(token string) (int64, error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil && len(b) == 8 {
		if id := int64(binary.BigEndian.Uint64(b)); id >= 0 && eventToken(id) == token { // inverse of the conversion in eventToken
			return id, nil
		}
	}
	return 0, badPageToken()
}

// The access last changed at the last event of the reservation or of one of its grants.
const (
	lastOfGrants = `SELECT e.created_at FROM grants AS g
		JOIN events AS e ON e.id = (SELECT MAX(x.id) FROM events AS x WHERE x.grant_id = g.id)
		WHERE g.property_id = $1 AND g.reservation_id = $2 ORDER BY e.created_at DESC LIMIT 1`
	lastOfSubject = `SELECT e.created_at FROM events AS e WHERE e.property_id = $1 AND e.subject = $2
		AND e.subject_sequence = (SELECT MAX(x.subject_sequence) FROM events AS x WHERE x.subject = e.subject)`
)

// AccessChangedAt returns when the access of a reservation last changed: new evidence for a code, a new PIN, an end.
// It returns zero if the reservation never had access, or if its events were deleted.
func AccessChangedAt(tx *db.Tx, propertyID, reservationID string) (last time.Time, err error) {
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
