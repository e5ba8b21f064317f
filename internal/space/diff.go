package space

import (
	"cmp"
	"maps"
	"slices"

	"latchkey.dev/internal/message"
)

// Kind is the kind of a conflict between a mapping and a partner's listing.
type Kind string

const (
	Missing        Kind = "missing"        // a mapped space is no longer listed by the PMS
	Inactive       Kind = "inactive"       // the PMS lists a mapped space as inactive
	Renamed        Kind = "renamed"        // the PMS has renamed a space since it was mapped
	Retyped        Kind = "retyped"        // the PMS has changed the type of a space since it was mapped
	Moved          Kind = "moved"          // the PMS has moved a bed to another room since it was mapped
	NewUnmapped    Kind = "newUnmapped"    // the PMS has added or activated a space since its list was first read, and it is not mapped
	BedWithoutRoom Kind = "bedWithoutRoom" // a bed, mapped or not, is in no listed room, although the PMS names rooms of beds
	DuplicateID    Kind = "duplicateId"    // the PMS lists an id twice
	Unreadable     Kind = "unreadable"     // several readings in a row failed or were rejected
)

// Kinds are all kinds of conflicts.
var Kinds = []Kind{Missing, Inactive, Renamed, Retyped, Moved, NewUnmapped, BedWithoutRoom, DuplicateID, Unreadable}

// Finding is one conflict. Kind and ExternalID identify it within an integration; ExternalID is empty for Unreadable.
type Finding struct {
	Kind       Kind
	ExternalID string
	Params     message.Params // Params are the parameters of the text for staff
}

// message returns the text of a finding for staff. The types of spaces are texts too, so that each reader has them in their own language.
func (f Finding) message() message.Message {
	params := maps.Clone(f.Params)
	for _, name := range []string{"type", "from", "to"} {
		if t, ok := params[name].(string); ok && (name == "type" || f.Kind == Retyped) {
			params[name] = message.Message{Kind: "staff.type." + t}
		}
	}
	return message.Message{Kind: "conflict." + string(f.Kind), Params: params}
}

// Mapped is one mapping, with the name, type and room that the PMS's space had when it was mapped or when a person last accepted a change.
// Readings update the room: see roomsToStore.
type Mapped struct {
	ExternalID       string
	SpaceID          string
	Name             string
	Type             string
	ParentExternalID string // ParentExternalID is the PMS's room of a bed; empty if the PMS sent none
	OwnDormID        string // OwnDormID is the dorm of the Latchkey space, or empty
}

// Stored is the stored state before a reading, which is one getSpaces call to the PMS.
type Stored struct {
	Listing  []Listed  // Listing is the last successful reading
	Gone     []Listed  // Gone are spaces that were listed before, but not in the last successful reading
	Mappings []Mapped  // Mappings are the mappings of the integration
	Open     []Finding // Open are the conflicts that were open before this reading
	Failures int       // Failures counts the failed readings in a row; 0 after an accepted one, and for Review
}

// Options are the options of [Diff].
type Options struct {
	UnreadableAfter int // UnreadableAfter is the number of failed readings in a row that opens the conflict Unreadable; 0 means 3
}

const unreadableAfter = 3

// DiffResult is what a reading (a getSpaces call to the PMS) changes. It never removes a mapping; only people do.
type DiffResult struct {
	Problem   message.Message   // Problem is why the reading was rejected, which leaves the stored listing unchanged; zero: accepted
	Failures  int               // Failures counts the failed readings in a row, including this one; 0 after an accepted reading
	Upsert    []Listed          // Upsert are new, reappeared or changed spaces
	Gone      []string          // Gone are the PMS's ids of spaces that are no longer listed
	Rooms     map[string]string // Rooms are the PMS's ids of rooms to store in the mappings of beds, by the PMS's id of the bed: see roomsToStore
	Opened    []Finding
	Closed    []Finding
	StillOpen []Finding // StillOpen are conflicts that stay open, with their current parameters
}

// Diff compares a reading (the result of a getSpaces call) with the previous reading and with the mappings, and returns what to store. The
// first reading opens no conflict NewUnmapped. A rejected reading only increments the count of failures and, at the limit, opens the
// conflict Unreadable; the others stay open. Diff rejects an error, an entry without a valid id or type, and an empty list after a list
// with spaces.
func Diff(known Stored, reading Reading, o Options) DiffResult {
	if problem := reading.rejectReason(len(known.Listing) > 0); problem.Kind != "" {
		return rejectReading(known, problem, cmp.Or(o.UnreadableAfter, unreadableAfter))
	}
	before, gone := indexByID(known.Listing), indexByID(known.Gone)
	listing, twice := deduplicate(reading.Spaces, before)
	out := DiffResult{}
	for _, id := range sortedKeys(listing) {
		if was, ok := before[id]; !ok || was != listing[id] {
			out.Upsert = append(out.Upsert, listing[id])
		}
	}
	for _, id := range sortedKeys(before) {
		if _, ok := listing[id]; !ok {
			out.Gone = append(out.Gone, id)
		}
	}
	first := len(before) == 0 && len(gone) == 0
	out.Rooms = roomsToStore(listing, known)
	findings := mappingConflicts(listing, known)
	for _, id := range sortedKeys(twice) {
		findings = append(findings, Finding{DuplicateID, id, message.Params{"id": id}})
	}
	findings = append(findings, newUnmappedSpaces(listing, known, func(id string) bool {
		return !first && !before[id].IsActive
	})...)
	out.sortFindings(known.Open, findings)
	return out
}

