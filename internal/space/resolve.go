package space

import (
	"context"
	"database/sql"
	"fmt"

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
}

// Resolve finds the space of ours that a stay is in, with one query where there is one. Without
// a place the reason says why: roomNotAssigned, spaceUnknown, spaceNotMapped. With the reason
// spaceInactive the place is given as well.
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
	if place, ok := choose(r, mapped); ok {
		return place, place.reason(), nil
	}
	reason, err := whyUnmapped(ctx, c, r)
	return Place{}, reason, err
}

// choose picks among the mapped spaces a stay names. A bed that is not mapped falls back to
// its room only where that is let as a whole: in a dorm it would be someone else's bed.
func choose(r Request, mapped []found) (Place, bool) {
	var room *found
	for i, m := range mapped {
		switch m.externalID {
		case r.ExternalID:
			return m.Place, true
		case r.ExternalParentID:
			room = &mapped[i]
		}
	}
	if room == nil || r.ExternalID != "" && !room.Space.IsPrivate {
		return Place{}, false
	}
	return room.Place, true
}

// reason is spaceInactive where the space, or the dorm of a bed, is switched off.
func (p Place) reason() fault.Reason {
	if !p.Space.IsActive || p.Parent != nil && !p.Parent.IsActive {
		return SpaceInactive
	}
	return ""
}

func whyUnmapped(ctx context.Context, c *ent.Client, r Request) (fault.Reason, error) {
	id := r.ExternalID
	if id == "" {
		id = r.ExternalParentID
	}
	listed, err := c.PartnerSpace.Query().
		Where(partnerspace.PropertyID(r.PropertyID), partnerspace.IntegrationID(r.IntegrationID), partnerspace.ExternalID(id)).
		Exist(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("resolve a space: %w", err)
	case listed:
		return fault.SpaceNotMapped, nil
	default:
		return fault.SpaceUnknown, nil
	}
}

func resolveOwn(ctx context.Context, c *ent.Client, r Request) (Place, fault.Reason, error) {
	own, err := places(ctx, c, placesOwn, r.PropertyID, r.OwnID)
	if err != nil {
		return Place{}, "", err
	}
	if len(own) == 0 {
		return Place{}, fault.SpaceUnknown, nil
	}
	return own[0].Place, own[0].reason(), nil
}

// found is a place and the partner's id that led to it.
type found struct {
	externalID string
	Place
}

// Written by hand, because each change of a reservation runs one of these: ent takes three
// times as long to build and scan them. An id that is not given is "", which no row has.
const (
	placeColumns = `own.id, own.type, own.name, own.floor, own.parent_id, own.is_private, own.is_active,
		dorm.id, dorm.type, dorm.name, dorm.floor, dorm.is_private, dorm.is_active`
	joinDorm     = ` LEFT JOIN spaces AS dorm ON dorm.id = own.parent_id AND dorm.property_id = own.property_id`
	placesMapped = `SELECT m.external_id, ` + placeColumns + ` FROM mappings AS m
		JOIN spaces AS own ON own.id = m.space_id AND own.property_id = m.property_id` + joinDorm + `
		WHERE m.property_id = $1 AND m.integration_id = $2 AND m.external_id IN ($3, $4)`
	placesOwn = `SELECT '', ` + placeColumns + ` FROM spaces AS own` + joinDorm + `
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
		err := rows.Scan(&f.externalID, &own.ID, &own.Type, &own.Name, &own.Floor, &own.ParentID, &own.IsPrivate, &own.IsActive,
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
