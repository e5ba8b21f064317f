// Package event stores events. Append writes an event in the transaction of the change, with a sequence number per subject.
// The worker delivers events later, at least once and in order per subject.
package event

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/watch"
)

// Event is something that happened to its subject, to be stored by [Append].
type Event struct {
	PropertyID string
	Subject    string // Subject is the id of the reservation, lock, bridge or integration, or an [InternalSubject]
	Kind       Kind
	Body       map[string]any // Body has no PIN, no token and no personal data
	OccurredAt time.Time      // OccurredAt is when the event happened; zero: now
	GrantID    string         // GrantID is the access grant that the event concerns, or empty
}

// Appended is the topic of new events for subscribers, all except [Kind.Internal] ones. Its key is empty.
const Appended db.Topic = "event.appended"

// Append stores an event with the next sequence number of its subject, in the transaction of the change that it reports. After the commit
// it notifies the dispatcher, which delivers events to subscribers, unless the kind is internal. It also notifies the open streams of
// staff, unless the event only records that a person read something.
func Append(tx *db.Tx, e Event) error {
	if e.OccurredAt.IsZero() {
		e.OccurredAt = tx.Now()
	}
	if e.Body == nil {
		e.Body = map[string]any{}
	}
	body, err := json.Marshal(e.Body)
	if err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	var grant, position any
	if e.GrantID != "" {
		grant = e.GrantID
	}
	if e.Kind.Internal() {
		position = 0
	}
	_, err = tx.ExecContext(tx.Context(), insertEvent, e.PropertyID, e.Subject, e.Subject, string(e.Kind), string(body), grant, e.OccurredAt.UTC(), position, tx.Now())
	if err != nil {
		return fmt.Errorf("store an event: %w", err)
	}
	if !e.Kind.Internal() {
		tx.Notify(Appended, "")
	}
	e.notifyWatchers(tx)
	return nil
}

// Since returns the events of a kind about a subject that occurred at a time or later, in no particular order. For an internal kind the
// subject is an [InternalSubject].
func Since(view *db.Tx, propertyID, subject string, kind Kind, since time.Time) ([]*ent.Event, error) {
	found, err := view.Event.Query().Where(entevent.PropertyID(propertyID), entevent.Subject(subject), entevent.Kind(string(kind)),
		entevent.OccurredAtGTE(since)).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list the latest events of a subject: %w", err)
	}
	return found, nil
}

// topics has the topic of the streams of staff for each kind of subject, by the prefix of its ids.
var topics = map[string]watch.Topic{id.Reservation: watch.Reservations, id.Lock: watch.Locks, id.Bridge: watch.Bridges, id.Integration: watch.Spaces}

// notifyWatchers notifies the open streams of staff that the subject of the event changed. It ignores events that record only that a person
// read something: a page that reads the data again after each notification would notify itself without end.
func (e Event) notifyWatchers(tx *db.Tx) {
	if slices.Contains(reads, e.Kind) {
		return
	}
	subject := strings.TrimPrefix(e.Subject, internalPrefix)
	prefix, _, _ := strings.Cut(subject, "_")
	if topic, ok := topics[prefix]; ok {
		watch.Notify(tx, e.PropertyID, topic, subject)
	}
}
