package audit

import (
	"bytes"
	"crypto/hmac"
	"fmt"

	"latchkey.dev/ent/auditentry"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
)

// Problem is why a chain does not verify.
type Problem string

const (
	Changed Problem = "changed" // an entry was changed or moved, or cannot be decoded
	Missing Problem = "missing" // an entry was deleted
	// HeadLost means that the head, which records where the chain ends, was changed or deleted, that entries deleted for their age did not
	// verify, or that there are entries outside of the chain.
	HeadLost Problem = "headLost"
)

// Report is the result of verifying a part of a chain.
type Report struct {
	First, Last int64   // the numbers of the chain's first and last entry; First is 0 if it has none and no problem was found
	Verified    int     // the number of verified entries of this part
	Next        int64   // the number of the entry at which the next part begins; 0: the chain was verified to its end, or has a problem
	Problem     Problem // "" if none was found
	At          int64   // the number of the entry with the problem; 0: no problem, or HeadLost of a log without entries
}

// verifyBatch is how many entries one statement reads.
const verifyBatch = 500

// Verify verifies at most limit entries of a property, from the entry with the number from on: Next of an earlier report; 0 begins with the
// first one. It stops at the first problem, which is in the report and is no error. If the head is damaged, it verifies none and reports
// HeadLost. The part that reaches the end of the chain also finds entries outside of the chain.
func Verify(view *db.Tx, keys *keyring.Ring, propertyID string, from int64, limit int) (Report, error) {
	h, err := loadHead(view, keys, propertyID)
	if err != nil {
		return Report{}, err
	}
	r := Report{First: h.cut + 1, Last: h.seq}
	if h.damaged {
		return r.found(HeadLost, h.seq), nil
	}
	expected, previous := r.First, h.cutHash
	if from > r.First {
		expected = from
		before, err := read(view, propertyID, from-1, from-1, 1)
		if err != nil {
			return Report{}, err
		}
		if len(before) == 0 {
			return r.found(Missing, from-1), nil
		}
		previous = before[0].hash
	}
	for expected <= h.seq && r.Verified < limit {
		entries, damaged, err := readToDamage(view, propertyID, expected, h.seq, min(verifyBatch, limit-r.Verified))
		if err != nil {
			return Report{}, err
		}
		if len(entries) == 0 && damaged == 0 {
			return r.found(Missing, expected), nil
		}
		for _, e := range entries {
			if problem := check(keys, e, expected, previous); problem != "" {
				return r.found(problem, expected), nil
			}
			expected, previous = expected+1, e.hash
			r.Verified++
		}
		if damaged > 0 {
			return r.found(Changed, damaged), nil
		}
	}
	switch {
	case expected <= h.seq:
		r.Next = expected
		return r, nil
	case h.seq > h.cut && !bytes.Equal(previous, h.hash):
		return r.found(Changed, h.seq), nil
	}
	return r.checkEnd(view, propertyID, h)
}

// check verifies one entry. It returns Missing if its number is not expected, Changed if it does not follow the hash previous or if its
// content does not match its own keyed hash, and "" if it is right.
func check(keys *keyring.Ring, e Entry, expected int64, previous []byte) Problem {
	switch {
	case e.Seq != expected:
		return Missing
	case !bytes.Equal(e.previous, previous), !hmac.Equal(e.hash, hashOf(keys, e)):
		return Changed
	}
	return ""
}

// checkEnd reports entries that do not belong to the chain, after the head or before the first entry, as HeadLost. Only a change of the
// database by another program adds such entries. For a chain without entries it sets First to 0.
func (r Report) checkEnd(view *db.Tx, propertyID string, h head) (Report, error) {
	rows, err := view.AuditEntry.Query().Where(auditentry.PropertyID(propertyID), auditentry.Or(auditentry.SeqGT(h.seq), auditentry.SeqLTE(h.cut))).
		Order(auditentry.BySeq()).Limit(1).All(view.Context())
	if err != nil {
		return Report{}, fmt.Errorf("read the audit log: %w", err)
	}
	if len(rows) > 0 {
		return r.found(HeadLost, rows[0].Seq), nil
	}
	if h.seq == h.cut {
		r.First = 0
	}
	return r, nil
}

// found returns the report with a problem at an entry, after which the check stops.
func (r Report) found(p Problem, at int64) Report {
	r.Problem, r.At, r.Next = p, at, 0
	return r
}

// readToDamage is [read] that stops at an entry that cannot be decoded, because a value was changed in the database. It returns the entries
// before that entry, and the number of that entry in damaged; 0 if all can be decoded.
func readToDamage(view *db.Tx, propertyID string, from, to int64, limit int) (entries []Entry, damaged int64, err error) {
	if entries, err = read(view, propertyID, from, to, limit); err == nil || view.Context().Err() != nil {
		return entries, 0, err
	}
	var numbers []int64
	if view.AuditEntry.Query().Where(auditentry.PropertyID(propertyID), auditentry.SeqGTE(from), auditentry.SeqLTE(to)).
		Order(auditentry.BySeq()).Limit(limit).Select(auditentry.FieldSeq).Scan(view.Context(), &numbers) != nil {
		return nil, 0, err
	}
	for _, seq := range numbers {
		one, unread := read(view, propertyID, seq, seq, 1)
		if view.Context().Err() != nil {
			return nil, 0, err
		}
		if unread != nil {
			return entries, seq, nil
		}
		entries = append(entries, one...)
	}
	return entries, 0, nil
}

// read returns at most limit entries of a property, in order. from and to are the first and the last number.
func read(view *db.Tx, propertyID string, from, to int64, limit int) ([]Entry, error) {
	rows, err := view.AuditEntry.Query().Where(auditentry.PropertyID(propertyID), auditentry.SeqGTE(from), auditentry.SeqLTE(to)).
		Order(auditentry.BySeq()).Limit(limit).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	entries := make([]Entry, len(rows))
	for i, row := range rows {
		entries[i] = entryOf(row)
	}
	return entries, nil
}
