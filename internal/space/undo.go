package space

import (
	"maps"
	"slices"

	"latchkey.dev/ent/schema"
)

// MappedSpace is what a space of a PMS is mapped to. Changed is what a change did to the mapping of one space of a PMS.
type (
	MappedSpace = schema.MappedSpace
	Changed     = schema.ChangedMapping
)

// diffMappings returns what changed between two states of an integration's mapping.
func diffMappings(before, after []Mapped) []Changed {
	was, is := indexMapped(before), indexMapped(after)
	all := maps.Clone(was)
	maps.Copy(all, is)
	var changed []Changed
	for _, externalID := range sortedKeys(all) {
		b, a := mappedSpace(was, externalID), mappedSpace(is, externalID)
		if !sameMapped(a, b) {
			changed = append(changed, Changed{ExternalID: externalID, Before: b, After: a})
		}
	}
	return changed
}

// Reasons why a change cannot be undone.
const (
	changedSince = "changedSince" // the mapping of the space was changed again
	spaceTaken   = "spaceTaken"   // another space of the PMS is mapped to the former space now
	spaceDeleted = "spaceDeleted" // the former space does not exist any more
)

// difference is why a change cannot be undone.
type difference struct {
	Reason     string
	ExternalID string // ExternalID is the PMS's space whose mapping was changed, takes the former space, or had the deleted one
	SpaceID    string // SpaceID is what ExternalID is mapped to now, or the deleted space; empty if it is not mapped
}

// planUndo returns, by PMS id, the mappings that undo a change; nil means no mapping. now are the present mappings. If a mapping that the
// change set was changed since, or a former space is deleted or taken, it returns only the differences, and the caller must undo nothing.
// exists reports whether the property has a space with an id.
func planUndo(change []Changed, now []Mapped, exists func(spaceID string) bool) (restore map[string]*MappedSpace, differences []difference) {
	is, holders := indexMapped(now), map[string]string{}
	for _, m := range now {
		holders[m.SpaceID] = m.ExternalID
	}
	own := func(externalID string) bool {
		return slices.ContainsFunc(change, func(c Changed) bool { return c.ExternalID == externalID })
	}
	restore = map[string]*MappedSpace{}
	for _, c := range change {
		present := mappedSpace(is, c.ExternalID)
		restore[c.ExternalID] = withRoom(c.Before, present)
		switch {
		case !sameTarget(present, c.After):
			d := difference{Reason: changedSince, ExternalID: c.ExternalID}
			if present != nil {
				d.SpaceID = present.SpaceID
			}
			differences = append(differences, d)
		case c.Before == nil:
		case !exists(c.Before.SpaceID):
			differences = append(differences, difference{spaceDeleted, c.ExternalID, c.Before.SpaceID})
		case holders[c.Before.SpaceID] != "" && !own(holders[c.Before.SpaceID]):
			differences = append(differences, difference{spaceTaken, holders[c.Before.SpaceID], c.Before.SpaceID})
		}
	}
	if len(differences) > 0 {
		return nil, differences
	}
	return restore, nil
}

// indexMapped returns mappings by their PMS ids.
func indexMapped(all []Mapped) map[string]Mapped {
	by := make(map[string]Mapped, len(all))
	for _, m := range all {
		by[m.ExternalID] = m
	}
	return by
}

// mappedSpace returns what a PMS space is mapped to, or nil.
func mappedSpace(by map[string]Mapped, externalID string) *MappedSpace {
	m, ok := by[externalID]
	if !ok {
		return nil
	}
	return &MappedSpace{SpaceID: m.SpaceID, Name: m.Name, Type: m.Type, Room: m.ParentExternalID}
}

// withRoom returns the mapping former of a bed. If it has no room, because the PMS sent none at that time, it gets the room of present.
func withRoom(former, present *MappedSpace) *MappedSpace {
	if former == nil || present == nil || former.Room != "" {
		return former
	}
	out := *former
	out.Room = present.Room
	return &out
}

// sameTarget reports whether two mappings of a PMS space are equal; nil means no mapping. It ignores the room of a bed, because reading the
// PMS's spaces can fill it in: see roomsToStore.
func sameTarget(a, b *MappedSpace) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.SpaceID == b.SpaceID && a.Name == b.Name && a.Type == b.Type
}

// sameMapped reports whether two mappings of a PMS space are equal; nil means no mapping. A room that is known in only one of them is no
// difference.
func sameMapped(a, b *MappedSpace) bool {
	return sameTarget(a, b) && (a == nil || a.Room == b.Room || a.Room == "" || b.Room == "")
}
