package space

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
)

// FullName returns the name of a space that no other space of the property has: the name of a bed follows that of its dorm, because beds of two dorms may
// have equal names. parent is the name of the dorm, or "". A name that already begins with it, such as "Dorm 4-1", is the full name.
func FullName(parent, name string) string {
	if rest, ok := strings.CutPrefix(name, parent); ok {
		if next, _ := utf8.DecodeRuneInString(rest); rest != "" && !unicode.IsLetter(next) && !unicode.IsDigit(next) {
			return name
		}
	}
	if parent == "" || name == "" {
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

// maxNames limits the names that one query loads.
const maxNames = 200

// DormNames returns the names of the dorms of beds, by the id of the bed.
func DormNames(tx *db.Tx, propertyID string, beds []string) (map[string]string, error) {
	names := map[string]string{}
	for part := range slices.Chunk(beds, maxNames) {
		rows, err := tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.IDIn(part...), entspace.ParentIDNEQ("")).Select(entspace.FieldParentID).All(tx.Context())
		if err != nil {
			return nil, fmt.Errorf("load beds: %w", err)
		}
		var dorms []string
		for _, bed := range rows {
			dorms = append(dorms, bed.ParentID)
		}
		slices.Sort(dorms)
		loaded, err := tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.IDIn(slices.Compact(dorms)...)).Select(entspace.FieldName).All(tx.Context())
		if err != nil {
			return nil, fmt.Errorf("load dorms: %w", err)
		}
		for _, bed := range rows {
			for _, dorm := range loaded {
				if dorm.ID == bed.ParentID {
					names[bed.ID] = dorm.Name
				}
			}
		}
	}
	return names, nil
}
