package space

import (
	"database/sql"
	"fmt"
	"strings"

	"latchkey.dev/ent"
	"latchkey.dev/ent/partnerspace"
	"latchkey.dev/internal/db"
)

// foundPlace is a place and the PMS id that is mapped to it.
type foundPlace struct {
	externalID   string
	listedParent string // listedParent is the bed's room in the PMS's list, "" if the PMS names none
	Place
}

// placesMapped and placesOwn find the places of PMS ids and of Latchkey ids; every change of a reservation runs one of them. They are SQL
// because ent takes three times as long to build and scan them. An id that is not given is "", which matches no row. dormsOfBeds finds the
// names of the dorms of beds.
const (
	placeColumns = `own.id, own.type, own.name, own.floor, own.parent_id, own.is_private, own.is_active, own.created_at,
		dorm.id, dorm.type, dorm.name, dorm.floor, dorm.is_private, dorm.is_active, dorm.created_at`
	joinDorm     = ` LEFT JOIN spaces AS dorm ON dorm.id = own.parent_id AND dorm.property_id = own.property_id`
	placesMapped = `SELECT m.external_id, COALESCE(listed.parent_external_id, ''), ` + placeColumns + ` FROM mappings AS m
		JOIN spaces AS own ON own.id = m.space_id AND own.property_id = m.property_id` + joinDorm + `
		LEFT JOIN partner_spaces AS listed ON listed.property_id = m.property_id AND listed.integration_id = m.integration_id AND listed.external_id = m.external_id
		WHERE m.property_id = $1 AND m.integration_id = $2 AND m.external_id IN ($3, $4)`
	placesOwn = `SELECT '', '', ` + placeColumns + ` FROM spaces AS own` + joinDorm + `
		WHERE own.property_id = $1 AND own.id IN ($2)`
	dormsOfBeds = `SELECT bed.id, dorm.name FROM spaces AS bed JOIN spaces AS dorm ON dorm.id = bed.parent_id AND dorm.property_id = bed.property_id
		WHERE bed.property_id = $1 AND bed.id IN ($2)`
)

// withMore returns the query placesMapped, placesOwn or dormsOfBeds with more ids in its list, so that the query has n parameters.
func withMore(query string, n int) string {
	b := []byte(strings.TrimSuffix(query, ")"))
	for i := strings.Count(query, "$") + 1; i <= n; i++ {
		b = fmt.Appendf(b, ", $%d", i)
	}
	return string(append(b, ')'))
}

// listedSpaces returns, by PMS id, the spaces with some ids that a PMS lists, or listed before. It omits unknown ids.
func listedSpaces(tx *db.Tx, propertyID, integrationID string, ids ...string) (map[string]*ent.PartnerSpace, error) {
	rows, err := tx.PartnerSpace.Query().
		Where(partnerspace.PropertyID(propertyID), partnerspace.IntegrationID(integrationID), partnerspace.ExternalIDIn(ids...)).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("resolve a space: %w", err)
	}
	listed := make(map[string]*ent.PartnerSpace, len(rows))
	for _, row := range rows {
		listed[row.ExternalID] = row
	}
	return listed, nil
}

// queryPlaces runs the query placesMapped or placesOwn, or one from withMore. args are its parameters after the id of the property.
func queryPlaces(tx *db.Tx, query, propertyID string, args ...any) ([]foundPlace, error) {
	rows, err := tx.QueryContext(tx.Context(), query, append([]any{propertyID}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("resolve a space: %w", err)
	}
	defer rows.Close()
	var all []foundPlace
	for rows.Next() {
		f, own := foundPlace{}, &ent.Space{PropertyID: propertyID}
		var dormID, dormType, dormName, dormFloor sql.NullString
		var dormPrivate, dormActive sql.NullBool
		var dormCreated sql.NullTime
		err := rows.Scan(&f.externalID, &f.listedParent, &own.ID, &own.Type, &own.Name, &own.Floor, &own.ParentID, &own.IsPrivate, &own.IsActive, &own.CreatedAt,
			&dormID, &dormType, &dormName, &dormFloor, &dormPrivate, &dormActive, &dormCreated)
		if err != nil {
			return nil, fmt.Errorf("resolve a space: %w", err)
		}
		f.Space = own
		if dormID.Valid {
			f.Parent = &ent.Space{
				ID: dormID.String, PropertyID: propertyID, Type: dormType.String, Name: dormName.String, Floor: dormFloor.String,
				IsPrivate: dormPrivate.Bool, IsActive: dormActive.Bool, CreatedAt: dormCreated.Time,
			}
		}
		all = append(all, f)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("resolve a space: %w", err)
	}
	return all, nil
}

// These queries read the spaces of a PMS with their mappings, except spaces that are neither listed nor mapped.
const (
	countEntries = `SELECT COUNT(*)`
	entriesFrom  = ` FROM partner_spaces AS listed
		LEFT JOIN mappings AS m ON m.integration_id = listed.integration_id AND m.external_id = listed.external_id AND m.property_id = listed.property_id
		WHERE listed.property_id = $1 AND listed.integration_id = $2 AND (listed.gone_at IS NULL OR m.space_id IS NOT NULL)`
	entryColumns = `SELECT listed.external_id, listed.type, listed.name, listed.parent_external_id, listed.floor, listed.is_private, listed.is_active,
		listed.seen_at, listed.gone_at, COALESCE(m.space_id, ''),
		COALESCE((SELECT own.name FROM spaces AS own WHERE own.id = m.space_id AND own.property_id = listed.property_id), ''),
		COALESCE((SELECT room.name FROM partner_spaces AS room WHERE room.integration_id = listed.integration_id
			AND room.external_id = listed.parent_external_id AND room.property_id = listed.property_id), '')`
)
