package lock

import (
	"fmt"

	"entgo.io/ent/dialect/sql"

	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/db"
)

// BridgeCount says how many bridges of a property have connected, and how many of them are online.
type BridgeCount struct{ All, Online int }

// CountBridges counts the bridges of each of some properties. Revoked bridges do not count.
func CountBridges(view *db.Tx, propertyIDs []string) (map[string]BridgeCount, error) {
	var rows []struct {
		PropertyID string `json:"property_id"`
		Online     bool   `json:"online"`
		Count      int    `json:"count"`
	}
	err := view.Bridge.Query().Where(entbridge.PropertyIDIn(propertyIDs...), entbridge.EpochGT(0), entbridge.RevokedAtIsNil()).
		GroupBy(entbridge.FieldPropertyID, entbridge.FieldOnline).Aggregate(func(s *sql.Selector) string { return sql.As(sql.Count("*"), "count") }).
		Scan(view.Context(), &rows)
	if err != nil {
		return nil, fmt.Errorf("count bridges: %w", err)
	}
	counts := map[string]BridgeCount{}
	for _, row := range rows {
		c := counts[row.PropertyID]
		c.All += row.Count
		if row.Online {
			c.Online += row.Count
		}
		counts[row.PropertyID] = c
	}
	return counts, nil
}
