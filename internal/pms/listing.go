package pms

import (
	"fmt"
	"slices"

	pmsv1 "latchkey.dev/gen/latchkey/pms/v1"
	"latchkey.dev/internal/fault"
)

// inspectSpaces reads a getSpaces answer for a test. It also adds what is wrong between its spaces: ids that are listed twice, and beds in no
// listed room. A reading of a list with only such faults is stored and opens conflicts. It returns the number of spaces, or 0 if an entry
// violates the contract.
func (r *reader) inspectSpaces(body []byte) int {
	spaces := r.readSpaces(body)
	readable := len(r.violations) == 0
	first := r.checkIDs(spaces)
	r.checkRooms(spaces, first)
	if !readable {
		return 0
	}
	return len(spaces)
}

// checkIDs adds a violation for each id that is listed before. It returns the first place of each readable id.
func (r *reader) checkIDs(spaces []*pmsv1.Space) map[string]int {
	first := make(map[string]int, len(spaces))
	for i, s := range spaces {
		if s.GetId() == "" {
			continue
		}
		if at, twice := first[s.GetId()]; twice {
			r.addViolation(fmt.Sprintf("[%d].id", i), fault.AlreadyExists, fmt.Sprintf("is also the id of [%d]: ids must be unique", at))
		} else {
			first[s.GetId()] = i
		}
	}
	return first
}

// checkRooms adds a violation for each bed in no listed room. first is the place of each id. A PMS that names the room of no bed does not
// send rooms of beds, which is right. If an id cannot be read, it can be the id of any room that is not listed.
func (r *reader) checkRooms(spaces []*pmsv1.Space, first map[string]int) {
	namesRooms := slices.ContainsFunc(spaces, func(s *pmsv1.Space) bool { return s.GetType() == SpaceBed && s.GetParentId() != "" })
	idsReadable := !slices.ContainsFunc(spaces, func(s *pmsv1.Space) bool { return s.GetId() == "" })
	for i, s := range spaces {
		if s.GetType() != SpaceBed || !namesRooms {
			continue
		}
		path := fmt.Sprintf("[%d].parentId", i)
		at, listed := first[s.GetParentId()]
		switch {
		case s.ParentId != nil && s.GetParentId() == "": // it has a violation already
		case s.GetParentId() == "":
			r.addViolation(path, fault.Required, "is required for a bed, because other beds name their room")
		case !listed && idsReadable:
			r.addViolation(path, fault.SpaceNotFound, "must be the id of a listed room or dorm")
		case listed && spaces[at].GetType() == SpaceBed:
			r.addViolation(path, fault.SpaceNotFound, fmt.Sprintf("must be the id of a room or dorm, and [%d] is a bed", at))
		}
	}
}
