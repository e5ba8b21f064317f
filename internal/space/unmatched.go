package space

import (
	"cmp"
	"slices"
	"strings"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
)

// Unmatched is an active space of a PMS that is not mapped, and whose name suggests no space of the property.
type Unmatched struct {
	Listed
	DormID string // DormID is the dorm of a bed; empty if the dorm is unmatched too, and for other types
}

// FindUnmatched returns the unmatched spaces that can be created at the property, dorms before their beds. It omits a space whose name is
// invalid or taken at the same place, and a bed whose room is not a dorm of the property, existing or to be created. It also omits a space
// with the name of a mapped one in gone, the spaces that the PMS no longer lists: it is the same room with a new id, and a second room
// would have no lock. ours are all spaces of the property.
func FindUnmatched(listing, gone []Listed, ours []Own, mappings []Mapped, suggested []Suggestion) (found []Unmatched) {
	paired := map[string]string{} // by the PMS's id: the space of the property that is mapped or suggested
	for _, s := range suggested {
		paired[s.ExternalID] = s.SpaceID
	}
	for _, m := range mappings {
		paired[m.ExternalID] = m.SpaceID
	}
	// Names are unique within a dorm, and among rooms and dorms. newDorm is the PMS's id of a dorm that is created.
	type place struct{ dorm, newDorm, name string }
	taken, dorms := map[place]bool{}, map[string]bool{}
	for _, o := range ours {
		taken[place{dorm: o.ParentID, name: o.Name}] = true
		dorms[o.ID] = o.Type == Dorm
	}
	replaced := map[place]bool{} // places, with names in lower case, of mapped spaces that the PMS no longer lists: a listed space there has only a new id, and needs no new room
	for _, g := range gone {
		if i := slices.IndexFunc(ours, func(o Own) bool { return o.ID == paired[g.ExternalID] }); i >= 0 {
			replaced[place{dorm: ours[i].ParentID, name: strings.ToLower(g.Name)}] = true
		}
	}
	add := func(l Listed, at place) bool {
		if !l.IsActive || paired[l.ExternalID] != "" || taken[at] || replaced[place{at.dorm, at.newDorm, strings.ToLower(l.Name)}] || len(checkTexts(l.Name, l.Floor)) > 0 {
			return false
		}
		taken[at] = true
		found = append(found, Unmatched{l, at.dorm})
		return true
	}
	listing = slices.SortedFunc(slices.Values(listing), func(a, b Listed) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ExternalID, b.ExternalID))
	})
	created := map[string]bool{}
	for _, l := range listing {
		if l.Type != Bed {
			created[l.ExternalID] = add(l, place{name: l.Name}) && l.Type == Dorm
		}
	}
	for _, l := range listing {
		switch dormID := paired[l.ParentExternalID]; {
		case l.Type != Bed:
		case dorms[dormID]:
			add(l, place{dorm: dormID, name: l.Name})
		case created[l.ParentExternalID]:
			add(l, place{newDorm: l.ParentExternalID, name: l.Name})
		}
	}
	return found
}

// ListOffers returns the suggestions for the unmapped spaces of a PMS, and the spaces without a suggestion that can be created, see
// [FindUnmatched]. It stores nothing.
func ListOffers(tx *db.Tx, propertyID, integrationID string) ([]Suggestion, []Unmatched, error) {
	state, err := loadListing(tx, propertyID, integrationID)
	if err != nil {
		return nil, nil, err
	}
	all, active, err := loadOwn(tx, propertyID)
	if err != nil {
		return nil, nil, err
	}
	known := state.toKnown()
	suggested := Suggest(known.Listing, active, known.Mappings)
	return suggested, FindUnmatched(known.Listing, known.Gone, all, known.Mappings, suggested), nil
}

// Created is a new space, and the PMS's space that is mapped to it.
type Created struct {
	ExternalID string
	Space      *ent.Space
}

// maxCreated bounds the spaces that one call creates.
const maxCreated = 500

// CreateUnmatched creates spaces like the unmatched ones of a PMS, at most maxCreated, and maps them. left is how many more there are.
// touched selects the reservations whose access the caller must plan again. After an error, the caller must roll back.
func (m Mappings) CreateUnmatched(tx *db.Tx, propertyID, integrationID string) (created []Created, left int, touched AffectedStays, err error) {
	_, unmatched, err := ListOffers(tx, propertyID, integrationID)
	if err != nil {
		return nil, 0, AffectedStays{}, err
	}
	left = max(0, len(unmatched)-maxCreated)
	dorms, all := map[string]string{}, []AffectedStays{}
	err = m.Edit(tx, propertyID, integrationID, func(e Edit) error {
		for _, u := range unmatched[:len(unmatched)-left] {
			row, err := Create(tx, propertyID, Draft{
				Type: u.Type, Name: u.Name, Floor: u.Floor, ParentID: cmp.Or(u.DormID, dorms[u.ParentExternalID]), IsPrivate: &u.IsPrivate,
			})
			if err != nil {
				return err
			}
			if u.Type != Bed {
				dorms[u.ExternalID] = row.ID
			}
			_, stays, err := e.Map(u.ExternalID, row.ID)
			if err != nil {
				return err
			}
			created, all = append(created, Created{u.ExternalID, row}), append(all, stays)
		}
		return nil
	})
	return created, left, AffectedStays{}.Union(all...), err
}
