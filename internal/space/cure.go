package space

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"latchkey.dev/ent"
	"latchkey.dev/ent/conflict"
	"latchkey.dev/ent/mapping"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
	"latchkey.dev/internal/watch"
)

// CureKind is a way to end a conflict between a mapping and the PMS's spaces.
type CureKind string

const (
	CureMap         CureKind = "map"         // map the PMS's space to the suggested space
	CureCreateSpace CureKind = "createSpace" // create a space like that of the PMS, and map it
	CureAccept      CureKind = "accept"      // keep the mapping and accept the PMS's new name, type or room
	CureUnmap       CureKind = "unmap"       // remove the mapping
	CureNotOurs     CureKind = "notOurs"     // the property does not rent the space: leave it unmapped
	CureSameName    CureKind = "sameName"    // map the PMS's new space of the same name in place of the space that it no longer lists
)

// Cure is a fix that ends a conflict, with its parameters.
type Cure struct {
	Kind       CureKind
	SpaceID    string // SpaceID is the suggested space of CureMap, or empty
	SpaceName  string // SpaceName is the full name of the suggested space, or empty
	ExternalID string // ExternalID is the PMS's id of the new space of CureSameName, otherwise empty
}

// curesOf returns the cures (possible fixes) of a conflict, the best first. listed is the PMS's space; its ExternalID is empty if the PMS
// does not list it. suggested is the free space of the property with a matching name, or empty. successors and replaces are the results of
// successorsOf and replacesGone. A conflict that only the PMS can end has no cure.
func curesOf(kind Kind, listed Listed, suggested string, successors []string, replaces bool) []Cure {
	switch kind {
	case NewUnmapped:
		cures := []Cure{{Kind: CureMap, SpaceID: suggested}}
		// CureCreateSpace is not offered for a bed, because a person chooses its dorm, nor for a space that replaces one under a new id,
		// because the property has the room and its lock already.
		if listed.Type != Bed && !replaces {
			cures = append(cures, Cure{Kind: CureCreateSpace})
		}
		return append(cures, Cure{Kind: CureNotOurs})
	case Renamed, Retyped:
		return []Cure{{Kind: CureAccept}, {Kind: CureUnmap}}
	case Moved:
		cures := []Cure{{Kind: CureAccept}, {Kind: CureUnmap}}
		if suggested != "" {
			cures = slices.Insert(cures, 0, Cure{Kind: CureMap, SpaceID: suggested})
		}
		return cures
	case Missing:
		var cures []Cure
		for _, id := range successors {
			cures = append(cures, Cure{Kind: CureSameName, ExternalID: id})
		}
		return append(cures, Cure{Kind: CureUnmap})
	case Inactive:
		return []Cure{{Kind: CureUnmap}}
	}
	return nil
}

// maxSuccessors is the most spaces of the same name that a conflict offers.
const maxSuccessors = 5

// successorsOf returns up to maxSuccessors of the PMS's spaces that may replace a space that it no longer lists: active, unmapped, and of
// the same type and name, ignoring case. It returns none for a space that is still listed.
func (s *listingState) successorsOf(externalID string) (ids []string) {
	gone := s.byID[externalID]
	if gone == nil || gone.GoneAt == nil {
		return nil
	}
	mapped := map[string]bool{}
	for _, m := range s.mappings {
		mapped[m.ExternalID] = true
	}
	for _, row := range s.rows {
		if row.GoneAt == nil && row.IsActive && row.Type == gone.Type && strings.EqualFold(row.Name, gone.Name) && !mapped[row.ExternalID] {
			ids = append(ids, row.ExternalID)
		}
	}
	slices.Sort(ids)
	return ids[:min(len(ids), maxSuccessors)]
}

// replacesGone reports whether a space of the PMS may replace a mapped one that the PMS no longer lists, see successorsOf.
func (s *listingState) replacesGone(externalID string) bool {
	return slices.ContainsFunc(s.mappings, func(m *ent.Mapping) bool { return slices.Contains(s.successorsOf(m.ExternalID), externalID) })
}

// suggestedSpaces returns, by PMS id, the id of the active Latchkey space with a matching name that is not mapped to a space of this PMS.
// It has those of the PMS's active spaces that are not mapped, and of mapped beds that the PMS has moved. An ambiguous name has none.
func (s *listingState) suggestedSpaces(tx *db.Tx) (map[string]string, error) {
	_, active, err := loadOwn(tx, s.propertyID)
	if err != nil {
		return nil, err
	}
	known, suggested, taken := s.toKnown(), map[string]string{}, map[string]bool{}
	moved := map[string]bool{}
	for _, f := range movedBeds(indexByID(known.Listing), known) {
		moved[f.ExternalID] = true
	}
	for _, m := range known.Mappings {
		taken[m.SpaceID] = true
	}
	others := slices.DeleteFunc(slices.Clone(known.Mappings), func(m Mapped) bool { return moved[m.ExternalID] })
	for _, one := range Suggest(known.Listing, active, others) {
		if !taken[one.SpaceID] {
			suggested[one.ExternalID] = one.SpaceID
		}
	}
	return suggested, nil
}

// Cures returns the cures (possible fixes) of conflicts of one property, by conflict id. Closed conflicts have none, and those that only
// the PMS can end.
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
			own = listing{state, nil}
			if own.suggested, err = state.suggestedSpaces(tx); err != nil {
				return nil, err
			}
			listings[row.IntegrationID] = own
		}
		listed := Listed{}
		if l := own.byID[row.ExternalID]; l != nil && l.GoneAt == nil {
			listed = listedOf(l)
		}
		cures[row.ID] = curesOf(Kind(row.Kind), listed, own.suggested[row.ExternalID], own.successorsOf(row.ExternalID), own.replacesGone(row.ExternalID))
	}
	return cures, nameSuggested(tx, propertyID, cures)
}

