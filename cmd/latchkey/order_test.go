package main

import (
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

func TestSpacesAreInNaturalOrder(t *testing.T) {
	space := func(id, kind, name, dorm string) *propertyv1.Space {
		return &propertyv1.Space{Id: id, Type: kind, Name: name, ParentSpaceId: &dorm}
	}
	list := []*propertyv1.Space{
		space("a", "Bed", "1", "d"), space("b", "Room", "101", ""), space("c", "Bed", "10", "d"), space("e", "Room", "12", ""), space("f", "Room", "2", ""),
		space("g", "Bed", "2", "d"), space("h", "Room", "Annex 007", ""), space("d", "Dorm", "Dorm A", ""), space("i", "Room", "annex 10", ""),
		space("j", "Bed", "1", "elsewhere"),
	}
	var got []string
	for _, sp := range sortedSpaces(list) {
		got = append(got, sp.GetId())
	}
	if want := "j f e b h i d a g c"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if list[0].GetId() != "a" {
		t.Error("the answer itself was sorted")
	}
}
