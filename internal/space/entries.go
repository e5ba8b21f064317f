package space

import (
	"fmt"
	"time"

	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
)

// Entry is one space of a PMS and its mapping.
type Entry struct {
	Listed
	ParentName string     // ParentName is the name of a bed's room; empty if the PMS never listed it
	SpaceID    string     // SpaceID is empty if the space is not mapped
	SpaceName  string     // SpaceName is the name of the space SpaceID, without that of its dorm
	SeenAt     time.Time  // SeenAt is when the PMS last listed the space
	GoneAt     *time.Time // GoneAt is when the PMS first did not list the space any more; nil while it is listed
}

// EntryFilter selects spaces of a PMS: those that it lists, and mapped ones that it no longer lists.
type EntryFilter struct {
	UnmappedOnly bool
	SpaceID      string // SpaceID selects the spaces of the PMS that are mapped to this Latchkey space; empty: all
	Page
}

// where returns the tables and conditions of a statement that selects the entries of an integration, with its parameters.
func (f EntryFilter) where(propertyID, integrationID string) (string, []any) {
	where, args := entriesFrom, []any{propertyID, integrationID}
	if f.UnmappedOnly {
		where += " AND m.space_id IS NULL"
	}
	if f.SpaceID != "" {
		where, args = where+" AND m.space_id = $3", append(args, f.SpaceID)
	}
	return where, args
}

// CountEntries returns how many spaces of a PMS a filter selects, on all pages.
func CountEntries(tx *db.Tx, propertyID, integrationID string, f EntryFilter) (total int, err error) {
	where, args := f.where(propertyID, integrationID)
	if _, err := tx.ReadOne(countEntries+where, args, &total); err != nil {
		return 0, fmt.Errorf("count a partner's spaces: %w", err)
	}
	return total, nil
}

// Entries returns one page of a PMS's spaces by name, including spaces that are mapped but no longer listed, and the total number that f
// selects.
func Entries(tx *db.Tx, propertyID, integrationID string, f EntryFilter) ([]Entry, int, error) {
	total, err := CountEntries(tx, propertyID, integrationID, f)
	if err != nil || total == 0 {
		return nil, 0, err
	}
	where, args := f.where(propertyID, integrationID)
	limit, offset := f.limitAndOffset()
	query := fmt.Sprintf("%s%s ORDER BY listed.name, listed.external_id LIMIT %d OFFSET %d", entryColumns, where, limit, offset)
	list, err := db.ReadList(tx, func(e *Entry) []any {
		return []any{&e.ExternalID, &e.Type, &e.Name, &e.ParentExternalID, &e.Floor, &e.IsPrivate, &e.IsActive, &e.SeenAt, &e.GoneAt,
			&e.SpaceID, &e.SpaceName, &e.ParentName}
	}, query, args...)
	if err != nil {
		return nil, 0, fmt.Errorf("list a partner's spaces: %w", err)
	}
	return list, total, nil
}

// Names returns the names of some spaces of a property, by id. It omits unknown ids.
func Names(tx *db.Tx, propertyID string, ids ...string) (map[string]string, error) {
	rows, err := tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.IDIn(ids...)).Select(entspace.FieldID, entspace.FieldName).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the names of spaces: %w", err)
	}
	names := make(map[string]string, len(rows))
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names, nil
}
