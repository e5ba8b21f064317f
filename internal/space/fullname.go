package space

import (
	"fmt"
	"slices"

	"latchkey.dev/internal/db"
)

// ParentName returns the name of the dorm of a bed, or "".
func (p Place) ParentName() string {
	if p.Parent == nil {
		return ""
	}
	return p.Parent.Name
}

// DormNames returns the names of the dorms of beds, by the id of the bed. It omits other ids.
func DormNames(tx *db.Tx, propertyID string, ids []string) (map[string]string, error) {
	names := map[string]string{}
	for part := range slices.Chunk(ids, chunkSize) {
		args := []any{propertyID}
		for _, id := range part {
			args = append(args, id)
		}
		rows, err := db.ReadList(tx, func(r *struct{ bed, dorm string }) []any { return []any{&r.bed, &r.dorm} }, withMore(dormsOfBeds, len(args)), args...)
		if err != nil {
			return nil, fmt.Errorf("load the dorms of beds: %w", err)
		}
		for _, r := range rows {
			names[r.bed] = r.dorm
		}
	}
	return names, nil
}
