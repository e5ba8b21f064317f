package staff

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// arrange orders rooms and dorms by name, numbers by their value, with the beds of each dorm after it.
func arrange(all []*propertyv1.Space) (ordered []*propertyv1.Space) {
	beds := map[string][]*propertyv1.Space{}
	for _, s := range all {
		beds[s.GetParentSpaceId()] = append(beds[s.GetParentSpaceId()], s)
	}
	byName := func(a, b *propertyv1.Space) int { return compareNames(a.GetName(), b.GetName()) }
	for _, list := range beds {
		slices.SortFunc(list, byName)
	}
	for _, s := range beds[""] {
		ordered = append(append(ordered, s), beds[s.GetId()]...)
	}
	return ordered
}

// compareNames orders names as people do: Room 9 is before Room 10.
func compareNames(a, b string) int {
	for a != "" && b != "" {
		x, y := leadingNumber(a), leadingNumber(b)
		if x == "" || y == "" {
			if c := cmp.Compare(a[0], b[0]); c != 0 {
				return c
			}
			a, b = a[1:], b[1:]
			continue
		}
		m, n := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n), cmp.Compare(len(x), len(y))); c != 0 {
			return c
		}
		a, b = a[len(x):], b[len(y):]
	}
	return cmp.Compare(a, b)
}

func leadingNumber(s string) string {
	if end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		return s[:end]
	}
	return s
}

// spaceChoice is what a person chose for a space of the property: the space of the PMS before and now, each "" for none.
type spaceChoice struct{ spaceID, was, now string }

// mappingChanges returns what a call has to change, and the space of the PMS that was chosen twice, or "".
func mappingChanges(choices []spaceChoice) (changes []*propertyv1.Mapping, twice string) {
	taken := map[string]bool{}
	for _, c := range choices {
		if c.now == "" {
			continue
		}
		if taken[c.now] {
			return nil, c.now
		}
		taken[c.now] = true
		if c.now != c.was {
			changes = append(changes, mapTo(c.now, c.spaceID))
		}
	}
	for _, c := range choices {
		if c.was != "" && c.was != c.now && !taken[c.was] {
			changes = append(changes, mapTo(c.was, ""))
		}
	}
	return changes, ""
}

// mapTo is the mapping of a space of the PMS to a space of the property; "" removes it.
func mapTo(externalID, spaceID string) *propertyv1.Mapping {
	return &propertyv1.Mapping{ExternalId: externalID, SpaceId: &spaceID}
}

// cure is one press that ends a conflict. Its text is a message.
type cure struct {
	*propertyv1.Cure
	Text, Name string
}

// curesOf returns the cures of a conflict that a button can do, with the names that they are about, the best first.
func curesOf(c *propertyv1.Conflict, listed []*propertyv1.PartnerSpace) (cures []cure) {
	named := func(externalID string) *propertyv1.PartnerSpace {
		at := slices.IndexFunc(listed, func(p *propertyv1.PartnerSpace) bool { return p.GetExternalId() == externalID })
		if at < 0 {
			return nil
		}
		return listed[at]
	}
	for _, offer := range c.GetCures() {
		one := cure{Cure: offer, Text: "staff.cure." + offer.GetKind(), Name: named(c.GetExternalId()).GetName()}
		switch offer.GetKind() {
		case "map":
			if offer.GetSpaceId() == "" { // the table has all choices
				continue
			}
			one.Name = named(c.GetExternalId()).GetSuggestedSpaceName()
		case "sameName":
			one.Name = named(offer.GetExternalId()).GetName()
		}
		cures = append(cures, one)
	}
	return cures
}

// missingSpace is a space that the property needs, for one that the PMS lists.
type missingSpace struct {
	externalID string
	space      *propertyv1.NewSpace
}

// missingSpaces returns what the property needs so that each listed space without a mapping and a suggestion has a space, dorms before their
// beds. Left out are a space whose name another space at the same place has, and a bed whose dorm the property does not have, and will not have.
func missingSpaces(listed []*propertyv1.PartnerSpace, ours []*propertyv1.Space) (needed []missingSpace) {
	type place struct{ parent, name string } // names are unique in a dorm, and among rooms and dorms
	taken := map[place]bool{}
	for _, s := range ours {
		taken[place{s.GetParentSpaceId(), s.GetName()}] = true
	}
	type dorm struct{ id, name string } // of the property; the id is "" for one that is needed
	dorms := map[string]dorm{}          // by the PMS's id
	lacks := func(p *propertyv1.PartnerSpace) bool {
		return p.GetIsActive() && p.GetState() == "unmapped" && p.GetSuggestedSpaceId() == ""
	}
	for _, p := range listed {
		ours := cmp.Or(p.GetSpaceId(), p.GetSuggestedSpaceId())
		switch at := (place{"", p.GetName()}); {
		case p.GetType() == "Bed":
		case ours != "":
			dorms[p.GetExternalId()] = dorm{id: ours}
		case lacks(p) && !taken[at]:
			taken[at] = true
			dorms[p.GetExternalId()] = dorm{name: p.GetName()}
			needed = append(needed, missingSpace{p.GetExternalId(), &propertyv1.NewSpace{Type: p.GetType(), Name: p.GetName(), Floor: p.GetFloor()}})
		}
	}
	for _, p := range listed {
		in, known := dorms[p.GetParentExternalId()]
		at := place{cmp.Or(in.id, "new "+in.name), p.GetName()}
		if p.GetType() != "Bed" || !known || !lacks(p) || taken[at] {
			continue
		}
		taken[at] = true
		bed := &propertyv1.NewSpace{Type: p.GetType(), Name: p.GetName(), Floor: p.GetFloor(), ParentSpaceId: in.id, ParentName: in.name}
		needed = append(needed, missingSpace{p.GetExternalId(), bed})
	}
	return needed
}

// maxBeds is the most beds of a dorm in a list of rooms.
const maxBeds = 50

// maxRooms is the most rooms and beds that a call creates.
const maxRooms = 500

// roomsOf reads a list of rooms, one a line: "101", with a floor "101, 1", and a dorm with its number of beds "Dorm 4: 6". It returns the
// numbers of the lines that it cannot read. It stops when there are more than maxRooms.
func roomsOf(list string) (rooms []*propertyv1.NewSpace, wrong []int) {
	for i, line := range strings.Split(list, "\n") {
		if len(rooms) > maxRooms {
			break
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, floor, _ := strings.Cut(strings.ReplaceAll(line, "\t", ","), ",")
		name, beds, isDorm := strings.Cut(name, ":")
		name, floor = strings.TrimSpace(name), strings.TrimSpace(floor)
		count, err := 0, error(nil)
		if isDorm {
			count, err = strconv.Atoi(strings.TrimSpace(beds))
		}
		if name == "" || err != nil || isDorm && (count < 1 || count > maxBeds) || strings.ContainsFunc(line, unicode.IsControl) && !strings.Contains(line, "\t") {
			wrong = append(wrong, i+1)
			continue
		}
		if !isDorm {
			rooms = append(rooms, &propertyv1.NewSpace{Type: "Room", Name: name, Floor: floor})
			continue
		}
		rooms = append(rooms, &propertyv1.NewSpace{Type: "Dorm", Name: name, Floor: floor})
		for bed := range count {
			rooms = append(rooms, &propertyv1.NewSpace{Type: "Bed", Name: name + "-" + strconv.Itoa(bed+1), Floor: floor, ParentName: name})
		}
	}
	return rooms, wrong
}
