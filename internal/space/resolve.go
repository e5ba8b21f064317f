package space

import (
	"cmp"
	"fmt"
	"slices"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
)

// Reasons why a reservation has no space, or why its space may be wrong or inactive.
const (
	RoomNotAssigned = "roomNotAssigned" // the reservation names no space
	SpaceUnknown    = "spaceUnknown"    // the PMS never listed the space, or no Latchkey space has the id
	SpaceNotMapped  = "spaceNotMapped"  // the PMS lists the space, or did, but it is not mapped
	SpacesDisagree  = "spacesDisagree"  // the reservation names another room than that of its bed
	BedNotAssigned  = "bedNotAssigned"  // the space is a dorm that is not rented as a whole, so the bed is unknown
	SpaceInactive   = "spaceInactive"   // the space, or the dorm of the bed, is inactive
)

// Request identifies the space of a reservation by a Latchkey id or by a PMS's ids.
type Request struct {
	PropertyID       string
	IntegrationID    string
	ExternalID       string // ExternalID is the PMS's bed or room
	ExternalParentID string // ExternalParentID is the PMS's room that contains ExternalID; if ExternalID is empty, the room of the reservation
	OwnID            string // OwnID is the id of a Latchkey space and overrides the PMS's ids
}

// Place is the space of a reservation and, for a bed, its dorm. Space is nil if the reservation has none.
type Place struct {
	Space  *ent.Space
	Parent *ent.Space // Parent is the dorm of a bed, otherwise nil
	// Doubt is why the place may be wrong, spacesDisagree or bedNotAssigned; "" if it is certain.
	Doubt string
}

// Resolve finds the space of a reservation, usually with one query. The string is the reason why there is none: roomNotAssigned,
// spaceUnknown or spaceNotMapped; "" if there is one. With the reason spaceInactive it also returns the space. A place without a space can
// have the Doubt spacesDisagree.
func Resolve(tx *db.Tx, r Request) (Place, string, error) {
	switch {
	case r.OwnID != "":
		return resolveOwn(tx, r)
	case r.ExternalID == "" && r.ExternalParentID == "":
		return Place{}, RoomNotAssigned, nil
	}
	mapped, err := queryPlaces(tx, placesMapped, r.PropertyID, r.IntegrationID, r.ExternalID, r.ExternalParentID)
	if err != nil {
		return Place{}, "", err
	}
	if needsListing(r, mapped) {
		listing, err := listedSpaces(tx, r.PropertyID, r.IntegrationID, r.listedID())
		if err != nil {
			return Place{}, "", err
		}
		place, reason := placeByListing(r, mapped, listing[r.listedID()])
		return place, reason, nil
	}
	place, _ := choosePlace(r, mapped)
	return place, place.inactiveReason(), nil
}

// listedID returns the PMS id by which the PMS's list describes the space of a reservation.
func (r Request) listedID() string { return cmp.Or(r.ExternalID, r.ExternalParentID) }

// needsListing reports whether the mapped spaces do not decide where a reservation is, so that the PMS's list of spaces must be read.
func needsListing(r Request, mapped []foundPlace) bool {
	_, ok := choosePlace(r, mapped)
	bedMapped := slices.ContainsFunc(mapped, func(f foundPlace) bool { return f.externalID == r.ExternalID })
	return !ok || !bedMapped && r.ExternalID != ""
}

// placeByListing returns the place of a reservation whose bed, or whose room if it names no bed, is not mapped: the mapped room of the bed.
// The reason is spaceUnknown or spaceNotMapped without a space, spaceInactive with an inactive one, otherwise "". If the PMS's list has the
// bed in another room, there is no space, and Doubt is spacesDisagree. listed is nil if the list does not have the space.
func placeByListing(r Request, mapped []foundPlace, listed *ent.PartnerSpace) (Place, string) {
	reason := SpaceUnknown
	if listed != nil {
		reason = SpaceNotMapped
		if roomContradictsBed(r, &foundPlace{listedParent: listed.ParentExternalID}, nil) {
			return Place{Doubt: SpacesDisagree}, reason
		}
	}
	if room, ok := choosePlace(r, mapped); ok {
		return room, room.inactiveReason()
	}
	return Place{}, reason
}

