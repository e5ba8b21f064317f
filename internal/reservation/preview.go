package reservation

import (
	"fmt"

	"latchkey.dev/ent"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/space"
)

// AffectedList lists the reservations that have not ended and that a change of spaces or mappings can affect, ordered by arrival.
type AffectedList struct {
	propertyID string
	requests   []space.Request // requests are the distinct requests of the reservations, also those without a space
	ids        []string
	requestOf  []int // requestOf has, for each of ids, the index of the reservation's entry in requests
}

// ListAffected loads the reservations that a change may affect. The list is empty if t is.
func ListAffected(tx *db.Tx, propertyID string, t space.AffectedStays) (AffectedList, error) {
	a := AffectedList{propertyID: propertyID}
	if t.Empty() {
		return a, nil
	}
	q := tx.Reservation.Query().Where(entreservation.PropertyID(propertyID), entreservation.ToAtGT(tx.Now()), entreservation.StateIn(notEnded...))
	if !touchesAll(t) {
		q = q.Where(entreservation.Or(namesSpace(t)...))
	}
	var rows []struct {
		ID               string  `json:"id"`
		IntegrationID    string  `json:"integration_id"`
		PmsSpaceID       *string `json:"pms_space_id"`
		PmsParentSpaceID *string `json:"pms_parent_space_id"`
		OwnSpaceID       *string `json:"own_space_id"`
	}
	err := q.Order(entreservation.ByFromAt(), entreservation.ByID()).
		Select(entreservation.FieldID, entreservation.FieldIntegrationID, entreservation.FieldPmsSpaceID, entreservation.FieldPmsParentSpaceID, entreservation.FieldOwnSpaceID).
		Scan(tx.Context(), &rows)
	if err != nil {
		return a, fmt.Errorf("list the stays that a change affects: %w", err)
	}
	known := map[space.Request]int{}
	for _, r := range rows {
		request := space.Request{
			PropertyID: propertyID, IntegrationID: r.IntegrationID, ExternalID: db.OrZero(r.PmsSpaceID),
			ExternalParentID: db.OrZero(r.PmsParentSpaceID), OwnID: db.OrZero(r.OwnSpaceID),
		}
		i, ok := known[request]
		if !ok {
			i = len(a.requests)
			known[request], a.requests = i, append(a.requests, request)
		}
		a.ids, a.requestOf = append(a.ids, r.ID), append(a.requestOf, i)
	}
	return a, nil
}

// Len returns the number of reservations.
func (a AffectedList) Len() int { return len(a.ids) }

// AffectedPlaces are the spaces of the reservations of an [AffectedList] at one time, one for each of its requests.
type AffectedPlaces []space.Resolution

// Places returns where the reservations are now. A preview calls it during a change and after it has rolled the change back, and compares
// the results.
func (a AffectedList) Places(tx *db.Tx) (AffectedPlaces, error) {
	return space.ResolveAll(tx, a.requests)
}

// Moved is a reservation to which a change of spaces or mappings gives other doors. A preview shows it.
type Moved struct {
	*ent.Reservation
	Before, After space.Place
}

// FindMoved returns how many of the reservations have other doors after a change than before it, and the first limit of them by arrival.
func (a AffectedList) FindMoved(tx *db.Tx, before, after AffectedPlaces, limit int) (total int, first []Moved, err error) {
	var ids []string
	requestOf := map[string]int{}
	for i, id := range a.ids {
		r := a.requestOf[i]
		if sameDoors(before[r].Place, after[r].Place) {
			continue
		}
		if total++; len(ids) < limit {
			ids, requestOf[id] = append(ids, id), r
		}
	}
	if total == 0 {
		return 0, nil, nil
	}
	rows, err := tx.Reservation.Query().Where(entreservation.PropertyID(a.propertyID), entreservation.IDIn(ids...)).
		Order(entreservation.ByFromAt(), entreservation.ByID()).All(tx.Context())
	if err != nil {
		return 0, nil, fmt.Errorf("load the stays that a change moves: %w", err)
	}
	for _, row := range rows {
		first = append(first, Moved{row, before[requestOf[row.ID]].Place, after[requestOf[row.ID]].Place})
	}
	return total, first, nil
}

// sameDoors reports whether guests of two places open the same doors. The gates follow from the room or bed and its dorm.
func sameDoors(a, b space.Place) bool { return spaceIDs(a) == spaceIDs(b) }

// spaceIDs returns the ids of the room or bed of a place and of its dorm.
func spaceIDs(p space.Place) (ids [2]string) {
	if p.Space != nil {
		ids[0] = p.Space.ID
	}
	if p.Parent != nil {
		ids[1] = p.Parent.ID
	}
	return ids
}
