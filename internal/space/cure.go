package space

import (
	"cmp"
	"fmt"
	"slices"

	"latchkey.dev/ent"
	"latchkey.dev/ent/conflict"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/watch"
)

// CureKind is what ends a conflict.
type CureKind string

const (
	CureMap         CureKind = "map"         // map the PMS's space to the suggested space
	CureCreateSpace CureKind = "createSpace" // create a space like that of the PMS, and map it
	CureAccept      CureKind = "accept"      // keep the mapping and accept the PMS's new name and type
	CureUnmap       CureKind = "unmap"       // remove the mapping
	CureNotOurs     CureKind = "notOurs"     // the property does not rent the space: leave it unmapped
)

// Cure is a way to end a conflict, with its parameters.
type Cure struct {
	Kind    CureKind
	SpaceID string // SpaceID is the suggested space of CureMap, or empty
}

// curesOf returns the cures of a conflict, the best first. listed is the PMS's space; its ExternalID is empty if the PMS does not list it. suggested is
// the space of the property with a matching name, or empty. A conflict that only the PMS can end has none.
func curesOf(kind Kind, listed Listed, suggested string) []Cure {
	switch kind {
	case NewUnmapped:
		cures := []Cure{{CureMap, suggested}}
		if listed.Type != Bed { // a bed needs a dorm, which a person chooses
			cures = append(cures, Cure{Kind: CureCreateSpace})
		}
		return append(cures, Cure{Kind: CureNotOurs})
	case Renamed, Retyped:
		return []Cure{{Kind: CureAccept}, {Kind: CureUnmap}}
	case Missing, Inactive:
		return []Cure{{Kind: CureUnmap}}
	}
	return nil
}

// Cures returns the cures of conflicts of one property, by conflict id. Closed conflicts have none.
func Cures(tx *db.Tx, propertyID string, rows []*ent.Conflict) (map[string][]Cure, error) {
	type listing struct {
		*listingState
		suggested map[string]string // suggested has the suggested space of each of the PMS's spaces
	}
	listings, cures := map[string]listing{}, map[string][]Cure{}
	for _, row := range rows {
		if row.ClosedAt != nil {
			continue
		}
		own, loaded := listings[row.IntegrationID]
		if !loaded {
			state, err := loadListing(tx, propertyID, row.IntegrationID)
			if err != nil {
				return nil, err
			}
			suggested, err := suggestionsOf(tx, state)
			if err != nil {
				return nil, err
			}
			own = listing{state, map[string]string{}}
			for _, s := range suggested {
				own.suggested[s.ExternalID] = s.SpaceID
			}
			listings[row.IntegrationID] = own
		}
		listed := Listed{}
		if l := own.byID[row.ExternalID]; l != nil && l.GoneAt == nil {
			listed = listedOf(l)
		}
		cures[row.ID] = curesOf(Kind(row.Kind), listed, own.suggested[row.ExternalID])
	}
	return cures, nil
}

// GetConflict returns a conflict, which may be closed.
func GetConflict(tx *db.Tx, propertyID, conflictID string) (*ent.Conflict, error) {
	row, err := tx.Conflict.Query().Where(conflict.PropertyID(propertyID), conflict.ID(conflictID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.ConflictNotFound, "this property has no such conflict")
	}
	if err != nil {
		return nil, fmt.Errorf("load a conflict: %w", err)
	}
	return row, nil
}

// ApplyCure ends an open conflict by one of its cures. spaceID overrides the suggested space of CureMap.
func (m Mappings) ApplyCure(tx *db.Tx, row *ent.Conflict, kind CureKind, spaceID string) (AffectedStays, error) {
	offered, err := Cures(tx, row.PropertyID, []*ent.Conflict{row})
	if err != nil {
		return AffectedStays{}, err
	}
	i := slices.IndexFunc(offered[row.ID], func(c Cure) bool { return c.Kind == kind })
	if i < 0 {
		return AffectedStays{}, fault.New(fault.Precondition, fault.Outdated, "this conflict has no such cure now: read it again")
	}
	switch kind {
	case CureMap:
		if spaceID = cmp.Or(spaceID, offered[row.ID][i].SpaceID); spaceID == "" {
			return AffectedStays{}, fault.Fields(fault.Field{Path: "spaceId", Reason: fault.Required, Message: "is required, because no space has a matching name"})
		}
		_, touched, err := m.Map(tx, row.PropertyID, row.IntegrationID, row.ExternalID, spaceID)
		return touched, err
	case CureCreateSpace:
		return m.createAndMap(tx, row)
	case CureAccept:
		return m.accept(tx, row)
	case CureUnmap:
		_, touched, err := m.Unmap(tx, row.PropertyID, row.IntegrationID, row.ExternalID)
		return touched, err
	}
	return AffectedStays{}, m.dismiss(tx, row)
}

// dismiss closes an open conflict whose space the property does not rent.
func (m Mappings) dismiss(tx *db.Tx, row *ent.Conflict) error {
	s, err := loadListing(tx, row.PropertyID, row.IntegrationID)
	if err != nil {
		return err
	}
	var out DiffResult
	for _, f := range s.toKnown().Open {
		if f.Kind == Kind(row.Kind) && f.ExternalID == row.ExternalID {
			out.Closed = append(out.Closed, f)
		} else {
			out.StillOpen = append(out.StillOpen, f)
		}
	}
	watch.Notify(tx, row.PropertyID, watch.Spaces, row.IntegrationID)
	return m.storeConflicts(tx, s, out)
}

func (m Mappings) createAndMap(tx *db.Tx, row *ent.Conflict) (AffectedStays, error) {
	listed, err := listedSpaces(tx, row.PropertyID, row.IntegrationID, row.ExternalID)
	if err != nil {
		return AffectedStays{}, err
	}
	l := listed[row.ExternalID]
	own, err := Create(tx, row.PropertyID, Draft{Type: l.Type, Name: l.Name, Floor: l.Floor, IsPrivate: &l.IsPrivate})
	if err != nil {
		return AffectedStays{}, err
	}
	_, touched, err := m.Map(tx, row.PropertyID, row.IntegrationID, row.ExternalID, own.ID)
	return touched, err
}

// accept maps the same pair again, which accepts the PMS's current name and type.
func (m Mappings) accept(tx *db.Tx, row *ent.Conflict) (AffectedStays, error) {
	all, err := loadMapped(tx, row.PropertyID, row.IntegrationID)
	if err != nil {
		return AffectedStays{}, err
	}
	_, touched, err := m.Map(tx, row.PropertyID, row.IntegrationID, row.ExternalID, indexMapped(all)[row.ExternalID].SpaceID)
	return touched, err
}
