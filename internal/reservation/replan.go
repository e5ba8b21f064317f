package reservation

import (
	"fmt"
	"slices"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	entmapping "latchkey.dev/ent/mapping"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
)

// Replan plans the access of every checked-in stay anew that some spaces of ours touch, in the transaction that changed
// the mapping, the doors or the locks of these spaces. Without spaces: every checked-in stay of the property.
func (k Keeper) Replan(tx *db.Tx, propertyID string, spaceIDs []string) error {
	house, err := tx.Property.Get(tx.Context(), propertyID)
	if err != nil {
		return fmt.Errorf("load the property: %w", err)
	}
	zone, err := clock.Zone(house.TimeZone)
	if err != nil {
		return err
	}
	rows, err := touched(tx, propertyID, spaceIDs)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := access.Apply(tx, k.Keys, stayOf(row, false), mustRules(house, zone)); err != nil {
			return fmt.Errorf("plan %s anew: %w", row.ID, err)
		}
	}
	return nil
}

// touched lists the checked-in stays that name, or have access through, one of the spaces or a bed in it.
func touched(tx *db.Tx, propertyID string, spaceIDs []string) ([]*ent.Reservation, error) {
	ctx := tx.Context()
	started := []predicate.Reservation{entreservation.PropertyID(propertyID), entreservation.State(string(access.Started))}
	if len(spaceIDs) == 0 {
		return tx.Reservation.Query().Where(started...).All(ctx)
	}
	beds, err := tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.ParentIDIn(spaceIDs...)).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the beds of spaces: %w", err)
	}
	all := append(slices.Clone(spaceIDs), beds...)
	granted, err := tx.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.EndedAtIsNil(), entgrant.SpaceIDIn(all...)).
		Select(entgrant.FieldReservationID).Strings(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the access to spaces: %w", err)
	}
	mapped, err := tx.Mapping.Query().Where(entmapping.PropertyID(propertyID), entmapping.SpaceIDIn(all...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the mappings of spaces: %w", err)
	}
	named := []predicate.Reservation{entreservation.OwnSpaceIDIn(all...)}
	if len(granted) > 0 {
		named = append(named, entreservation.IDIn(granted...))
	}
	for _, m := range mapped {
		named = append(named, entreservation.And(entreservation.IntegrationID(m.IntegrationID), entreservation.Or(
			entreservation.SpaceKey(m.ExternalID), entreservation.PmsParentSpaceID(m.ExternalID))))
	}
	return tx.Reservation.Query().Where(append(started, entreservation.Or(named...))...).All(ctx)
}

// Affected lists the reservations, arriving or staying, that name one of a partner's spaces: a conflict of the mapping
// touches them. At most 100 a call.
func Affected(tx *db.Tx, integrationID string, externalIDs []string) ([]string, error) {
	return tx.Reservation.Query().Where(entreservation.IntegrationID(integrationID),
		entreservation.Or(entreservation.SpaceKeyIn(externalIDs...), entreservation.PmsParentSpaceIDIn(externalIDs...)),
		entreservation.ToAtGT(tx.Now()),
		entreservation.StateIn(string(access.Enquired), string(access.Requested), string(access.Optional), string(access.Confirmed), string(access.Started))).
		Order(entreservation.ByFromAt()).Limit(100).IDs(tx.Context())
}
