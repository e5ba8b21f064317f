package code

import (
	"fmt"
	"time"

	entcode "latchkey.dev/ent/code"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
)

// DeleteEnded deletes up to limit ended codes, and returns their number. It deletes only codes that every lock had removed before a time.
func DeleteEnded(tx *db.Tx, before time.Time, limit int) (int, error) {
	rows, err := tx.Code.Query().Where(entcode.ReleasedAtLT(before)).Order(entcode.ByReleasedAt()).Limit(limit).All(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("find codes to delete: %w", err)
	}
	byProperty := map[string][]string{}
	for _, c := range rows {
		byProperty[c.PropertyID] = append(byProperty[c.PropertyID], c.ID)
	}
	for propertyID, ids := range byProperty {
		if err := deleteAll(tx, propertyID, ids); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// deleteAll deletes codes that no lock holds. A free slot names the last code that it held, so that reference is cleared.
func deleteAll(tx *db.Tx, propertyID string, ids []string) error {
	err := tx.Slot.Update().Where(entslot.PropertyID(propertyID), entslot.GrantIDIn(ids...)).SetGrantID("").SetPinID("").Exec(tx.Context())
	if err == nil {
		err = access.DeletePINsOfCodes(tx, propertyID, ids)
	}
	if err == nil {
		_, err = tx.Code.Delete().Where(entcode.PropertyID(propertyID), entcode.IDIn(ids...)).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("delete codes: %w", err)
	}
	return nil
}
