// Package audit keeps a log for each property of the calls that changed or revealed something, or tried to. The entries form a chain of
// keyed hashes, so that a changed, deleted or moved entry is found.
package audit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/auditentry"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/text"
)

// Outcome says how a call ended.
type Outcome string

const (
	Done    Outcome = "done"
	Refused Outcome = "refused" // the caller lacks the right, or the request was wrong
	Failed  Outcome = "failed"  // an error of the service
)

// Record describes a call. Its subjects are ids of the service. It has no secret, and no personal data except the client's address and what
// the reason contains.
type Record struct {
	PropertyID string
	Actor      string // kind and id of the caller, such as staff:prs_1
	Action     string // full name of the RPC, such as latchkey.property.v1.LockService/UnlockLock
	Subjects   []string
	From       string // the client's address, or ""
	Reason     string // what the caller gave as reason, or ""
	Outcome    Outcome
}

// Entry is a record in the log.
type Entry struct {
	Record
	Seq            int64
	At             time.Time
	Damaged        bool // the stored entry cannot be decoded, so only its number and property are known
	previous, hash []byte
}

// Limits of what an entry stores, in subjects and in characters of the reason. Append cuts off what exceeds them.
const (
	maxSubjects = 50
	maxReason   = 500
)

// Append adds an entry with the transaction's time to the log of a property, in the transaction of the change that it records. It keeps
// only the first 50 subjects and the first 500 characters of the reason. It also appends to a damaged chain, which stays damaged.
func Append(tx *db.Tx, keys *keyring.Ring, r Record) error {
	h, err := loadHead(tx, keys, r.PropertyID)
	if err != nil {
		return err
	}
	if len(r.Subjects) > maxSubjects {
		r.Subjects = r.Subjects[:maxSubjects]
	}
	r.Reason = text.TruncateRunes(r.Reason, maxReason)
	e := Entry{Record: r, Seq: h.seq + 1, At: tx.Now().UTC().Truncate(time.Microsecond), previous: h.hash}
	e.hash = hashOf(keys, e)
	if err := insertEntry(tx, e); err != nil {
		return err
	}
	h.seq, h.hash = e.Seq, e.hash
	return h.store(tx, keys)
}

// hashOf returns the keyed hash of an entry. Each value is hashed with its length, so that no two entries have the same input.
func hashOf(keys *keyring.Ring, e Entry) []byte {
	values := []string{
		e.PropertyID, strconv.FormatInt(e.Seq, 10), e.At.UTC().Format(time.RFC3339Nano), e.Actor, e.Action, e.From, e.Reason, string(e.Outcome),
		string(e.previous), strconv.Itoa(len(e.Subjects)),
	}
	return keys.MAC("auditEntry", append(values, e.Subjects...)...)
}

// entryOf converts a stored entry.
func entryOf(row *ent.AuditEntry) Entry {
	return Entry{
		Record: Record{
			PropertyID: row.PropertyID, Actor: row.Actor, Action: row.Action, Subjects: row.Subjects, From: row.FromAddress, Reason: row.Reason,
			Outcome: Outcome(row.Outcome),
		},
		Seq: row.Seq, At: row.At, previous: row.Previous, hash: row.Hash,
	}
}

// Filter selects entries of the log. An empty field matches all.
type Filter struct {
	Actor    string    // kind and id of the caller, such as staff:prs_1
	Action   string    // a service and its method, such as LockService/UnlockLock, or a service alone for all its methods
	From, To time.Time // entries at From or later, and before To; zero: no bound
}

// predicates returns the conditions of the filter, all of which an entry must meet; none for an empty filter.
func (f Filter) predicates() (conditions []predicate.AuditEntry) {
	add := func(set bool, p predicate.AuditEntry) {
		if set {
			conditions = append(conditions, p)
		}
	}
	add(f.Actor != "", auditentry.Actor(f.Actor))
	if strings.Contains(f.Action, "/") {
		add(true, auditentry.ActionHasSuffix("."+f.Action)) // the full name begins with the package
	} else {
		add(f.Action != "", auditentry.ActionContains("."+f.Action+"/"))
	}
	add(!f.From.IsZero(), auditentry.AtGTE(f.From))
	add(!f.To.IsZero(), auditentry.AtLT(f.To))
	return conditions
}

// List returns up to limit entries of a property that f selects, the latest first. They have numbers below before; 0 begins with the last
// entry. An entry that cannot be decoded is listed with Damaged set, and then has only its number and property. List does not verify the
// chain.
func List(view *db.Tx, propertyID string, f Filter, before int64, limit int) ([]Entry, error) {
	q := view.AuditEntry.Query().Where(auditentry.PropertyID(propertyID)).Where(f.predicates()...)
	if before > 0 {
		q = q.Where(auditentry.SeqLT(before))
	}
	q = q.Order(ent.Desc(auditentry.FieldSeq)).Limit(limit)
	rows, err := q.Clone().All(view.Context())
	if err != nil {
		return listSingly(view, propertyID, q, fmt.Errorf("list the audit log: %w", err))
	}
	entries := make([]Entry, len(rows))
	for i, row := range rows {
		entries[i] = entryOf(row)
	}
	return entries, nil
}

// listSingly reads the entries of q one by one, after reading them together failed with the error failure. Entries that cannot be decoded
// are listed with Damaged set. It leaves out an entry that was deleted meanwhile, and returns failure if the numbers cannot be read either
// or the context ends.
func listSingly(view *db.Tx, propertyID string, q *ent.AuditEntryQuery, failure error) (entries []Entry, err error) {
	var numbers []int64
	if view.Context().Err() != nil || q.Select(auditentry.FieldSeq).Scan(view.Context(), &numbers) != nil {
		return nil, failure
	}
	for _, seq := range numbers {
		one, unread := read(view, propertyID, seq, seq, 1)
		if view.Context().Err() != nil {
			return nil, failure
		}
		if unread != nil {
			one = []Entry{{Record: Record{PropertyID: propertyID}, Seq: seq, Damaged: true}}
		}
		entries = append(entries, one...)
	}
	return entries, nil
}
