package space

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"latchkey.dev/ent"
	"latchkey.dev/ent/partnerspace"
	"latchkey.dev/internal/fault"
)

// SpaceInactive is the reason of a space that is switched off at the property.
const SpaceInactive fault.Reason = "spaceInactive"

// Request says which space a stay names: one of ours, or a partner's by its ids.
type Request struct {
	PropertyID       string
	IntegrationID    string
	ExternalID       string // the partner's bed or room
	ExternalParentID string // the partner's room of a bed; alone: the room itself
	OwnID            string // a space of ours; then the partner's ids do not count
}

// Place is where a stay is: a space and, for a bed, its dorm. Their CreatedAt is not loaded.
type Place struct {
	Space  *ent.Space
	Parent *ent.Space // nil but for a bed
	// Doubt is a reason not to trust the place, "" for none: spacesDisagree, bedNotAssigned.
	Doubt fault.Reason
}

// Resolve finds the space of the property that a stay is in, with one query where there is one.
// Without a space the reason says why: roomNotAssigned, spaceUnknown, spaceNotMapped. With the
// reason spaceInactive the space is given as well.
func Resolve(ctx context.Context, c *ent.Client, r Request) (Place, fault.Reason, error) {
	switch {
	case r.OwnID != "":
		return resolveOwn(ctx, c, r)
	case r.ExternalID == "" && r.ExternalParentID == "":
		return Place{}, fault.RoomNotAssigned, nil
	}
	mapped, err := places(ctx, c, placesMapped, r.PropertyID, r.IntegrationID, r.ExternalID, r.ExternalParentID)
	if err != nil {
		return Place{}, "", err
	}
	place, ok := choose(r, mapped)
	bedMapped := slices.ContainsFunc(mapped, func(f found) bool { return f.externalID == r.ExternalID })
	if ok && (bedMapped || r.ExternalID == "") {
		return place, place.reason(), nil
	}
	// The bed is not mapped. Its room stands for it, unless the listing says that the bed is in another.
	nowhere, reason, err := unresolved(ctx, c, r)
	if err != nil || !ok || nowhere.Doubt != "" {
		return nowhere, reason, err
	}
	return place, place.reason(), nil
}

// choose picks among the mapped spaces a stay names. A bed that is not mapped falls back to
// its room only where that is let as a whole: in a dorm it would be someone else's bed.
func choose(r Request, mapped []found) (Place, bool) {
	var bed, room *found
	for i, m := range mapped {
		switch m.externalID {
		case r.ExternalID:
			bed = &mapped[i]
		case r.ExternalParentID:
			room = &mapped[i]
		}
	}
	switch {
	case bed != nil:
		place := bed.Place
		place.Doubt = place.doubt()
		if disagree(r, bed, room) {
			place.Doubt = fault.SpacesDisagree
		}
		return place, true
	case room == nil || r.ExternalID != "" && !room.Space.IsPrivate:
		return Place{}, false
	}
	place := room.Place
	place.Doubt = place.doubt()
	return place, true
}

// disagree reports whether the room that a stay names is another one than its bed's: by the partner's listing, or, where
// that does not say, by the spaces that the two are mapped to.
func disagree(r Request, bed, room *found) bool {
	switch {
	case r.ExternalParentID == "" || r.ExternalParentID == r.ExternalID:
		return false
	case bed.listedParent != "":
		return bed.listedParent != r.ExternalParentID
	case room == nil:
		return false
	case bed.Parent != nil:
		return bed.Parent.ID != room.Space.ID
	}
	return bed.Space.ID != room.Space.ID
}

// doubt is bedNotAssigned for a dorm that is not let as a whole.
func (p Place) doubt() fault.Reason {
	if p.Space.Type == Dorm && !p.Space.IsPrivate {
		return fault.BedNotAssigned
	}
	return ""
}

// reason is spaceInactive where the space, or the dorm of a bed, is switched off.
func (p Place) reason() fault.Reason {
	if !p.Space.IsActive || p.Parent != nil && !p.Parent.IsActive {
		return SpaceInactive
	}
	return ""
}

