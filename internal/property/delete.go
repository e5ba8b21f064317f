package property

import (
	"fmt"

	"latchkey.dev/internal/db"
)

// deleteOrder lists the tables with rows of a property in the order of deletion: rows before their owners. First come the
// credentials, so that partners and staff add no rows, and the locks, so that no code is placed. Rows of other tables go with their owners.
var deleteOrder = []string{
	"tokens", "slots", "door_rules", "locks", "bridges",
	"pins", "key_statuses", "codes", "grants", "phones", "mails", "guests", "stays", "reservations", "tombstones", "reservation_changes",
	"conflicts", "mappings", "partner_spaces", "endpoints", "integrations", "gates", "spaces",
	"events", "acts", "notices", "guesses", "idempotency_keys", "issuer_keys", "key_sets",
	"kiosks", "guest_profiles", "attempts",
}

// DeleteRows deletes at most limit rows of a property, apart from those that go with their owner, and reports whether rows are
// left. The caller must refuse while a slot may hold a code, in the same transaction.
func DeleteRows(tx *db.Tx, propertyID string, limit int64) (left bool, err error) {
	for _, statement := range []string{
		"UPDATE locks SET door_id = NULL WHERE property_id = $1 AND door_id IS NOT NULL",
		"DELETE FROM event_cursors WHERE EXISTS (SELECT 1 FROM events AS e WHERE e.subject = event_cursors.subject AND e.property_id = $1)",
		"DELETE FROM river_job WHERE args ->> 'propertyId' = $1 AND state <> 'running'",
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

// Delete deletes a property without rows, and its data key.
func Delete(tx *db.Tx, propertyID string) error {
	for _, table := range []string{"issuers", "properties", "property_keys"} {
		if _, err := tx.ExecContext(tx.Context(), "DELETE FROM "+table+" WHERE id = $1", propertyID); err != nil {
			return fmt.Errorf("delete from %s: %w", table, err)
		}
	}
	return nil
}

func deleteRows(tx *db.Tx, table, propertyID string, limit int64) (int64, error) {
	statement := "DELETE FROM " + table + " WHERE property_id = $1 AND id IN (SELECT id FROM " + table + " WHERE property_id = $1 LIMIT $2)"
	result, err := tx.ExecContext(tx.Context(), statement, propertyID, limit)
	if err != nil {
		return 0, fmt.Errorf("delete from %s: %w", table, err)
	}
	return result.RowsAffected()
}
