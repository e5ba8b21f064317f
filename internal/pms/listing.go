package pms

import (
	"fmt"

	pmsv1 "latchkey.dev/gen/latchkey/pms/v1"
	"latchkey.dev/internal/fault"
)

// listingViolations returns what is wrong between the spaces of a readable list: ids that are listed twice, and beds in no listed room. A
// reading of such a list is stored and opens conflicts. A PMS that names the room of no bed does not send rooms of beds, which is right.
func listingViolations(spaces []*pmsv1.Space) []fault.Field {
	first := make(map[string]int, len(spaces))
	namesRooms := false
	r := &reader{}
	for i, s := range spaces {
		if at, twice := first[s.GetId()]; twice {
			r.addViolation(fmt.Sprintf("[%d].id", i), fault.AlreadyExists, fmt.Sprintf("is also the id of [%d]: ids must be unique", at))
		} else {
			first[s.GetId()] = i
		}
		namesRooms = namesRooms || s.GetType() == SpaceBed && s.GetParentId() != ""
	}
	for i, s := range spaces {
		if s.GetType() != SpaceBed || !namesRooms {
			continue
		}
		path := fmt.Sprintf("[%d].parentId", i)
		at, listed := first[s.GetParentId()]
		switch {
		case s.GetParentId() == "":
			r.addViolation(path, fault.Required, "is required for a bed, because other beds name their room")
		case !listed:
			r.addViolation(path, fault.SpaceNotFound, "must be the id of a listed room or dorm")
		case spaces[at].GetType() == SpaceBed:
			r.addViolation(path, fault.SpaceNotFound, fmt.Sprintf("must be the id of a room or dorm, and [%d] is a bed", at))
		}
	}
	return r.violations
}
