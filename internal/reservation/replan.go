package reservation

import (
	"fmt"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/space"
)

// Replan plans the access of every checked-in stay anew that a change of the property's settings, of spaces, mapping,
// doors or locks touches, in the transaction of that change. Days are completed by the hours that the property has now; those
// of the stays that are not checked in: see [Keeper.CompleteDays].
func (k Keeper) Replan(tx *db.Tx, propertyID string, t space.Touched) error {
	if t.Empty() {
		return nil
	}
	if err := access.Unsettle(tx, propertyID); err != nil {
		return err
	}
	house, err := tx.Property.Get(tx.Context(), propertyID)
	if err != nil {
		return fmt.Errorf("load the property: %w", err)
	}
	rules, err := access.RulesOf(house)
	if err != nil {
		return err
	}
	rows, err := touched(tx, propertyID, t)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := completeAnew(tx, row, houseOf(house, rules)); err != nil {
			return err
		}
		if _, err := access.Apply(tx, k.Keys, stayOf(row, false), rules); err != nil {
			return fmt.Errorf("plan %s anew: %w", row.ID, err)
		}
	}
	return nil
}

// touched lists the checked-in stays that name, or have access through, what was touched.
func touched(tx *db.Tx, propertyID string, t space.Touched) ([]*ent.Reservation, error) {
	ctx := tx.Context()
	started := []predicate.Reservation{entreservation.PropertyID(propertyID), entreservation.State(string(access.Started))}
	if t.All {
		return tx.Reservation.Query().Where(started...).All(ctx)
	}
	granted, err := tx.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.EndedAtIsNil(), entgrant.SpaceIDIn(t.SpaceIDs...)).
		Select(entgrant.FieldReservationID).Strings(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the access to spaces: %w", err)
	}
	named := []predicate.Reservation{entreservation.OwnSpaceIDIn(t.SpaceIDs...), entreservation.IDIn(granted...)}
	for _, e := range t.Externals {
		named = append(named, entreservation.And(entreservation.IntegrationID(e.IntegrationID),
			entreservation.Or(entreservation.SpaceKey(e.ID), entreservation.PmsParentSpaceID(e.ID))))
	}
	return tx.Reservation.Query().Where(append(started, entreservation.Or(named...))...).All(ctx)
}

// Affected lists the reservations of a property, arriving or staying, that name one of a partner's spaces: a conflict of the mapping
// touches them. At most 100 a call.
func Affected(tx *db.Tx, propertyID, integrationID string, externalIDs []string) ([]string, error) {
	return tx.Reservation.Query().Where(entreservation.PropertyID(propertyID), entreservation.IntegrationID(integrationID),
		entreservation.Or(entreservation.SpaceKeyIn(externalIDs...), entreservation.PmsParentSpaceIDIn(externalIDs...)),
		entreservation.ToAtGT(tx.Now()),
		entreservation.StateIn(string(access.Enquired), string(access.Requested), string(access.Optional), string(access.Confirmed), string(access.Started))).
		Order(entreservation.ByFromAt()).Limit(100).IDs(tx.Context())
}
