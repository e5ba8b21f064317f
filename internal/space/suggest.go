package space

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Confidence is how certain a [Suggestion] is.
type Confidence string

// A suggestion is exact if the names differ only in case, punctuation and leading zeros, and likely if words such as "room" or the name of
// the dorm had to be ignored. Also likely are the beds of a likely dorm, and the beds for which the PMS names no room.
const (
	Exact  Confidence = "exact"
	Likely Confidence = "likely"
)

// Own is a Latchkey space with the fields that Suggest uses.
type Own struct {
	ID       string
	Type     string
	Name     string
	ParentID string // ParentID is the dorm of a bed; empty for other types
}

// Suggestion proposes to map a PMS's space to a Latchkey space.
type Suggestion struct {
	ExternalID string
	SpaceID    string
	Confidence Confidence
}

// Suggest pairs each active unmapped space of a PMS with at most one Latchkey space by name: first rooms and dorms, then the beds of dorms
// that are paired here or mapped, then the beds for which the PMS names no room. ours are all active spaces of the property. If a name is
// ambiguous, it suggests nothing for it.
func Suggest(listing []Listed, ours []Own, mappings []Mapped) []Suggestion {
	p := pairing{pairedWith: map[string]string{}, pairedOwn: map[string]bool{}}
	for _, m := range mappings {
		p.pairedWith[m.ExternalID], p.pairedOwn[m.SpaceID] = m.SpaceID, true
	}
	var rooms, beds []Listed
	for _, s := range listing {
		if s.Type == Bed {
			beds = append(beds, s)
		} else if s.IsActive {
			rooms = append(rooms, s)
		}
	}
	theirs, own := map[string]Listed{}, map[string]Own{}
	for _, s := range rooms {
		theirs[s.ExternalID] = s
	}
	ownBeds, ownRooms := map[string][]Own{}, []Own{}
	for _, s := range ours {
		own[s.ID] = s
		if s.Type == Bed {
			ownBeds[s.ParentID] = append(ownBeds[s.ParentID], s)
		} else {
			ownRooms = append(ownRooms, s)
		}
	}
	p.pair(newEntries(rooms, func(s Listed) (string, string) { return s.ExternalID, s.Name }, ""),
		newEntries(ownRooms, func(s Own) (string, string) { return s.ID, s.Name }, ""), Exact)

	inRoom, loose := map[string][]Listed{}, []Listed{}
	for _, b := range beds {
		if !b.IsActive {
			continue
		}
		if b.ParentExternalID == "" {
			loose = append(loose, b)
		} else {
			inRoom[b.ParentExternalID] = append(inRoom[b.ParentExternalID], b)
		}
	}
	for _, room := range sortedKeys(inRoom) {
		dorm, ok := p.pairedWith[room]
		if !ok {
			continue
		}
		p.pair(newEntries(inRoom[room], func(s Listed) (string, string) { return s.ExternalID, s.Name }, theirs[room].Name),
			newEntries(ownBeds[dorm], func(s Own) (string, string) { return s.ID, s.Name }, own[dorm].Name), p.confidence(room))
	}
	p.pair(newEntries(loose, func(s Listed) (string, string) { return s.ExternalID, s.Name }, ""), bedEntries(ownBeds, own), Likely)
	slices.SortFunc(p.found, func(a, b Suggestion) int { return cmp.Compare(a.ExternalID, b.ExternalID) })
	return p.found
}

// bedEntries returns an entry for each Latchkey bed, named after its dorm and the bed, or only after the bed if its name begins with the
// dorm's. They are compared with beds of a PMS that does not send the dorm of a bed, and so must put it into the bed's name. beds has the
// Latchkey beds by dorm id. own has all spaces by id.
func bedEntries(beds map[string][]Own, own map[string]Own) []entry {
	var all []entry
	for _, dorm := range sortedKeys(beds) {
		for _, b := range beds[dorm] {
			words := splitWords(own[dorm].Name + " " + b.Name)
			bare := splitWords(b.Name)
			if own[dorm].Name == "" || hasPrefix(bare, splitWords(own[dorm].Name)) {
				words = bare
			}
			all = append(all, entry{id: b.ID, exact: strings.Join(words, " "), likely: strings.Join(withoutGeneric(words), " ")})
		}
	}
	return all
}

// entry is one side of a possible pair: an id with its exact name and its likely name (without words such as "room"), both normalised.
type entry struct{ id, exact, likely string }

