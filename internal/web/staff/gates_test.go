package staff

import (
	"slices"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

func TestGatesOf(t *testing.T) {
	dorm := "d"
	all := []*propertyv1.Gate{{Name: "Front door"}, {Name: "Sauna", SpaceIds: []string{"r1"}}, {Name: "Wing", SpaceIds: []string{"d", "r2"}}}
	for _, c := range []struct {
		space *propertyv1.Space
		want  []string
	}{
		{&propertyv1.Space{Id: "r1"}, []string{"Front door", "Sauna"}},
		{&propertyv1.Space{Id: "r3"}, []string{"Front door"}},
		{&propertyv1.Space{Id: "d"}, []string{"Front door", "Wing"}},
		{&propertyv1.Space{Id: "b1", ParentSpaceId: &dorm}, []string{"Front door", "Wing"}},
	} {
		var names []string
		for _, g := range gatesOf(c.space, all) {
			names = append(names, g.GetName())
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%s opens %v", c.space.GetId(), names)
		}
	}
}
