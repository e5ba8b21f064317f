// Package event keeps what happened: written in the transaction of the change itself, numbered per subject, delivered
// later, at least once and in order per subject.
package event

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
)

// Kind names what happened. The words are those of the webhooks.
type Kind string

// The kinds.
const (
	PINGenerated       Kind = "reservationPinGenerated"
	AccessIssued       Kind = "access.issued"
	AccessUpdated      Kind = "access.updated"
	AccessRemoved      Kind = "access.removed"
	AccessFailed       Kind = "access.failed"
	CredentialVerified Kind = "credential.verified"
	DoorOpened         Kind = "door.opened"
	DoorDenied         Kind = "door.denied"
	LockOffline        Kind = "lock.offline"
	LockBatteryLow     Kind = "lock.batteryLow"
	ConflictOpened     Kind = "mapping.conflictOpened"
	ConflictClosed     Kind = "mapping.conflictClosed"
	EndpointFailing    Kind = "endpoint.failing"
)

// Event is one thing that happened.
type Event struct {
	PropertyID string
	Subject    string // the id of the reservation, lock or integration it happened to
	Kind       Kind
	Body       map[string]any // no PIN, no token, no personal data
	OccurredAt time.Time      // zero: now
	GrantID    string         // the access it was about, where that is not the subject
}

type wakerKey struct{}

// WithWaker has wake called when events that are appended under this context are stored, once for each. It must not wait.
func WithWaker(ctx context.Context, wake func()) context.Context {
	return context.WithValue(ctx, wakerKey{}, wake)
}

// Append writes the event with the next number of its subject.
func Append(tx *db.Tx, e Event) error {
	if e.OccurredAt.IsZero() {
		e.OccurredAt = tx.Now()
	}
	if e.Body == nil {
		e.Body = map[string]any{}
	}
	last, err := tx.Event.Query().Where(event.Subject(e.Subject)).
		Order(event.BySubjectSequence(sql.OrderDesc())).Limit(1).Select(event.FieldSubjectSequence).Ints(tx.Brief())
	if err != nil {
		return fmt.Errorf("number an event: %w", err)
	}
	next := int64(1)
	if len(last) > 0 {
		next += int64(last[0])
	}
	create := tx.Event.Create()
	if e.GrantID != "" {
		create.SetGrantID(e.GrantID)
	}
	if e.Kind.Internal() {
		create.SetDispatchedAt(tx.Now())
	}
	err = create.SetPropertyID(e.PropertyID).SetSubject(e.Subject).SetSubjectSequence(next).
		SetKind(string(e.Kind)).SetBody(e.Body).SetOccurredAt(e.OccurredAt.UTC()).SetCreatedAt(tx.Now()).
		OnConflict(sql.ConflictColumns(event.FieldSubject, event.FieldSubjectSequence), sql.DoNothing()). // in two at once, PostgreSQL has one begin anew
		Exec(tx.Brief())
	if err != nil {
		return fmt.Errorf("store an event: %w", err)
	}
	if w, ok := tx.Context().Value(wakerKey{}).(func()); ok && w != nil && !e.Kind.Internal() {
		tx.After(w)
	}
	return nil
}

// Of lists the events of one subject, oldest first, at most limit.
func Of(tx *db.Tx, propertyID, subject string, limit int) ([]*ent.Event, error) {
	return tx.Event.Query().Where(event.PropertyID(propertyID), event.Subject(subject)).
		Order(event.BySubjectSequence()).Limit(limit).All(tx.Context())
}
