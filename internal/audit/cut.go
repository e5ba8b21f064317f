package audit

import (
	"fmt"
	"time"

	"latchkey.dev/ent/auditentry"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
)

// DeleteOld deletes the entries older than a time, at most most, from the start of one chain: the one whose first entry is the oldest.
// It stops before the first entry that is not old, because a clock was ahead when it was written, or that cannot be decoded, and passes
// over a chain that begins with such an entry to the next one. The head keeps the hash of the last deleted entry, so that the rest still
// verifies; it becomes damaged if the deleted ones do not verify. DeleteOld returns the number of deleted entries. Only 0 means that none
// are left to delete: a caller repeats it until then.
func DeleteOld(tx *db.Tx, keys *keyring.Ring, before time.Time, most int) (int, error) {
	for skipped := []string{}; ; {
		propertyID, err := oldestChain(tx, before, skipped)
		if err != nil || propertyID == "" {
			return 0, err
		}
		if n, err := deleteOldOf(tx, keys, propertyID, before, most); n > 0 || err != nil {
			return n, err
		}
		skipped = append(skipped, propertyID)
	}
}

// deleteOldOf deletes at most most entries from the start of the chain of one property, before the first that is not older than before or
// cannot be decoded, and returns their number. It also stores the head that the rest follows.
func deleteOldOf(tx *db.Tx, keys *keyring.Ring, propertyID string, before time.Time, most int) (int, error) {
	h, err := loadHead(tx, keys, propertyID)
	if err != nil {
		return 0, err
	}
	entries, _, err := readToDamage(tx, propertyID, 0, h.seq, most)
	if err != nil {
		return 0, err
	}
	n := 0
	for n < len(entries) && entries[n].At.Before(before) {
		n++
	}
	if n == 0 {
		return 0, nil
	}
	last := entries[n-1]
	if _, err := tx.AuditEntry.Delete().Where(auditentry.PropertyID(propertyID), auditentry.SeqLTE(last.Seq)).Exec(tx.Context()); err != nil {
		return 0, fmt.Errorf("delete old entries of the audit log: %w", err)
	}
	// A gap or a changed hash among the deleted entries disappears with them, so it marks the head as damaged, which Verify reports.
	if !isChain(keys, h, entries[:n]) {
		h.damaged = true
	}
	h.cut, h.cutHash = last.Seq, last.hash
	return n, h.store(tx, keys)
}

// isChain reports whether entries are an unbroken chain that follows the deleted entries of a head.
func isChain(keys *keyring.Ring, h head, entries []Entry) bool {
	expected, previous := h.cut+1, h.cutHash
	for _, e := range entries {
		if check(keys, e, expected, previous) != "" {
			return false
		}
		expected, previous = e.Seq+1, e.hash
	}
	return true
}
