package space

import (
	"maps"
	"slices"

	"latchkey.dev/internal/db"
)

// Resolution is what [Resolve] returns for one request.
type Resolution struct {
	Place  Place
	Reason string // why there is no space, or spaceInactive; "": there is an active one
}

// ResolveAll is [Resolve] for many reservations of one property. The results are in the order of the requests. It
// needs at most two queries for each integration, and one for Latchkey ids.
func ResolveAll(tx *db.Tx, requests []Request) ([]Resolution, error) {
	out := make([]Resolution, len(requests))
	byIntegration, own := map[string][]int{}, []int(nil)
	for i, r := range requests {
		switch {
		case r.OwnID != "":
			own = append(own, i)
		case r.listedID() == "":
			out[i].Reason = RoomNotAssigned
		default:
			byIntegration[r.IntegrationID] = append(byIntegration[r.IntegrationID], i)
		}
	}
	if err := resolveAllOwn(tx, requests, own, out); err != nil {
		return nil, err
	}
	for _, integrationID := range slices.Sorted(maps.Keys(byIntegration)) {
		if err := resolveAllMapped(tx, integrationID, requests, byIntegration[integrationID], out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// resolveAllOwn sets in out the results of the requests that name a Latchkey space. at has the indexes of these requests.
func resolveAllOwn(tx *db.Tx, requests []Request, at []int, out []Resolution) error {
	if len(at) == 0 {
		return nil
	}
	var ids []any
	for _, i := range at {
		ids = append(ids, requests[i].OwnID)
	}
	found, err := queryPlaces(tx, withMore(placesOwn, len(ids)+1), requests[at[0]].PropertyID, ids...)
	for _, i := range at {
		out[i].Place, out[i].Reason = placeOfOwn(requests[i], found)
	}
	return err
}

// resolveAllMapped sets in out the results of the requests that name spaces of one PMS. at has the indexes of these requests.
func resolveAllMapped(tx *db.Tx, integrationID string, requests []Request, at []int, out []Resolution) error {
	propertyID, args := requests[at[0]].PropertyID, []any{integrationID}
	for _, i := range at {
		args = append(args, requests[i].ExternalID, requests[i].ExternalParentID)
	}
	mapped, err := queryPlaces(tx, withMore(placesMapped, len(args)+1), propertyID, args...)
	if err != nil {
		return err
	}
	var unlisted []int
	var ids []string
	for _, i := range at {
		if needsListing(requests[i], mapped) {
			unlisted, ids = append(unlisted, i), append(ids, requests[i].listedID())
			continue
		}
		place, _ := choosePlace(requests[i], mapped)
		out[i] = Resolution{place, place.inactiveReason()}
	}
	if len(unlisted) == 0 {
		return nil
	}
	listed, err := listedSpaces(tx, propertyID, integrationID, ids...)
	for _, i := range unlisted {
		out[i].Place, out[i].Reason = placeByListing(requests[i], mapped, listed[requests[i].listedID()])
	}
	return err
}