// nameSuggested sets SpaceName in the cures (possible fixes, by conflict id) that suggest a space.
func nameSuggested(tx *db.Tx, propertyID string, cures map[string][]Cure) error {
	var suggested []*Cure
	var ids []string
	for _, all := range cures {
		for i := range all {
			if all[i].SpaceID != "" {
				suggested, ids = append(suggested, &all[i]), append(ids, all[i].SpaceID)
			}
		}
	}
	names, err := Names(tx, propertyID, ids...)
	if err != nil {
		return err
	}
	dorms, err := DormNames(tx, propertyID, ids)
	if err != nil {
		return err
	}
	for _, c := range suggested {
		c.SpaceName = text.FullName(dorms[c.SpaceID], names[c.SpaceID])
	}
	return nil
}

// GetConflict returns an open or closed conflict, or a not-found fault.
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

// ApplyCure ends an open conflict by the cure (fix) that a person chose. chosen.SpaceID overrides the suggested space of CureMap, and is
// required if there is none. chosen.ExternalID is the new space of CureSameName, and may be empty if the conflict offers only one. It
// returns the fault Outdated if the conflict is closed or does not offer the cure any more, and a fault of a field if a required id is
// missing. The result selects the reservations whose access the caller must plan again.
func (m Mappings) ApplyCure(tx *db.Tx, row *ent.Conflict, chosen Cure) (AffectedStays, error) {
	offered, err := Cures(tx, row.PropertyID, []*ent.Conflict{row})
	if err != nil {
		return AffectedStays{}, err
	}
	i := slices.IndexFunc(offered[row.ID], func(c Cure) bool {
		return c.Kind == chosen.Kind && (chosen.ExternalID == "" || c.ExternalID == chosen.ExternalID)
	})
	if i < 0 {
		return AffectedStays{}, fault.New(fault.Precondition, fault.Outdated, "this conflict has no such cure now: read it again")
	}
	offer, further := offered[row.ID][i], offered[row.ID][i+1:]
	if chosen.Kind == CureSameName && chosen.ExternalID == "" && slices.ContainsFunc(further, func(c Cure) bool { return c.Kind == CureSameName }) {
		return AffectedStays{}, fault.Fields(fault.Field{Path: "externalId", Reason: fault.Required, Message: "is required, because several new spaces have this name"})
	}
	switch chosen.Kind {
	case CureMap:
		spaceID := cmp.Or(chosen.SpaceID, offer.SpaceID)
		if spaceID == "" {
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
	case CureSameName:
		return m.replace(tx, row, offer.ExternalID)
	}
	return AffectedStays{}, m.closeNotOurs(tx, row)
}

// replace ends the conflict that the PMS no longer lists a mapped space. It removes the mapping of that space, and maps the PMS's new space
// externalID to the same space of the property. It returns the reservations whose access the caller must plan again.
func (m Mappings) replace(tx *db.Tx, row *ent.Conflict, externalID string) (AffectedStays, error) {
	former, before, err := m.Unmap(tx, row.PropertyID, row.IntegrationID, row.ExternalID)
	if err != nil {
		return AffectedStays{}, err
	}
	_, after, err := m.Map(tx, row.PropertyID, row.IntegrationID, externalID, former.SpaceID)
	return before.Union(after), err
}

// closeNotOurs closes an open conflict whose space the property does not rent. It opens again only if the PMS lists the space as new or
// active again while it is not mapped.
func (m Mappings) closeNotOurs(tx *db.Tx, row *ent.Conflict) error {
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

// createAndMap ends a conflict by creating a Latchkey space like the PMS's space, and mapping the two. It returns the reservations whose
// access the caller must plan again.
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

// accept ends a conflict by storing the PMS's current name, type or room in the mapping, whichever the conflict is about. Another conflict
// about the same space stays open.
func (m Mappings) accept(tx *db.Tx, row *ent.Conflict) (touched AffectedStays, err error) {
	err = m.Edit(tx, row.PropertyID, row.IntegrationID, func(e Edit) (err error) {
		touched, err = e.accept(row.ExternalID, Kind(row.Kind))
		return err
	})
	return touched, err
}

// accept stores the PMS's current name, type or room of a mapped space, depending on the kind of a conflict.
func (e Edit) accept(externalID string, kind Kind) (AffectedStays, error) {
	listed, err := listedSpaces(e.tx, e.propertyID, e.integrationID, externalID)
	if err != nil {
		return AffectedStays{}, err
	}
	row, err := e.tx.Mapping.Query().
		Where(mapping.PropertyID(e.propertyID), mapping.IntegrationID(e.integrationID), mapping.ExternalID(externalID)).Only(e.tx.Context())
	if err != nil {
		return AffectedStays{}, fmt.Errorf("load a mapping: %w", err)
	}
	update := e.tx.Mapping.UpdateOneID(row.ID)
	switch l := listed[externalID]; kind {
	case Renamed:
		update.SetName(l.Name)
	case Retyped:
		update.SetType(l.Type)
	case Moved:
		update.SetParentExternalID(l.ParentExternalID)
	}
	if err := update.Exec(e.tx.Context()); err != nil {
		return AffectedStays{}, fmt.Errorf("store a mapping: %w", err)
	}
	watch.Notify(e.tx, e.propertyID, watch.Spaces, row.SpaceID, e.integrationID)
	return addPartnersBeds(e.tx, e.propertyID, AffectedStays{SpaceIDs: []string{row.SpaceID}, Externals: []External{{e.integrationID, externalID}}})
}
