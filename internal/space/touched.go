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

// External is a space of a PMS: the integration with the PMS, and the PMS's id of the space.
type External struct{ IntegrationID, ID string }

// AffectedStays selects the reservations that a change can affect: those that name one of these Latchkey spaces or have a code for its door,
// and those that name one of these PMS spaces as their space or room. All selects every reservation of the property.
type AffectedStays struct {
	All       bool
	SpaceIDs  []string // SpaceIDs can contain gates: a reservation may still have a code for one that serves its space no longer
	Externals []External
}

// Union returns the reservations that t or one of the others selects.
func (t AffectedStays) Union(others ...AffectedStays) AffectedStays {
	spaces, externals := slices.Clone(t.SpaceIDs), slices.Clone(t.Externals)
	for _, o := range others {
		t.All, spaces, externals = t.All || o.All, append(spaces, o.SpaceIDs...), append(externals, o.Externals...)
	}
	return AffectedStays{All: t.All, SpaceIDs: unique(spaces), Externals: uniqueExternals(externals)}
}

// Empty reports whether t selects no reservation.
func (t AffectedStays) Empty() bool { return !t.All && len(t.SpaceIDs) == 0 && len(t.Externals) == 0 }

// staysInSpaces returns a selector (it reads no reservations) for the reservations, of any dates, of Latchkey spaces, of the beds within
// them, and of the PMS's spaces that are mapped to them, with the PMS's beds in these.
func staysInSpaces(tx *db.Tx, propertyID string, spaceIDs ...string) (AffectedStays, error) {
	beds, err := tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.ParentIDIn(spaceIDs...)).IDs(tx.Context())
	if err != nil {
		return AffectedStays{}, fmt.Errorf("list beds: %w", err)
	}
	t := AffectedStays{SpaceIDs: unique(slices.Concat(spaceIDs, beds))}
	mapped, err := tx.Mapping.Query().Where(mapping.PropertyID(propertyID), mapping.SpaceIDIn(t.SpaceIDs...)).All(tx.Context())
	if err != nil {
		return AffectedStays{}, fmt.Errorf("list mappings: %w", err)
	}
	for _, m := range mapped {
		t.Externals = append(t.Externals, External{m.IntegrationID, m.ExternalID})
	}
	return addPartnersBeds(tx, propertyID, t)
}

// addPartnersBeds adds the PMS's beds in the selected PMS rooms, also those no longer listed, because a bed without a mapping falls back to
// its room.
func addPartnersBeds(tx *db.Tx, propertyID string, t AffectedStays) (AffectedStays, error) {
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
		return AffectedStays{}, fmt.Errorf("list a partner's beds: %w", err)
	}
	for _, b := range beds {
		t.Externals = append(t.Externals, External{b.IntegrationID, b.ExternalID})
	}
	t.Externals = uniqueExternals(t.Externals)
	return t, nil
}

// staysAtGate selects the reservations of the spaces that a gate (a shared door) serves. An empty spaceIDs selects all
// reservations of the property.
func staysAtGate(tx *db.Tx, propertyID string, spaceIDs []string) (AffectedStays, error) {
	if len(spaceIDs) == 0 {
		return AffectedStays{All: true}, nil
	}
	return staysInSpaces(tx, propertyID, spaceIDs...)
}

// StaysAtDoors selects the reservations that the locks on some doors affect: for a space, those in it and in its beds; for a gate (a shared
// door), those of the spaces it serves. An empty door id selects none. An unknown gate is a not-found fault, an unknown space is not.
func StaysAtDoors(tx *db.Tx, propertyID string, doorIDs ...string) (AffectedStays, error) {
	var all AffectedStays
	for _, doorID := range doorIDs {
		if doorID == "" {
			continue
		}
		one, err := staysAtDoor(tx, propertyID, doorID)
		if err != nil {
			return AffectedStays{}, err
		}
		all = all.Union(one)
	}
	return all, nil
}

// staysAtDoor selects the reservations that the lock on one door affects; see [StaysAtDoors].
func staysAtDoor(tx *db.Tx, propertyID, doorID string) (AffectedStays, error) {
	if !id.Valid(id.Gate, doorID) {
		return staysInSpaces(tx, propertyID, doorID)
	}
	g, err := GetGate(tx, propertyID, doorID)
	if err != nil {
		return AffectedStays{}, err
	}
	t, err := staysAtGate(tx, propertyID, g.SpaceIds)
	if !t.All {
		t.SpaceIDs = append(t.SpaceIDs, g.ID)
	}
	return t, err
}

// uniqueExternals sorts a list in place and removes duplicates.
func uniqueExternals(list []External) []External {
	slices.SortFunc(list, func(a, b External) int {
		return cmp.Or(cmp.Compare(a.IntegrationID, b.IntegrationID), cmp.Compare(a.ID, b.ID))
	})
	return slices.Compact(list)
}
