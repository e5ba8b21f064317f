package space

import (
	"fmt"

	"latchkey.dev/ent"
	"latchkey.dev/ent/integration"
	"latchkey.dev/ent/mapping"
	"latchkey.dev/ent/partnerspace"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/watch"
)

// Affected returns the ids of reservations that have not ended and name one of a PMS's spaces, the earliest arrivals if there are very
// many. The server injects it, because package space does not depend on package reservation.
type Affected func(tx *db.Tx, propertyID, integrationID string, externalIDs []string) ([]string, error)

// Mappings maps the spaces of a PMS to Latchkey spaces and maintains the conflicts between the two.
type Mappings struct {
	Affected        Affected // Affected may be nil; then conflicts name no reservation
	UnreadableAfter int      // UnreadableAfter is the number of failed readings in a row that open a conflict; 0 means 3
}

// Edit changes mappings of one PMS. [Mappings.Edit] evaluates the conflicts once, after all changes of an Edit: with a thousand rooms,
// evaluating them after each change would take many seconds.
type Edit struct {
	tx                        *db.Tx
	propertyID, integrationID string
}

// Edit runs a function that changes the mappings of one integration, and then evaluates the conflicts once. It returns a not-found fault
// for an unknown integration. If change fails, it returns that error, and the caller must roll back.
func (m Mappings) Edit(tx *db.Tx, propertyID, integrationID string, change func(e Edit) error) error {
	if err := checkIntegrationExists(tx, propertyID, integrationID); err != nil {
		return err
	}
	if err := change(Edit{tx, propertyID, integrationID}); err != nil {
		return err
	}
	return m.reevaluateConflicts(tx, propertyID, integrationID)
}

// Map maps a single space as [Edit.Map] does.
func (m Mappings) Map(tx *db.Tx, propertyID, integrationID, externalID, spaceID string) (row *ent.Mapping, touched AffectedStays, err error) {
	err = m.Edit(tx, propertyID, integrationID, func(e Edit) (err error) {
		row, touched, err = e.Map(externalID, spaceID)
		return err
	})
	return row, touched, err
}

