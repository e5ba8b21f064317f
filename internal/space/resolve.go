package space

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/gate"
	"latchkey.dev/ent/mapping"
	"latchkey.dev/ent/partnerspace"
	entspace "latchkey.dev/ent/space"
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
	ids := make([]string, 0, 2)
	for _, id := range []string{r.ExternalID, r.ExternalParentID} {
		if id != "" {
			ids = append(ids, id)
		}
	}
	var rows []placeRow
	err := c.Mapping.Query().
		Where(mapping.PropertyID(r.PropertyID), mapping.IntegrationID(r.IntegrationID), mapping.ExternalIDIn(ids...)).
		Modify(func(s *sql.Selector) {
			own := sql.Table(entspace.Table).As("own")
			s.Join(own).On(own.C(entspace.FieldID), s.C(mapping.FieldSpaceID))
			s.Where(sql.EQ(own.C(entspace.FieldPropertyID), r.PropertyID))
			selectPlace(s, own, sql.As(s.C(mapping.FieldExternalID), "external_id"))
		}).Scan(ctx, &rows)
	if err != nil {
		return Place{}, "", fmt.Errorf("resolve a space: %w", err)
	}
	byExternal := make(map[string]placeRow, len(rows))
	for _, row := range rows {
		byExternal[row.ExternalID] = row
	}
	if place, ok := choose(r, byExternal); ok {
		return place, place.reason(), nil
	}
	reason, err := whyUnmapped(ctx, c, r)
	return Place{}, reason, err
}

// choose picks among the mapped spaces a stay names. A bed that is not mapped falls back to
// its room only where that is let as a whole: in a dorm it would be someone else's bed.
func choose(r Request, mapped map[string]placeRow) (Place, bool) {
	if row, ok := mapped[r.ExternalID]; ok && r.ExternalID != "" {
		return row.place(r.PropertyID), true
	}
	row, ok := mapped[r.ExternalParentID]
	if !ok || r.ExternalParentID == "" {
		return Place{}, false
	}
	if r.ExternalID != "" && !row.IsPrivate {
		return Place{}, false
	}
	return row.place(r.PropertyID), true
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
	var rows []placeRow
	err := c.Space.Query().
		Where(entspace.PropertyID(r.PropertyID), entspace.ID(r.OwnID)).
		Modify(func(s *sql.Selector) { selectPlace(s, s.Table()) }).
		Scan(ctx, &rows)
	if err != nil {
		return Place{}, "", fmt.Errorf("resolve a space: %w", err)
	}
	if len(rows) == 0 {
		return Place{}, fault.SpaceUnknown, nil
	}
	place := rows[0].place(r.PropertyID)
	return place, place.reason(), nil
}

// GatesOf lists the gates that let the guests of a place in, by id: those that name its space
// or its dorm, and those that name none and so serve all.
func GatesOf(ctx context.Context, c *ent.Client, propertyID string, p Place) ([]*ent.Gate, error) {
	all, err := c.Gate.Query().Where(gate.PropertyID(propertyID)).Order(gate.ByID()).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the gates of a space: %w", err)
	}
	var serving []*ent.Gate
	for _, g := range all {
		if serves(g, p) {
			serving = append(serving, g)
		}
	}
	return serving, nil
}

func serves(g *ent.Gate, p Place) bool {
	if len(g.SpaceIds) == 0 {
		return true
	}
	for _, id := range g.SpaceIds {
		if p.Space != nil && id == p.Space.ID || p.Parent != nil && id == p.Parent.ID {
			return true
		}
	}
	return false
}

// placeRow is a space with its parent, as one row. Parent columns are NULL without one.
type placeRow struct {
	ExternalID      string  `sql:"external_id"`
	ID              string  `sql:"own_id"`
	Type            string  `sql:"own_type"`
	Name            string  `sql:"own_name"`
	Floor           string  `sql:"own_floor"`
	ParentID        string  `sql:"own_parent_id"`
	IsPrivate       bool    `sql:"own_is_private"`
	IsActive        bool    `sql:"own_is_active"`
	ParentType      *string `sql:"dorm_type"`
	ParentName      *string `sql:"dorm_name"`
	ParentFloor     *string `sql:"dorm_floor"`
	ParentIsPrivate *bool   `sql:"dorm_is_private"`
	ParentIsActive  *bool   `sql:"dorm_is_active"`
}

// selectPlace joins the dorm of a bed to its space and selects the columns of a placeRow.
func selectPlace(s *sql.Selector, own *sql.SelectTable, more ...string) {
	dorm := sql.Table(entspace.Table).As("dorm")
	s.LeftJoin(dorm).OnP(sql.And(
		sql.ColumnsEQ(dorm.C(entspace.FieldID), own.C(entspace.FieldParentID)),
		sql.ColumnsEQ(dorm.C(entspace.FieldPropertyID), own.C(entspace.FieldPropertyID)),
	))
	columns := more
	for _, f := range []string{
		entspace.FieldID, entspace.FieldType, entspace.FieldName, entspace.FieldFloor,
		entspace.FieldParentID, entspace.FieldIsPrivate, entspace.FieldIsActive,
	} {
		columns = append(columns, sql.As(own.C(f), "own_"+f))
	}
	for _, f := range []string{
		entspace.FieldType, entspace.FieldName, entspace.FieldFloor, entspace.FieldIsPrivate, entspace.FieldIsActive,
	} {
		columns = append(columns, sql.As(dorm.C(f), "dorm_"+f))
	}
	s.Select(columns...)
}

func (r placeRow) place(propertyID string) Place {
	p := Place{Space: &ent.Space{
		ID: r.ID, PropertyID: propertyID, Type: r.Type, Name: r.Name, Floor: r.Floor,
		ParentID: r.ParentID, IsPrivate: r.IsPrivate, IsActive: r.IsActive,
	}}
	if r.ParentID != "" && r.ParentType != nil {
		p.Parent = &ent.Space{
			ID: r.ParentID, PropertyID: propertyID, Type: *r.ParentType, Name: *r.ParentName, Floor: *r.ParentFloor,
			IsPrivate: *r.ParentIsPrivate, IsActive: *r.ParentIsActive,
		}
	}
	return p
}