// unresolved says why a stay that names spaces of a partner has none of ours.
func unresolved(ctx context.Context, c *ent.Client, r Request) (Place, fault.Reason, error) {
	id := cmp.Or(r.ExternalID, r.ExternalParentID)
	row, err := c.PartnerSpace.Query().
		Where(partnerspace.PropertyID(r.PropertyID), partnerspace.IntegrationID(r.IntegrationID), partnerspace.ExternalID(id)).
		Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return Place{}, fault.SpaceUnknown, nil
	case err != nil:
		return Place{}, "", fmt.Errorf("resolve a space: %w", err)
	}
	place := Place{}
	if disagree(r, &found{listedParent: row.ParentExternalID}, nil) {
		place.Doubt = fault.SpacesDisagree
	}
	return place, fault.SpaceNotMapped, nil
}

func resolveOwn(ctx context.Context, c *ent.Client, r Request) (Place, fault.Reason, error) {
	own, err := places(ctx, c, placesOwn, r.PropertyID, r.OwnID)
	if err != nil {
		return Place{}, "", err
	}
	if len(own) == 0 {
		return Place{}, fault.SpaceUnknown, nil
	}
	place := own[0].Place
	place.Doubt = place.doubt()
	return place, place.reason(), nil
}

// found is a place and the partner's id that led to it.
type found struct {
	externalID   string
	listedParent string // the room of that bed by the partner's listing, "" where it does not say
	Place
}

// Written by hand, because each change of a reservation runs one of these: ent takes three
// times as long to build and scan them. An id that is not given is "", which no row has.
const (
	placeColumns = `own.id, own.type, own.name, own.floor, own.parent_id, own.is_private, own.is_active,
		dorm.id, dorm.type, dorm.name, dorm.floor, dorm.is_private, dorm.is_active`
	joinDorm     = ` LEFT JOIN spaces AS dorm ON dorm.id = own.parent_id AND dorm.property_id = own.property_id`
	placesMapped = `SELECT m.external_id, COALESCE(listed.parent_external_id, ''), ` + placeColumns + ` FROM mappings AS m
		JOIN spaces AS own ON own.id = m.space_id AND own.property_id = m.property_id` + joinDorm + `
		LEFT JOIN partner_spaces AS listed ON listed.property_id = m.property_id AND listed.integration_id = m.integration_id AND listed.external_id = m.external_id
		WHERE m.property_id = $1 AND m.integration_id = $2 AND m.external_id IN ($3, $4)`
	placesOwn = `SELECT '', '', ` + placeColumns + ` FROM spaces AS own` + joinDorm + `
		WHERE own.property_id = $1 AND own.id = $2`
)

func places(ctx context.Context, c *ent.Client, query, propertyID string, args ...any) ([]found, error) {
	rows, err := c.QueryContext(ctx, query, append([]any{propertyID}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("resolve a space: %w", err)
	}
	defer rows.Close()
	var all []found
	for rows.Next() {
		f, own := found{}, &ent.Space{PropertyID: propertyID}
		var dormID, dormType, dormName, dormFloor sql.NullString
		var dormPrivate, dormActive sql.NullBool
		err := rows.Scan(&f.externalID, &f.listedParent, &own.ID, &own.Type, &own.Name, &own.Floor, &own.ParentID, &own.IsPrivate, &own.IsActive,
			&dormID, &dormType, &dormName, &dormFloor, &dormPrivate, &dormActive)
		if err != nil {
			return nil, fmt.Errorf("resolve a space: %w", err)
		}
		f.Space = own
		if dormID.Valid {
			f.Parent = &ent.Space{
				ID: dormID.String, PropertyID: propertyID, Type: dormType.String, Name: dormName.String, Floor: dormFloor.String,
				IsPrivate: dormPrivate.Bool, IsActive: dormActive.Bool,
			}
		}
		all = append(all, f)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("resolve a space: %w", err)
	}
	return all, nil
}