// Map maps a space that the PMS lists, or listed before, to a Latchkey space. It replaces an existing mapping of the same PMS space, and
// rejects a Latchkey space to which another space of the same PMS is mapped. It returns a not-found fault if the property has no such
// space, or if the PMS never listed externalID. Mapping the same pair again accepts the PMS's current name, type and room. It returns the
// reservations whose access the caller must plan again.
func (e Edit) Map(externalID, spaceID string) (*ent.Mapping, AffectedStays, error) {
	tx := e.tx
	own, err := Get(tx, e.propertyID, spaceID)
	if err != nil {
		return nil, AffectedStays{}, err
	}
	listed, err := tx.PartnerSpace.Query().
		Where(partnerspace.PropertyID(e.propertyID), partnerspace.IntegrationID(e.integrationID), partnerspace.ExternalID(externalID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, AffectedStays{}, fault.New(fault.NotFound, SpaceUnknown, "the partner has never listed a space with this id; read its getSpaces first")
	}
	if err != nil {
		return nil, AffectedStays{}, fmt.Errorf("load a partner's space: %w", err)
	}
	present, err := tx.Mapping.Query().Where(mapping.PropertyID(e.propertyID), mapping.IntegrationID(e.integrationID),
		mapping.Or(mapping.ExternalID(externalID), mapping.SpaceID(spaceID))).All(tx.Context())
	if err != nil {
		return nil, AffectedStays{}, fmt.Errorf("list mappings: %w", err)
	}
	var same *ent.Mapping
	for _, p := range present {
		if p.ExternalID != externalID {
			return nil, AffectedStays{}, fault.New(fault.Exists, fault.AlreadyExists, "%q is mapped to the partner's space %q; unmap that first", own.Name, p.Name)
		}
		same = p
	}
	return storeMapping(tx, same, listed, own)
}

// storeMapping stores that listed, a space of the PMS, is mapped to the Latchkey space own, with the present name, type and room of listed.
// same is the existing mapping of the PMS's space, or nil. It returns the reservations whose access the caller must plan again.
func storeMapping(tx *db.Tx, same *ent.Mapping, listed *ent.PartnerSpace, own *ent.Space) (*ent.Mapping, AffectedStays, error) {
	touched := AffectedStays{SpaceIDs: []string{own.ID}, Externals: []External{{listed.IntegrationID, listed.ExternalID}}}
	var row *ent.Mapping
	var err error
	if same == nil {
		row, err = tx.Mapping.Create().SetPropertyID(own.PropertyID).SetIntegrationID(listed.IntegrationID).SetExternalID(listed.ExternalID).
			SetSpaceID(own.ID).SetName(listed.Name).SetType(listed.Type).SetParentExternalID(listed.ParentExternalID).SetCreatedAt(tx.Now()).Save(tx.Context())
	} else {
		touched.SpaceIDs = unique(append(touched.SpaceIDs, same.SpaceID))
		row, err = tx.Mapping.UpdateOneID(same.ID).SetSpaceID(own.ID).SetName(listed.Name).SetType(listed.Type).
			SetParentExternalID(listed.ParentExternalID).Save(tx.Context())
	}
	if err != nil {
		return nil, AffectedStays{}, fmt.Errorf("store a mapping: %w", err)
	}
	watch.Notify(tx, own.PropertyID, watch.Spaces, touched.SpaceIDs...)
	watch.Notify(tx, own.PropertyID, watch.Spaces, listed.IntegrationID)
	touched, err = addPartnersBeds(tx, own.PropertyID, touched)
	return row, touched, err
}

// Unmap deletes a single mapping as [Edit.Unmap] does.
func (m Mappings) Unmap(tx *db.Tx, propertyID, integrationID, externalID string) (row *ent.Mapping, touched AffectedStays, err error) {
	err = m.Edit(tx, propertyID, integrationID, func(e Edit) (err error) {
		row, touched, err = e.Unmap(externalID)
		return err
	})
	return row, touched, err
}

// Unmap deletes a mapping and returns it, and which reservations it affects. Their access ends only when the caller plans it again. It
// returns the fault SpaceNotMapped if there is no mapping.
func (e Edit) Unmap(externalID string) (*ent.Mapping, AffectedStays, error) {
	tx := e.tx
	row, err := tx.Mapping.Query().
		Where(mapping.PropertyID(e.propertyID), mapping.IntegrationID(e.integrationID), mapping.ExternalID(externalID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, AffectedStays{}, fault.New(fault.NotFound, SpaceNotMapped, "this partner's space is not mapped")
	}
	if err != nil {
		return nil, AffectedStays{}, fmt.Errorf("load a mapping: %w", err)
	}
	touched, err := addPartnersBeds(tx, e.propertyID, AffectedStays{SpaceIDs: []string{row.SpaceID}, Externals: []External{{e.integrationID, externalID}}})
	if err != nil {
		return nil, AffectedStays{}, err
	}
	if err := tx.Mapping.DeleteOneID(row.ID).Exec(tx.Context()); err != nil {
		return nil, AffectedStays{}, fmt.Errorf("delete a mapping: %w", err)
	}
	watch.Notify(tx, e.propertyID, watch.Spaces, row.SpaceID, e.integrationID)
	return row, touched, nil
}

// Suggestions suggests mappings for the unmapped spaces of an integration by their names, see [Suggest]. It stores nothing.
func Suggestions(tx *db.Tx, propertyID, integrationID string) ([]Suggestion, error) {
	suggested, _, err := ListOffers(tx, propertyID, integrationID)
	return suggested, err
}

// loadOwn returns all spaces of a property, and those that are active.
func loadOwn(tx *db.Tx, propertyID string) (all, active []Own, err error) {
	rows, err := tx.Space.Query().Where(entspace.PropertyID(propertyID)).All(tx.Context())
	if err != nil {
		return nil, nil, fmt.Errorf("list spaces: %w", err)
	}
	for _, s := range rows {
		own := Own{ID: s.ID, Type: s.Type, Name: s.Name, ParentID: s.ParentID}
		all = append(all, own)
		if s.IsActive {
			active = append(active, own)
		}
	}
	return all, active, nil
}

// ExternalIDs returns, by Latchkey space id, the PMS's ids of the spaces of an integration that are mapped to the given Latchkey spaces. It
// omits spaces without a mapping.
func ExternalIDs(tx *db.Tx, propertyID, integrationID string, spaceIDs []string) (map[string]string, error) {
	rows, err := tx.Mapping.Query().
		Where(mapping.PropertyID(propertyID), mapping.IntegrationID(integrationID), mapping.SpaceIDIn(spaceIDs...)).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list mappings: %w", err)
	}
	ids := make(map[string]string, len(rows))
	for _, r := range rows {
		ids[r.SpaceID] = r.ExternalID
	}
	return ids, nil
}

// checkIntegrationExists returns a not-found fault if the property has no such integration.
func checkIntegrationExists(tx *db.Tx, propertyID, integrationID string) error {
	ok, err := tx.Integration.Query().Where(integration.PropertyID(propertyID), integration.ID(integrationID)).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("load an integration: %w", err)
	}
	if !ok {
		return fault.New(fault.NotFound, fault.IntegrationNotFound, "no such integration at this property")
	}
	return nil
}
