package space

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent/schema"
)

func mappedAs(externalID, spaceID string) Mapped {
	return Mapped{ExternalID: externalID, SpaceID: spaceID, Name: "Name of " + externalID, Type: Room}
}

// inRoom returns what a mapping of a bed is mapped to, with the PMS's room.
func inRoom(externalID, spaceID, room string) *schema.MappedSpace {
	m := at(externalID, spaceID)
	m.Room = room
	return m
}

// at returns what a mapping of mappedAs is mapped to; nil for none.
func at(externalID, spaceID string) *schema.MappedSpace {
	if spaceID == "" {
		return nil
	}
	return &schema.MappedSpace{SpaceID: spaceID, Name: "Name of " + externalID, Type: Room}
}

func change(externalID, before, after string) Changed {
	return Changed{ExternalID: externalID, Before: at(externalID, before), After: at(externalID, after)}
}

func TestDiffMappings(t *testing.T) {
	renamed := mappedAs("a", "s1")
	renamed.Name = "New name"
	for _, step := range []struct {
		name          string
		before, after []Mapped
		want          []Changed
	}{
		{"nothing", []Mapped{mappedAs("a", "s1")}, []Mapped{mappedAs("a", "s1")}, nil},
		{"set", nil, []Mapped{mappedAs("a", "s1")}, []Changed{change("a", "", "s1")}},
		{"unset", []Mapped{mappedAs("a", "s1")}, nil, []Changed{change("a", "s1", "")}},
		{"moved and traded", []Mapped{mappedAs("a", "s1"), mappedAs("b", "s2")}, []Mapped{mappedAs("b", "s1"), mappedAs("a", "s2")},
			[]Changed{change("a", "s1", "s2"), change("b", "s2", "s1")}},
		{"accepted a name", []Mapped{mappedAs("a", "s1")}, []Mapped{renamed},
			[]Changed{{ExternalID: "a", Before: at("a", "s1"), After: &schema.MappedSpace{SpaceID: "s1", Name: "New name", Type: Room}}}},
	} {
		if diff := cmp.Diff(step.want, diffMappings(step.before, step.after)); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
}

func TestPlanUndo(t *testing.T) {
	exists := func(spaceID string) bool { return spaceID != "deleted" }
	for _, step := range []struct {
		name    string
		change  []Changed
		now     []Mapped
		restore map[string]*schema.MappedSpace
		refused []difference
	}{
		{"a set one", []Changed{change("a", "", "s1")}, []Mapped{mappedAs("a", "s1"), mappedAs("z", "s9")}, map[string]*schema.MappedSpace{"a": nil}, nil},
		{"a removed one", []Changed{change("a", "s1", "")}, nil, map[string]*schema.MappedSpace{"a": at("a", "s1")}, nil},
		{"a moved one", []Changed{change("a", "s1", "s2")}, []Mapped{mappedAs("a", "s2")}, map[string]*schema.MappedSpace{"a": at("a", "s1")}, nil},
		{"two traded", []Changed{change("a", "s1", "s2"), change("b", "s2", "s1")}, []Mapped{mappedAs("a", "s2"), mappedAs("b", "s1")},
			map[string]*schema.MappedSpace{"a": at("a", "s1"), "b": at("b", "s2")}, nil},
		{"moved again", []Changed{change("a", "s1", "s2")}, []Mapped{mappedAs("a", "s3")}, nil, []difference{{changedSince, "a", "s3"}}},
		{"removed since", []Changed{change("a", "", "s1")}, nil, nil, []difference{{changedSince, "a", ""}}},
		{"undone already", []Changed{change("a", "s1", "")}, []Mapped{mappedAs("a", "s1")}, nil, []difference{{changedSince, "a", "s1"}}},
		{"a name accepted since", []Changed{change("a", "s1", "s2")}, []Mapped{{ExternalID: "a", SpaceID: "s2", Name: "New name", Type: Room}}, nil,
			[]difference{{changedSince, "a", "s2"}}},
		{"a room learned since", []Changed{{ExternalID: "a", Before: at("a", "s1"), After: inRoom("a", "s2", "d1")}}, []Mapped{{ExternalID: "a", SpaceID: "s2", Name: "Name of a", Type: Room, ParentExternalID: "d9"}},
			map[string]*schema.MappedSpace{"a": inRoom("a", "s1", "d9")}, nil},
		{"the former space is taken", []Changed{change("a", "s1", "")}, []Mapped{mappedAs("b", "s1")}, nil, []difference{{spaceTaken, "b", "s1"}}},
		{"the former space is deleted", []Changed{change("a", "deleted", "s2")}, []Mapped{mappedAs("a", "s2")}, nil, []difference{{spaceDeleted, "a", "deleted"}}},
		{"one of two differs", []Changed{change("a", "s1", ""), change("b", "s2", "s3")}, []Mapped{mappedAs("b", "s4")}, nil, []difference{{changedSince, "b", "s4"}}},
	} {
		restore, refused := planUndo(step.change, step.now, exists)
		if diff := cmp.Diff(step.restore, restore); diff != "" {
			t.Errorf("%s: restores: %s", step.name, diff)
		}
		if diff := cmp.Diff(step.refused, refused); diff != "" {
			t.Errorf("%s: refuses: %s", step.name, diff)
		}
	}
}

func TestCuresOf(t *testing.T) {
	kinds := func(cures []Cure) (all []CureKind) {
		for _, c := range cures {
			all = append(all, c.Kind)
		}
		return all
	}
	for _, step := range []struct {
		kind      Kind
		listed    Listed
		suggested string
		want      []CureKind
		same      []string // the PMS's spaces of the same name
		replaces  bool     // it has the name of a space that is gone
	}{
		{NewUnmapped, room("1", "101"), "spc_1", []CureKind{CureMap, CureCreateSpace, CureNotOurs}, nil, false},
		{NewUnmapped, room("1", "101"), "", []CureKind{CureMap, CureCreateSpace, CureNotOurs}, nil, false},
		{NewUnmapped, bed("1", "A", "d"), "", []CureKind{CureMap, CureNotOurs}, nil, false},
		{NewUnmapped, room("1", "101"), "", []CureKind{CureMap, CureNotOurs}, nil, true},
		{Renamed, room("1", "101"), "", []CureKind{CureAccept, CureUnmap}, nil, false},
		{Retyped, room("1", "101"), "", []CureKind{CureAccept, CureUnmap}, nil, false},
		{Moved, bed("1", "A", "d"), "", []CureKind{CureAccept, CureUnmap}, nil, false},
		{Moved, bed("1", "A", "d"), "spc_1", []CureKind{CureMap, CureAccept, CureUnmap}, nil, false},
		{Inactive, room("1", "101"), "", []CureKind{CureUnmap}, nil, false},
		{Missing, Listed{}, "", []CureKind{CureUnmap}, nil, false},
		{Missing, Listed{}, "", []CureKind{CureSameName, CureSameName, CureUnmap}, []string{"7", "8"}, false},
		{BedWithoutRoom, bed("1", "A", ""), "", nil, nil, false},
		{DuplicateID, room("1", "101"), "", nil, nil, false},
		{Unreadable, Listed{}, "", nil, nil, false},
	} {
		got := curesOf(step.kind, step.listed, step.suggested, step.same, step.replaces)
		if diff := cmp.Diff(step.want, kinds(got)); diff != "" {
			t.Errorf("%s: %s", step.kind, diff)
		}
		if step.suggested != "" && got[0].SpaceID != step.suggested {
			t.Errorf("%s suggests %q", step.kind, got[0].SpaceID)
		}
	}
}
