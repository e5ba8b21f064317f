package e2e

import (
	"html"
	"net/http"
	"slices"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/space"
)

// conflicts drives the conflicts between the rooms of a property and those of the sandbox's PMS.
type conflicts struct {
	*testing.T
	w       *e2etest.World
	mapping propertyv1.MappingServiceClient
}

// read makes the service read what the PMS lists now.
func (c conflicts) read(spaces []sandbox.Space) {
	c.Helper()
	c.w.PMS.SetSpaces(spaces)
	_, _ = propertyv1.NewIntegrationServiceClient(c.w.Public).ReadSpaces(c.w.Staff(c.Context()), &propertyv1.ReadSpacesRequest{Id: c.w.IntegrationID})
}

// open returns the open conflicts.
func (c conflicts) open() []*propertyv1.Conflict {
	c.Helper()
	found, err := c.mapping.ListConflicts(c.w.Staff(c.Context()), &propertyv1.ListConflictsRequest{IntegrationId: c.w.IntegrationID})
	if err != nil {
		c.Fatal(err)
	}
	return found.GetData().GetList()
}

// only fails the test unless one conflict of a kind is open, and returns it.
func (c conflicts) only(what, kind string) *propertyv1.Conflict {
	c.Helper()
	all := c.open()
	if len(all) != 1 || all[0].GetKind() != kind {
		c.Fatalf("%s: open are %v, want one of the kind %s", what, all, kind)
	}
	return all[0]
}

func (c conflicts) none(what string) {
	c.Helper()
	if all := c.open(); len(all) > 0 {
		c.Fatalf("%s: open are %v", what, all)
	}
}

// notices returns how many notices of a kind the property has.
func (c conflicts) notices(kind string) (n int) {
	c.Helper()
	found, err := propertyv1.NewNoticeServiceClient(c.w.Public).ListNotices(c.w.Staff(c.Context()), &propertyv1.ListNoticesRequest{PageSize: 200})
	if err != nil {
		c.Fatal(err)
	}
	for _, one := range found.GetData().GetList() {
		if one.GetKind() == kind {
			n++
		}
	}
	return n
}

// attic is a second dorm of the PMS, to which a bed can move.
const attic = "D9"

// spacesWithAttic returns what the PMS lists between the rows of TestConflictKinds.
func spacesWithAttic() []sandbox.Space {
	return append(sandbox.PMSSpaces(), sandbox.Space{ID: attic, Type: "Dorm", Name: "Attic", IsActive: true})
}

// addAttic creates the dorm in the property too, with a free bed of the same name as D4-A, and maps the dorm.
func (c conflicts) addAttic() {
	c.Helper()
	ctx, spaces := c.w.Staff(c.Context()), propertyv1.NewSpaceServiceClient(c.w.Public)
	dorm, err := spaces.CreateSpace(ctx, &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Dorm", Name: "Attic"}})
	if err != nil {
		c.Fatal(err)
	}
	id := dorm.GetData().GetId()
	if _, err := spaces.CreateSpace(ctx, &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Bed", Name: "Bed A", ParentSpaceId: id}}); err != nil {
		c.Fatal(err)
	}
	c.read(spacesWithAttic())
	if _, err := c.mapping.SetMapping(ctx, &propertyv1.SetMappingRequest{IntegrationId: c.w.IntegrationID, ExternalId: attic, SpaceId: id}); err != nil {
		c.Fatal(err)
	}
}

// change returns the rooms of the PMS after a change of the one with an id.
func change(id string, f func(*sandbox.Space)) func() []sandbox.Space {
	return func() []sandbox.Space {
		all := spacesWithAttic()
		f(&all[slices.IndexFunc(all, func(s sandbox.Space) bool { return s.ID == id })])
		return all
	}
}

// TestConflictKinds makes the PMS cause each kind of conflict. Staff see it and are notified once. A cure closes it, and the undo of the cure
// opens it again. Kinds without a cure end when the PMS mends what it lists.
func TestConflictKinds(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	c := conflicts{t, w, propertyv1.NewMappingServiceClient(w.Public)}
	c.addAttic()
	c.none("at first")
	tried := map[space.Kind]bool{}
	for _, tt := range []struct {
		kind, cure string // cure: empty if only the PMS can end it
		listed     func() []sandbox.Space
		readings   int // after which it is open
	}{
		{"missing", "unmap", func() []sandbox.Space { return spacesWithAttic()[1:] }, 1},
		{"inactive", "unmap", change("R101", func(s *sandbox.Space) { s.IsActive = false }), 1},
		{"renamed", "accept", change("R101", func(s *sandbox.Space) { s.Name = "Sea view" }), 1},
		{"retyped", "accept", change("R102", func(s *sandbox.Space) { s.Type = "Dorm" }), 1},
		{"moved", "map", change("D4-A", func(s *sandbox.Space) { s.ParentID = attic }), 1},
		{"bedWithoutRoom", "", change("D4-A", func(s *sandbox.Space) { s.ParentID = "D8" }), 1},
		{"duplicateId", "", func() []sandbox.Space { return append(spacesWithAttic(), spacesWithAttic()[0]) }, 1},
		{"unreadable", "", func() []sandbox.Space { return []sandbox.Space{} }, 3},
		{"newUnmapped", "createSpace", func() []sandbox.Space {
			return append(spacesWithAttic(), sandbox.Space{ID: "S401", Type: "Room", Name: "Suite 401", IsPrivate: true, IsActive: true})
		}, 1},
	} {
		noticeKind := "mapping" + strings.ToUpper(tt.kind[:1]) + tt.kind[1:]
		tried[space.Kind(tt.kind)] = true
		earlier := c.notices(noticeKind)
		for range tt.readings {
			c.none("before " + tt.kind)
			c.read(tt.listed())
		}
		found := c.only("after the reading", tt.kind)
		if a := s.do(http.MethodGet, "/app/spaces", nil); !strings.Contains(html.UnescapeString(a.text), found.GetDetail()) {
			t.Errorf("%s: the page lacks %q", tt.kind, found.GetDetail())
		}
		if len(found.GetParameters().GetFields()) == 0 {
			t.Errorf("%s: the conflict has no parameters", tt.kind)
		}
		c.read(tt.listed())
		if again := c.only("after the same reading", tt.kind); again.GetId() != found.GetId() {
			t.Errorf("%s: another reading opens another conflict", tt.kind)
		}
		if n := c.notices(noticeKind) - earlier; n != 1 {
			t.Errorf("%s: %d notices", tt.kind, n)
		}
		if tt.cure != "" {
			cured, err := c.mapping.ApplyCure(w.Staff(t.Context()), &propertyv1.ApplyCureRequest{ConflictId: found.GetId(), Kind: tt.cure})
			if err != nil {
				t.Fatalf("%s: %v", tt.kind, err)
			}
			c.none("after the cure of " + tt.kind)
			if _, err := c.mapping.UndoMappingChange(w.Staff(t.Context()), &propertyv1.UndoMappingChangeRequest{Id: cured.GetChangeId()}); err != nil {
				t.Fatalf("undo the cure of %s: %v", tt.kind, err)
			}
			c.only("after the undo", tt.kind)
		}
		c.read(spacesWithAttic())
		c.none("after the PMS mended " + tt.kind)
	}
	for _, kind := range space.Kinds {
		if !tried[kind] {
			t.Errorf("no row makes a conflict of the kind %s", kind)
		}
	}
}
