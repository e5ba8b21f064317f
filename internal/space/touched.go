package space

import (
	"cmp"
	"fmt"
	"slices"

	"latchkey.dev/ent/mapping"
	"latchkey.dev/ent/partnerspace"
	"latchkey.dev/ent/predicate"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
)

// External is a partner's space.
type External struct{ IntegrationID, ID string }

// Touched selects the reservations that a change may affect: those that name one of these Latchkey spaces, or one of these
// partner's spaces as their space or room. All selects every reservation of the property.
type Touched struct {
	All       bool
	SpaceIDs  []string
	Externals []External
}

// Union returns the reservations that t or o selects.
func (t Touched) Union(o Touched) Touched {
	return Touched{All: t.All || o.All, SpaceIDs: unique(slices.Concat(t.SpaceIDs, o.SpaceIDs)), Externals: uniqueExternals(slices.Concat(t.Externals, o.Externals))}
}

// Empty reports whether no reservation is selected.
func (t Touched) Empty() bool { return !t.All && len(t.SpaceIDs) == 0 && len(t.Externals) == 0 }

// touchedBySpaces selects the reservations of spaces, of the beds within them, and of the partners' spaces that are mapped to
// them.
func touchedBySpaces(tx *db.Tx, propertyID string, spaceIDs ...string) (Touched, error) {
	beds, err := tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.ParentIDIn(spaceIDs...)).IDs(tx.Context())
	if err != nil {
		return Touched{}, fmt.Errorf("list beds: %w", err)
	}
	t := Touched{SpaceIDs: unique(slices.Concat(spaceIDs, beds))}
	mapped, err := tx.Mapping.Query().Where(mapping.PropertyID(propertyID), mapping.SpaceIDIn(t.SpaceIDs...)).All(tx.Context())
	if err != nil {
		return Touched{}, fmt.Errorf("list mappings: %w", err)
	}
	for _, m := range mapped {
		t.Externals = append(t.Externals, External{m.IntegrationID, m.ExternalID})
	}
	return addPartnersBeds(tx, propertyID, t)
}

// addPartnersBeds adds the partners' beds in the selected rooms, because an unmapped bed falls back to its room.
func addPartnersBeds(tx *db.Tx, propertyID string, t Touched) (Touched, error) {
	byIntegration := make(map[string][]string)
	for _, e := range t.Externals {
		byIntegration[e.IntegrationID] = append(byIntegration[e.IntegrationID], e.ID)
	}
	if len(byIntegration) == 0 {
		return t, nil
	}
	var rooms []predicate.PartnerSpace
	for _, integration := range sortedKeys(byIntegration) {
		rooms = append(rooms, partnerspace.And(
			partnerspace.IntegrationID(integration), partnerspace.ParentExternalIDIn(byIntegration[integration]...)))
	}
	beds, err := tx.PartnerSpace.Query().Where(partnerspace.PropertyID(propertyID), partnerspace.Or(rooms...)).All(tx.Context())
	if err != nil {
		return Touched{}, fmt.Errorf("list a partner's beds: %w", err)
	}
	for _, b := range beds {
		t.Externals = append(t.Externals, External{b.IntegrationID, b.ExternalID})
	}
	t.Externals = uniqueExternals(t.Externals)
	return t, nil
}

// touchedByGate selects the reservations of the spaces that a gate serves.
func touchedByGate(tx *db.Tx, propertyID string, spaceIDs []string) (Touched, error) {
	if len(spaceIDs) == 0 {
		return Touched{All: true}, nil
	}
	return touchedBySpaces(tx, propertyID, spaceIDs...)
}

// TouchDoors selects the reservations that the locks on some doors affect: for a space, those in it and in its beds; for a
// gate, those of the spaces it serves. A nil or empty door id selects none.
func TouchDoors(tx *db.Tx, propertyID string, doorIDs ...*string) (Touched, error) {
	var all Touched
	for _, doorID := range doorIDs {
		if doorID == nil || *doorID == "" {
			continue
		}
		one, err := touchedByDoor(tx, propertyID, *doorID)
		if err != nil {
			return Touched{}, err
		}
		all = all.Union(one)
	}
	return all, nil
}

func touchedByDoor(tx *db.Tx, propertyID, doorID string) (Touched, error) {
	if !id.Valid(id.Gate, doorID) {
		return touchedBySpaces(tx, propertyID, doorID)
	}
	g, err := GetGate(tx, propertyID, doorID)
	if err != nil {
		return Touched{}, err
	}
	return touchedByGate(tx, propertyID, g.SpaceIds)
}

func uniqueExternals(list []External) []External {
	slices.SortFunc(list, func(a, b External) int {
		return cmp.Or(cmp.Compare(a.IntegrationID, b.IntegrationID), cmp.Compare(a.ID, b.ID))
	})
	return slices.Compact(list)
}
