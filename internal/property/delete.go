package property

import (
	"context"
	"fmt"

	"latchkey.dev/internal/db"
)

// The statements of this file delete from the tables of every package, so they are not in the store.go of each package. Most are built from
// a table's name. A test checks that no table of the schema has rows left.

// deleteOrder lists the tables with rows of a property in the order of deletion: rows before their owners. First come the
// credentials, so that partners and staff add no rows, and the locks, so that no code is placed. Rows of other tables go with their owners.
var deleteOrder = []string{
	"tokens", "memberships", "slots", "door_rules", "lock_samples", "locks", "bridges",
	"pins", "key_statuses", "codes", "grants", "phones", "mails", "disclosures", "messages", "register_entries", "guests", "stays", "reservations", "tombstones", "reservation_changes",
	"conflicts", "mapping_changes", "mappings", "partner_spaces", "endpoints", "webhooks", "integrations", "gates", "spaces",
	"events", "acts", "notices", "guesses", "issuer_keys", "key_sets",
	"kiosks", "guest_profiles", "erasures", "attempts", "former_people", "person_invitations", "audit_entries", "audit_heads",
}

// DeleteRows deletes at most limit rows of a property, not counting rows that the database deletes with their owner. left means that rows
// may remain, so the caller must call it again. The property's own row stays: see [Delete]. Before, it marks the property as one that is
// being deleted, takes its locks from their doors and deletes its cursors of events. The caller must check, in the same transaction, that
// no slot can hold a code.
func DeleteRows(tx *db.Tx, propertyID string, limit int64) (left bool, err error) {
	mark := "UPDATE properties SET deleting_at = $1 WHERE id = $2 AND deleting_at IS NULL" // SQLite numbers parameters as they come
	if _, err := tx.ExecContext(tx.Context(), mark, tx.Now(), propertyID); err != nil {
		return false, fmt.Errorf("mark a property that is being deleted: %w", err)
	}
	for _, statement := range []string{
		"UPDATE locks SET door_id = NULL WHERE property_id = $1 AND door_id IS NOT NULL",
		"DELETE FROM event_cursors WHERE EXISTS (SELECT 1 FROM events AS e WHERE e.subject = event_cursors.subject AND e.property_id = $1)",
	} {
		if _, err := tx.ExecContext(tx.Context(), statement, propertyID); err != nil {
			return false, fmt.Errorf("close a property: %w", err)
		}
	}
	for _, table := range deleteOrder {
		n, err := deleteRows(tx, table, propertyID, limit)
		if err != nil {
			return false, err
		}
		if limit -= n; limit <= 0 {
			return true, nil
		}
	}
	return false, nil
}

// unindexed has, by table without an index on the property, the statement that deletes a property's rows in a range of
// ids.
var unindexed = map[string]string{
	"idempotency_keys": "DELETE FROM idempotency_keys WHERE property_id = $1 AND id > $2 AND id <= $3",
	"river_job":        "DELETE FROM river_job WHERE args ->> 'propertyId' = $1 AND state <> 'running' AND id > $2 AND id <= $3",
}

// rangeSize is how many ids one statement covers.
const rangeSize = 10_000

// DeleteUnindexed deletes the rows of a property from the tables that have no index on it. It scans each table once, in short transactions.
// Running jobs stay.
func DeleteUnindexed(ctx context.Context, d *db.DB, propertyID string) error {
	for table, statement := range unindexed {
		var from, last int64
		_, err := d.View(ctx).ReadOne("SELECT COALESCE(MIN(id), 1) - 1, COALESCE(MAX(id), 0) FROM "+table, nil, &from, &last)
		for ; err == nil && from < last; from += rangeSize {
			err = d.Write(ctx, func(tx *db.Tx) error {
				_, err := tx.ExecContext(tx.Context(), statement, propertyID, from, from+rangeSize)
				return err
			})
		}
		if err != nil {
			return fmt.Errorf("delete from %s: %w", table, err)
		}
	}
	return nil
}

// Delete deletes a property, its SmartKey issuer, and its data key, without which no one can decrypt its data. The caller must have deleted
// its other rows; Delete does not check that.
func Delete(tx *db.Tx, propertyID string) error {
	for _, table := range []string{"issuers", "properties", "property_keys"} {
		if _, err := tx.ExecContext(tx.Context(), "DELETE FROM "+table+" WHERE id = $1", propertyID); err != nil {
			return fmt.Errorf("delete from %s: %w", table, err)
		}
	}
	return nil
}

// deleteRows deletes at most limit rows of a property from a table, and returns their number.
func deleteRows(tx *db.Tx, table, propertyID string, limit int64) (int64, error) {
	statement := "DELETE FROM " + table + " WHERE property_id = $1 AND id IN (SELECT id FROM " + table + " WHERE property_id = $1 LIMIT $2)"
	result, err := tx.ExecContext(tx.Context(), statement, propertyID, limit)
	if err != nil {
		return 0, fmt.Errorf("delete from %s: %w", table, err)
	}
	return result.RowsAffected()
}
