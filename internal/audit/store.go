package audit

import (
	"encoding/json"
	"fmt"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
)

// Every call that changes something runs these statements, so they are not ent's. storeHeadSQL does not change the property of a stored head:
// a column in an index costs a page of the log for each index.
const (
	selectHeadSQL = `SELECT seq, hash, cut, cut_hash, mac FROM audit_heads WHERE property_id = $1`
	storeHeadSQL  = `INSERT INTO audit_heads (id, property_id, seq, hash, cut, cut_hash, mac) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, cut = excluded.cut, cut_hash = excluded.cut_hash, mac = excluded.mac`
	insertEntrySQL = `INSERT INTO audit_entries (id, property_id, seq, at, actor, action, subjects, from_address, reason, outcome, previous, hash)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
)

// selectOldestChainSQL returns the property whose chain begins with the oldest entry, if that is older than $1. The %s excludes properties.
const selectOldestChainSQL = `SELECT p.id FROM properties AS p JOIN audit_entries AS e ON e.property_id = p.id
	WHERE e.at < $1 AND e.seq = (SELECT MIN(seq) FROM audit_entries WHERE property_id = p.id)%s ORDER BY e.at, p.id LIMIT 1`

// headRow is a row of the table audit_heads.
type headRow struct {
	seq, cut           int64
	hash, cutHash, mac []byte
}

// selectHead returns the stored head of a property's log, and whether there is one.
func selectHead(tx *db.Tx, propertyID string) (row headRow, found bool, err error) {
	found, err = tx.ReadOne(selectHeadSQL, []any{propertyID}, &row.seq, &row.hash, &row.cut, &row.cutHash, &row.mac)
	if err != nil {
		return row, false, fmt.Errorf("load the head of the audit log: %w", err)
	}
	return row, found, nil
}

// storeHead inserts or replaces the head of a property's log.
func storeHead(tx *db.Tx, propertyID string, row headRow) error {
	_, err := tx.ExecContext(tx.Context(), storeHeadSQL, propertyID, propertyID, row.seq, row.hash, row.cut, row.cutHash, row.mac)
	if err != nil {
		return fmt.Errorf("store the head of the audit log: %w", err)
	}
	return nil
}

// insertEntry stores an entry under a new id.
func insertEntry(tx *db.Tx, e Entry) error {
	list := e.Subjects
	if list == nil {
		list = []string{}
	}
	subjects, err := json.Marshal(list)
	if err == nil {
		_, err = tx.ExecContext(tx.Context(), insertEntrySQL, id.New(id.AuditEntry), e.PropertyID, e.Seq, e.At, e.Actor, e.Action, string(subjects),
			e.From, e.Reason, string(e.Outcome), e.previous, e.hash)
	}
	if err != nil {
		return fmt.Errorf("store an entry of the audit log: %w", err)
	}
	return nil
}

// oldestChain returns the property whose chain begins with the oldest entry of all, if that entry is older than before; "" if there is none.
// It passes over the properties in except.
func oldestChain(tx *db.Tx, before time.Time, except []string) (string, error) {
	args, condition := []any{before}, ""
	for _, propertyID := range except {
		args = append(args, propertyID)
		condition += fmt.Sprintf(" AND p.id <> $%d", len(args))
	}
	propertyID := ""
	_, err := tx.ReadOne(fmt.Sprintf(selectOldestChainSQL, condition), args, &propertyID)
	if err != nil {
		return "", fmt.Errorf("find old entries of the audit log: %w", err)
	}
	return propertyID, nil
}
