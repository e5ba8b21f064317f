package staff

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// arrange returns rooms and dorms sorted by name, each dorm followed by its beds. It leaves out beds whose dorm is not in all.
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

// compareNames compares names as people sort them: "Room 9" is before "Room 10". It is case-sensitive.
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

// leadingNumber returns the digits at the start of s.
func leadingNumber(s string) string {
	if end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		return s[:end]
	}
	return s
}

// spaceChoice is what a person chose for one space of the property. was is the id of the PMS's space that was mapped to it before, and now
// the id of the PMS's space that the person chose. "" means none: an empty now ends the mapping.
type spaceChoice struct{ spaceID, was, now string }

// mappingChanges returns the mappings that the choices change. If two choices have the same space of the PMS, twice is the id of that
// space, and changes is nil. Otherwise twice is "".
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

// mapTo returns the mapping of a space of the PMS to a space of the property. An empty spaceID removes the mapping.
func mapTo(externalID, spaceID string) *propertyv1.Mapping {
	return &propertyv1.Mapping{ExternalId: externalID, SpaceId: &spaceID}
}

// cure is a button that resolves a conflict between mapping and PMS in one way. Text is a message kind, and Name the parameter of the
// message.
type cure struct {
	*propertyv1.Cure
	Text, Name string
}

// curesOf returns the buttons that resolve a conflict, the best cure first. It leaves out "map" without a suggested room. listed are the
// spaces of the PMS, for their names.
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
			if offer.GetSpaceId() == "" { // without a suggestion, the person chooses in the table
				continue
			}
			one.Name = offer.GetSpaceName()
		case "accept":
			if c.GetKind() == "moved" {
				one.Text = "staff.cure.keep"
			}
		case "sameName":
			one.Name = named(offer.GetExternalId()).GetName()
		}
		cures = append(cures, one)
	}
	return cures
}

// maxBeds is the maximum number of beds of a dorm in a typed list of rooms.
const maxBeds = 50

// maxRooms is the maximum number of rooms and beds that one API call creates.
const maxRooms = 500

// roomsOf parses a typed list of rooms, one per line: "101", with a floor "101, 1", or a dorm with its number of beds "Dorm 4: 6", whose
// beds "Dorm 4-1" and so on follow it. A tab counts as a comma, and empty lines are skipped. wrong are the numbers of invalid lines, from
// 1, which rooms lacks. It stops when rooms has more than maxRooms, so that the caller can refuse the list.
func roomsOf(list string) (rooms []*propertyv1.NewSpace, wrong []int) {
	for i, line := range strings.Split(list, "\n") {
		if len(rooms) > maxRooms {
			break
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		line = strings.ReplaceAll(line, "\t", ",")
		name, floor, _ := strings.Cut(line, ",")
		name, beds, isDorm := strings.Cut(name, ":")
		name, floor = strings.TrimSpace(name), strings.TrimSpace(floor)
		count, err := 0, error(nil)
		if isDorm {
			count, err = strconv.Atoi(strings.TrimSpace(beds))
		}
		if name == "" || err != nil || isDorm && (count < 1 || count > maxBeds) || strings.ContainsFunc(line, unicode.IsControl) {
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
