package space

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"latchkey.dev/internal/db"
)

// FullName returns the name of a space that no other space of the property has: the name of a bed follows that of its dorm, because beds of two dorms may
// have equal names. parent is the name of the dorm, or "". A name that already begins with it, such as "Dorm 4-1", is the full name.
func FullName(parent, name string) string {
	if parent == "" || name == "" {
		return name
	}
	rest, begins := strings.CutPrefix(name, parent)
	if next, _ := utf8.DecodeRuneInString(rest); begins && rest != "" && !unicode.IsLetter(next) && !unicode.IsDigit(next) {
		return name
	}
	return parent + " · " + name
}

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
