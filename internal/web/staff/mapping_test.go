package staff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/space"
)

func TestArrange(t *testing.T) {
	dorm := "d"
	ordered := arrange([]*propertyv1.Space{
		{Id: "b2", Name: "Bed 10", ParentSpaceId: &dorm}, {Id: "r10", Name: "Room 10"}, {Id: "b1", Name: "Bed 2", ParentSpaceId: &dorm}, {Id: "r9", Name: "Room 9"}, {Id: "d", Name: "Dorm"},
	})
	var ids []string
	for _, s := range ordered {
		ids = append(ids, s.GetId())
	}
	if got := strings.Join(ids, " "); got != "d b1 b2 r9 r10" {
		t.Errorf("in the order %s", got)
	}
}

// pairs writes mappings as text.
func pairs(list []*propertyv1.Mapping) string {
	var texts []string
	for _, m := range list {
		texts = append(texts, m.GetExternalId()+">"+m.GetSpaceId())
	}
	return strings.Join(texts, " ")
}

func TestMappingChanges(t *testing.T) {
	for _, c := range []struct {
		name    string
		choices []spaceChoice
		want    string
		twice   string
	}{
		{name: "nothing changes", choices: []spaceChoice{{"s1", "X", "X"}, {"s2", "", ""}}},
		{name: "map", choices: []spaceChoice{{"s1", "", "X"}}, want: "X>s1"},
		{name: "unmap", choices: []spaceChoice{{"s1", "X", ""}}, want: "X>"},
		{name: "move", choices: []spaceChoice{{"s1", "X", "Y"}}, want: "Y>s1 X>"},
		{name: "swap", choices: []spaceChoice{{"s1", "X", "Y"}, {"s2", "Y", "X"}}, want: "Y>s1 X>s2"},
		{name: "hand over", choices: []spaceChoice{{"s1", "X", ""}, {"s2", "", "X"}}, want: "X>s2"},
		{name: "chosen twice", choices: []spaceChoice{{"s1", "X", "X"}, {"s2", "", "X"}}, twice: "X"},
	} {
		changes, twice := mappingChanges(c.choices)
		if got := pairs(changes); got != c.want || twice != c.twice {
			t.Errorf("%s: %q, twice %q", c.name, got, twice)
		}
	}
}

// The chip of a conflict agrees with the notice about it.
func TestConflictChips(t *testing.T) {
	want := map[space.Kind]string{
		space.Missing: "staff.conflict.unchanged", space.Inactive: "staff.conflict.unchanged", space.NewUnmapped: "staff.conflict.access", space.Unreadable: "staff.conflict.unreadable",
	}
	for _, kind := range space.Kinds {
		got := conflictRow{Conflict: &propertyv1.Conflict{Kind: string(kind)}}.Chip()
		if got.Text != cmp.Or(want[kind], "staff.conflict.differs") {
			t.Errorf("%s: %+v", kind, got)
		}
		checkTexts(t, got.Text)
	}
}

func TestCures(t *testing.T) {
	listed := []*propertyv1.PartnerSpace{{ExternalId: "old", Name: "204"}, {ExternalId: "new", Name: "204 new"}, {ExternalId: "n1", Name: "401"}}
	for _, c := range []struct {
		id, want string
		offered  []*propertyv1.Cure
	}{
		{"old", "sameName 204 new; unmap 204", []*propertyv1.Cure{{Kind: "sameName", ExternalId: "new"}, {Kind: "unmap"}}},
		{"n1", "map Suite 401; createSpace 401; notOurs 401", []*propertyv1.Cure{{Kind: "map", SpaceId: "s401", SpaceName: "Suite 401"}, {Kind: "createSpace"}, {Kind: "notOurs"}}},
		{"new", "accept 204 new", []*propertyv1.Cure{{Kind: "map"}, {Kind: "accept"}}},
		{"unknown", "unmap ", []*propertyv1.Cure{{Kind: "unmap"}}},
		{"", "", nil},
	} {
		var texts []string
		for _, cure := range curesOf(&propertyv1.Conflict{ExternalId: c.id, Cures: c.offered}, listed) {
			if !message.Has(cure.Text) {
				t.Errorf("%s has no text", cure.Text)
			}
			texts = append(texts, cure.GetKind()+" "+cure.Name)
		}
		if got := strings.Join(texts, "; "); got != c.want {
			t.Errorf("%s: %s", c.id, got)
		}
	}
}

// names writes new spaces as text.
func names(list []*propertyv1.NewSpace) string {
	var texts []string
	for _, s := range list {
		texts = append(texts, strings.TrimRight(fmt.Sprintf("%s %s/%s/%s", s.GetType(), s.GetName(), s.GetFloor(), s.GetParentName()), "/"))
	}
	return strings.Join(texts, "; ")
}

func TestRoomsOf(t *testing.T) {
	for _, c := range []struct {
		list, want string
		wrong      []int
	}{
		{list: "101\n\n 102 , 1 \nSuite\t3", want: "Room 101; Room 102/1; Room Suite/3"},
		{list: "Dorm 4: 2, 2", want: "Dorm Dorm 4/2; Bed Dorm 4-1/2/Dorm 4; Bed Dorm 4-2/2/Dorm 4"},
		{list: "Dorm 4: 2", want: "Dorm Dorm 4; Bed Dorm 4-1//Dorm 4; Bed Dorm 4-2//Dorm 4"},
		{list: "Dorm: many\n101\n: 3\nDorm: 0\nDorm: 51\n,1", want: "Room 101", wrong: []int{1, 3, 4, 5, 6}},
		{list: "101\x1b\t2\n102\t2", want: "Room 102/2", wrong: []int{1}},
		{list: ""},
	} {
		rooms, wrong := roomsOf(c.list)
		if got := names(rooms); got != c.want || !slices.Equal(wrong, c.wrong) {
			t.Errorf("%q: %s, wrong %v", c.list, got, wrong)
		}
	}
	// A list that is far too long is not read to its end.
	if rooms, _ := roomsOf(strings.Repeat("Dorm: 50\n", 5000)); len(rooms) <= maxRooms || len(rooms) > maxRooms+maxBeds+1 {
		t.Errorf("%d rooms of a list that is too long", len(rooms))
	}
}