// Review recomputes the conflicts after a mapping changed, without a new reading. reopened are the PMS's ids of spaces whose conflict
// NewUnmapped opens again if they are not mapped.
func Review(known Stored, reopened ...string) DiffResult {
	listing := indexByID(known.Listing)
	findings := mappingConflicts(listing, known)
	findings = append(findings, newUnmappedSpaces(listing, known, func(id string) bool { return slices.Contains(reopened, id) })...)
	for _, f := range known.Open {
		// Only a reading can close these two kinds.
		if f.Kind == DuplicateID || f.Kind == Unreadable {
			findings = append(findings, f)
		}
	}
	out := DiffResult{Failures: known.Failures}
	out.sortFindings(known.Open, findings)
	return out
}

// rejectReading returns the result for a reading (a getSpaces call) that must not be stored, for the reason problem. All open conflicts
// stay open. limit is the number of failures in a row that opens the conflict Unreadable.
func rejectReading(known Stored, problem message.Message, limit int) DiffResult {
	out := DiffResult{Problem: problem, Failures: known.Failures + 1}
	findings := slices.DeleteFunc(slices.Clone(known.Open), func(f Finding) bool { return f.Kind == Unreadable })
	if out.Failures >= limit || len(findings) < len(known.Open) {
		findings = append(findings, Finding{Unreadable, "", message.Params{"failures": out.Failures, "problem": problem}})
	}
	out.sortFindings(known.Open, findings)
	return out
}

// mappingConflicts returns the conflicts between the PMS's list of spaces, by id, and the mappings, and the beds without a listed room.
func mappingConflicts(listing map[string]Listed, known Stored) []Finding {
	var found []Finding
	for _, m := range known.Mappings {
		s, ok := listing[m.ExternalID]
		if !ok {
			found = append(found, Finding{Missing, m.ExternalID, message.Params{"type": m.Type, "name": m.Name}})
			continue
		}
		if !s.IsActive {
			found = append(found, Finding{Inactive, m.ExternalID, message.Params{"type": s.Type, "name": s.Name}})
		}
		if !sameText(s.Name, m.Name) {
			found = append(found, Finding{Renamed, m.ExternalID, message.Params{"from": m.Name, "to": s.Name}})
		}
		if s.Type != m.Type {
			found = append(found, Finding{Retyped, m.ExternalID, message.Params{"name": s.Name, "from": m.Type, "to": s.Type}})
		}
	}
	found = append(found, movedBeds(listing, known)...)
	return append(found, bedsWithoutRoom(listing)...)
}

// bedsWithoutRoom returns the beds that name no listed room, or name a bed as their room. The parent of a bed is optional in getSpaces: if
// no bed names one, the PMS does not send parents and there is no conflict.
func bedsWithoutRoom(listing map[string]Listed) []Finding {
	names := false
	for _, s := range listing {
		names = names || s.Type == Bed && s.ParentExternalID != ""
	}
	if !names {
		return nil
	}
	var found []Finding
	for _, id := range sortedKeys(listing) {
		bed := listing[id]
		if bed.Type != Bed {
			continue
		}
		room, ok := listing[bed.ParentExternalID]
		var problem message.Message
		switch {
		case bed.ParentExternalID == "":
			problem.Kind = "bed.namesNoRoom"
		case !ok:
			problem = message.Message{Kind: "bed.roomNotListed", Params: message.Params{"room": bed.ParentExternalID}}
		case room.Type == Bed:
			problem = message.Message{Kind: "bed.inBed", Params: message.Params{"room": room.Name}}
		default:
			continue
		}
		found = append(found, Finding{BedWithoutRoom, id, message.Params{"bed": bed.Name, "problem": problem}})
	}
	return found
}

// newUnmappedSpaces returns a conflict for each active space without a mapping that appeared in the PMS's list or whose
// conflict is already open. appeared reports whether the space with an id is new in the list, or counts as new.
func newUnmappedSpaces(listing map[string]Listed, known Stored, appeared func(id string) bool) []Finding {
	mapped, open := make(map[string]bool, len(known.Mappings)), make(map[string]bool)
	for _, m := range known.Mappings {
		mapped[m.ExternalID] = true
	}
	for _, f := range known.Open {
		if f.Kind == NewUnmapped {
			open[f.ExternalID] = true
		}
	}
	var found []Finding
	for _, id := range sortedKeys(listing) {
		if s := listing[id]; s.IsActive && !mapped[id] && (open[id] || appeared(id)) {
			found = append(found, Finding{NewUnmapped, id, message.Params{"type": s.Type, "name": s.Name}})
		}
	}
	return found
}

// sortFindings sorts findings, the present conflicts, into those to open and those still open. It puts the conflicts of open, which were
// open before, into those to close if they are not among findings.
func (o *DiffResult) sortFindings(open, findings []Finding) {
	type key struct {
		kind Kind
		id   string
	}
	was, is := make(map[key]bool, len(open)), make(map[key]bool, len(findings))
	for _, f := range open {
		was[key{f.Kind, f.ExternalID}] = true
	}
	for _, f := range findings {
		k := key{f.Kind, f.ExternalID}
		if is[k] {
			continue
		}
		is[k] = true
		if was[k] {
			o.StillOpen = append(o.StillOpen, f)
		} else {
			o.Opened = append(o.Opened, f)
		}
	}
	for _, f := range open {
		if !is[key{f.Kind, f.ExternalID}] {
			o.Closed = append(o.Closed, f)
		}
	}
	for _, list := range [][]Finding{o.Opened, o.Closed, o.StillOpen} {
		slices.SortFunc(list, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ExternalID, b.ExternalID))
		})
	}
}

// indexByID returns the spaces of a list by their PMS ids.
func indexByID(listing []Listed) map[string]Listed {
	m := make(map[string]Listed, len(listing))
	for _, s := range listing {
		m[s.ExternalID] = s
	}
	return m
}
