package staff

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"latchkey.dev/ent/membership"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
)

// Trace has the RPC of a call and the client's address, for the audit log.
type Trace struct{ Action, From string }

// maxRecorded bounds the properties whose audit logs have an entry about the account of one person.
const maxRecorded = 50

// Record adds an entry about the account of a person, such as a sign-in, to the audit logs of up to maxRecorded properties at which the
// person works and is not disabled. At none, it does nothing.
func Record(tx *db.Tx, keys *keyring.Ring, personID string, t Trace, outcome audit.Outcome) error {
	// In the order of their ids, so that two calls lock the logs in the same order.
	properties, err := tx.Membership.Query().Where(membership.PersonID(personID), membership.DisabledAtIsNil()).
		Order(membership.ByPropertyID()).Limit(maxRecorded).Select(membership.FieldPropertyID).Strings(tx.Context())
	if err != nil {
		return fmt.Errorf("list the properties of a person: %w", err)
	}
	for _, propertyID := range properties {
		if err := recordAt(tx, keys, propertyID, author(personID), t, outcome, personID); err != nil {
			return err
		}
	}
	return nil
}

// recordAt adds an entry to the audit log of one property. A trace without an action is an error.
func recordAt(tx *db.Tx, keys *keyring.Ring, propertyID, by string, t Trace, outcome audit.Outcome, subjects ...string) error {
	if t.Action == "" {
		return errors.New("an entry of the audit log names no action")
	}
	return audit.Append(tx, keys, audit.Record{PropertyID: propertyID, Actor: by, Action: t.Action, Subjects: subjects, From: t.From, Outcome: outcome})
}

// Failures records failed sign-ins of known people in the audit log, after the call was answered: the time of the answer must not show
// whether an address is known. The limits of failed attempts bound their number. Queued entries are lost if the process crashes.
type Failures struct {
	db    *db.DB
	keys  *keyring.Ring
	log   *slog.Logger
	queue chan failure
}

type failure struct {
	personID string
	Trace
}

const (
	// maxFailures bounds the queued entries about failed sign-ins. Further ones are dropped and logged.
	maxFailures = 256
	// failureTime is how long storing one entry in the audit logs may take. A later one is lost and logged.
	failureTime = 5 * time.Second
	// failuresDrain is how long storing all queued entries may take when the server stops. The others are lost and logged.
	failuresDrain = 10 * time.Second
)

// NewFailures returns a recorder of failed sign-ins. It queues entries for the audit log; Run stores them.
func NewFailures(d *db.DB, keys *keyring.Ring, log *slog.Logger) *Failures {
	return &Failures{db: d, keys: keys, log: log, queue: make(chan failure, maxFailures)}
}

// note enqueues an entry about a failed sign-in. It does not wait: if the queue is full, it drops the entry and logs that. With a nil f it
// does nothing.
func (f *Failures) note(personID string, t Trace) {
	if f == nil {
		return
	}
	select {
	case f.queue <- failure{personID, t}:
	default:
		f.log.Warn("a failed sign-in has no entry in the audit log: too many wait")
	}
}

// Run stores queued entries until the context ends, and then those that are still queued, for at most failuresDrain. The error is always
// nil.
func (f *Failures) Run(ctx context.Context) error {
	for {
		select {
		case one := <-f.queue:
			f.record(context.WithoutCancel(ctx), one)
		case <-ctx.Done():
			f.drain(context.WithoutCancel(ctx))
			return nil
		}
	}
}

// drain stores the entries that are still queued, for at most failuresDrain. It drops and logs the rest.
func (f *Failures) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, failuresDrain)
	defer cancel()
	for len(f.queue) > 0 {
		if ctx.Err() != nil {
			f.log.WarnContext(ctx, "failed sign-ins have no entry in the audit log: the server stops", "entries", len(f.queue))
			return
		}
		f.record(ctx, <-f.queue)
	}
}

// record stores one entry, and logs a failure to do so.
func (f *Failures) record(ctx context.Context, one failure) {
	ctx, cancel := context.WithTimeout(ctx, failureTime)
	defer cancel()
	err := f.db.Write(ctx, func(tx *db.Tx) error { return Record(tx, f.keys, one.personID, one.Trace, audit.Refused) })
	if err != nil {
		f.log.WarnContext(ctx, "a failed sign-in has no entry in the audit log", "error", err)
	}
}