// newEntries returns the entries of spaces. The function name returns the id and name of a space. For beds, parent is
// the name of their dorm, which is omitted from the likely names.
func newEntries[S any](spaces []S, name func(S) (id, name string), parent string) []entry {
	all := make([]entry, 0, len(spaces))
	prefix := splitWords(parent)
	short := withoutGeneric(prefix) // short is "B" for "Dorm B", whose bed may be called "B1"
	for _, s := range spaces {
		id, n := name(s)
		words := splitWords(n)
		rest := words
		switch {
		case hasPrefix(words, prefix):
			rest = words[len(prefix):]
		case hasPrefix(words, short):
			rest = words[len(short):]
		}
		all = append(all, entry{id: id, exact: strings.Join(words, " "), likely: strings.Join(withoutGeneric(rest), " ")})
	}
	return all
}

// pairing is the state of one call of [Suggest].
type pairing struct {
	pairedWith map[string]string // pairedWith has the paired Latchkey space of each PMS id
	pairedOwn  map[string]bool   // pairedOwn are the ids of the paired Latchkey spaces
	found      []Suggestion
}

// confidence returns how certain the suggested pair of a PMS space is. Without a suggestion the space was mapped before, and it returns
// Exact. It limits the confidence of the pairs of its beds.
func (p *pairing) confidence(externalID string) Confidence {
	for _, s := range p.found {
		if s.ExternalID == externalID {
			return s.Confidence
		}
	}
	return Exact
}

// pair pairs names that are unique on both sides: first exact names, then likely names among the rest. No suggestion
// gets a higher confidence than most.
func (p *pairing) pair(theirs, ours []entry, most Confidence) {
	p.pairUnique(theirs, ours, func(e entry) string { return e.exact }, most)
	p.pairUnique(theirs, ours, func(e entry) string { return e.likely }, Likely)
}

// pairUnique pairs the entries whose name, as returned by name, is unique on both sides. It skips entries that are paired already or whose
// name is empty.
func (p *pairing) pairUnique(theirs, ours []entry, name func(entry) string, c Confidence) {
	left, right := map[string][]string{}, map[string][]string{}
	for _, e := range theirs {
		if _, ok := p.pairedWith[e.id]; !ok && name(e) != "" {
			left[name(e)] = append(left[name(e)], e.id)
		}
	}
	for _, e := range ours {
		if !p.pairedOwn[e.id] && name(e) != "" {
			right[name(e)] = append(right[name(e)], e.id)
		}
	}
	for _, n := range sortedKeys(left) {
		if len(left[n]) != 1 || len(right[n]) != 1 {
			continue
		}
		ext, own := left[n][0], right[n][0]
		p.pairedWith[ext], p.pairedOwn[own] = own, true
		p.found = append(p.found, Suggestion{ExternalID: ext, SpaceID: own, Confidence: c})
	}
}

// genericWords are words that describe the type of a space and do not identify it.
var genericWords = []string{
	"room", "rm", "dorm", "dormitory", "bed", "bunk", "no", "nr", "number",
	"zimmer", "bett", "schlafsaal", "chambre", "dortoir", "lit", "habitacion", "habitación", "dormitorio", "cama",
	"camera", "letto", "quarto", "kamer", "the",
}

// withoutGeneric removes generic words. It returns a name of only generic words unchanged.
func withoutGeneric(words []string) []string {
	rest := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(genericWords, w) })
	if len(rest) == 0 {
		return words
	}
	return rest
}

// hasPrefix reports whether words begin with the words of a parent's name and continue after them.
func hasPrefix(words, prefix []string) bool {
	return len(prefix) > 0 && len(words) > len(prefix) && slices.Equal(words[:len(prefix)], prefix)
}

// splitWords splits a name into lower-case words and numbers without leading zeros: "Room-007B" becomes room, 7, b.
func splitWords(name string) []string {
	var words []string
	var word []rune
	kind := 0
	flush := func() {
		if len(word) == 0 {
			return
		}
		w := string(word)
		if kind == 2 {
			w = cmp.Or(strings.TrimLeft(w, "0"), "0")
		}
		words, word = append(words, w), word[:0]
	}
	for _, r := range name {
		k := 0
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			k = 1
		case unicode.IsDigit(r):
			k = 2
		}
		if k != kind {
			flush()
			kind = k
		}
		if k != 0 {
			word = append(word, unicode.ToLower(r))
		}
	}
	flush()
	return words
}

// sameText compares names and ignores differences in white space.
func sameText(a, b string) bool {
	return slices.Equal(strings.Fields(a), strings.Fields(b))
}
