package space

import (
	"cmp"
	"slices"

	"latchkey.dev/internal/message"
)

// bedroom is a mapped bed that the PMS lists in another room than its mapping stores. movedBeds decides whether that is a conflict.
type bedroom struct {
	bed      Listed
	was, now string // was and now are the PMS's ids of the rooms; was is empty if the PMS sent none when the bed was mapped
	from, to string // from and to are the names of the rooms was and now
	same     bool   // same means that both ids are of one room of the property
}

// bedroomsOf returns the mapped beds for which the PMS lists another room than their mapping stores, or for which the mapping stores none.
// It omits beds that name no listed room, or another bed.
func bedroomsOf(listing map[string]Listed, known Stored) (changed []bedroom) {
	former, mapped := indexByID(slices.Concat(known.Gone, known.Listing)), indexMapped(known.Mappings)
	for _, m := range known.Mappings {
		bed := listing[m.ExternalID]
		room, ok := listing[bed.ParentExternalID]
		if bed.Type != Bed || !ok || room.Type == Bed || m.ParentExternalID == room.ExternalID {
			continue
		}
		was, isListed := listing[m.ParentExternalID]
		name := cmp.Or(was.Name, former[m.ParentExternalID].Name, m.ParentExternalID)
		_, wasListed := former[room.ExternalID]
		isMapped := m.OwnDormID != "" && mapped[room.ExternalID].SpaceID == m.OwnDormID // the mapping opens the door of the room where the bed is
		changed = append(changed, bedroom{
			bed: bed, was: m.ParentExternalID, now: room.ExternalID, from: name, to: room.Name,
			same: isMapped || !isListed && !wasListed && sameText(name, room.Name), // or the room has a new id and an unchanged name
		})
	}
	return changed
}

// movedBeds returns a conflict for each mapped bed that the PMS has moved to another room: its mapping still opens the door of the former
// room. A new id of the same room is no move.
func movedBeds(listing map[string]Listed, known Stored) (found []Finding) {
	for _, b := range bedroomsOf(listing, known) {
		if b.was != "" && !b.same {
			found = append(found, Finding{Moved, b.bed.ExternalID, message.Params{"bed": b.bed.Name, "from": b.from, "to": b.to}})
		}
	}
	return found
}

// roomsToStore returns, by the PMS's id of the bed, the rooms to store in the mappings of beds: where the PMS sent none before, and where a
// room has a new id.
func roomsToStore(listing map[string]Listed, known Stored) map[string]string {
	rooms := map[string]string{}
	for _, b := range bedroomsOf(listing, known) {
		if b.was == "" || b.same {
			rooms[b.bed.ExternalID] = b.now
		}
	}
	return rooms
}