// choosePlace chooses among the mapped spaces that a reservation names, and returns false if none fits. A bed without a mapping falls back
// to its room only if the room is rented as a whole (IsPrivate): in a dorm the guest would get access to another guest's bed.
func choosePlace(r Request, mapped []foundPlace) (Place, bool) {
	var bed, room *foundPlace
	for i, m := range mapped {
		switch m.externalID {
		case r.ExternalID:
			bed = &mapped[i]
		case r.ExternalParentID:
			room = &mapped[i]
		}
	}
	switch {
	case bed != nil:
		place := bed.Place
		place.Doubt = place.findDoubt()
		if roomContradictsBed(r, bed, room) {
			place.Doubt = SpacesDisagree
		}
		return place, true
	case room == nil || r.ExternalID != "" && !room.Space.IsPrivate:
		return Place{}, false
	}
	place := room.Place
	place.Doubt = place.findDoubt()
	return place, true
}

// roomContradictsBed reports whether a reservation names another room than that of its bed. The PMS's list determines the room of the bed
// or, if it names none, the mapping. room is nil if the named room is not mapped: without a room in the list, nothing then contradicts.
func roomContradictsBed(r Request, bed, room *foundPlace) bool {
	switch {
	case r.ExternalParentID == "" || r.ExternalParentID == r.ExternalID:
		return false
	case bed.listedParent != "":
		return bed.listedParent != r.ExternalParentID
	case room == nil:
		return false
	case bed.Parent != nil:
		return bed.Parent.ID != room.Space.ID
	}
	return bed.Space.ID != room.Space.ID
}

// findDoubt returns bedNotAssigned for a dorm that is not rented as a whole, because the guest's bed is then unknown, else "".
func (p Place) findDoubt() string {
	if p.Space.Type == Dorm && !p.Space.IsPrivate {
		return BedNotAssigned
	}
	return ""
}

// inactiveReason returns spaceInactive if the space, or the dorm of a bed, is inactive, else "".
func (p Place) inactiveReason() string {
	if !p.Space.IsActive || p.Parent != nil && !p.Parent.IsActive {
		return SpaceInactive
	}
	return ""
}

// resolveOwn is [Resolve] for a reservation that names a Latchkey space.
func resolveOwn(tx *db.Tx, r Request) (Place, string, error) {
	own, err := queryPlaces(tx, placesOwn, r.PropertyID, r.OwnID)
	if err != nil {
		return Place{}, "", err
	}
	place, reason := placeOfOwn(r, own)
	return place, reason, nil
}

// placeOfOwn returns the place of a reservation that names a Latchkey space, and a reason: spaceUnknown without a space, spaceInactive with
// an inactive one, otherwise "". own are the found spaces.
func placeOfOwn(r Request, own []foundPlace) (Place, string) {
	i := slices.IndexFunc(own, func(f foundPlace) bool { return f.Space.ID == r.OwnID })
	if i < 0 {
		return Place{}, SpaceUnknown
	}
	place := own[i].Place
	place.Doubt = place.findDoubt()
	return place, place.inactiveReason()
}

// ParentName returns the name of the dorm of a bed, or "".
func (p Place) ParentName() string {
	if p.Parent == nil {
		return ""
	}
	return p.Parent.Name
}

// DormNames returns the names of the dorms of beds, by the id of the bed. It omits other ids.
func DormNames(tx *db.Tx, propertyID string, ids []string) (map[string]string, error) {
	names := map[string]string{}
	for part := range slices.Chunk(ids, chunkSize) {
		args := []any{propertyID}
		for _, id := range part {
			args = append(args, id)
		}
		rows, err := db.ReadList(tx, func(r *struct{ bed, dorm string }) []any { return []any{&r.bed, &r.dorm} }, withMore(dormsOfBeds, len(args)), args...)
		if err != nil {
			return nil, fmt.Errorf("load the dorms of beds: %w", err)
		}
		for _, r := range rows {
			names[r.bed] = r.dorm
		}
	}
	return names, nil
}
