package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type spaceCommands struct {
	remote `embed:""`

	Create spaceCreate `cmd:"" help:"Create a room, a dorm, or beds in a dorm."`
	Import spaceImport `cmd:"" help:"Create many spaces from a CSV file, all or none."`
	List   spaceList   `cmd:"" help:"List rooms, dorms and beds."`
	Show   spaceShow   `cmd:"" help:"Show a space, who is in it, and who opened its door."`
	Set    spaceSet    `cmd:"" help:"Change a space."`
	Delete spaceDelete `cmd:"" help:"Delete a space that is not in use."`
}

type spaceCreate struct {
	Name  string `arg:"" help:"The space's name."`
	Type  string `required:"" enum:"Room,Dorm,Bed" placeholder:"TYPE" help:"Room, Dorm or Bed."`
	Floor string `help:"The floor."`
	Dorm  string `placeholder:"NAME" help:"The dorm of a bed, by name or id."`
	Beds  int    `placeholder:"N" help:"With --type Dorm: also create this many beds, with the names 1 to N."`
}

// Help returns examples for --help.
func (spaceCreate) Help() string {
	return `Examples:
  latchkey space create 101 --type Room --floor 1
  latchkey space create "Dorm A" --type Dorm --beds 4`
}

// mostBeds is how many beds one call can create together with their dorm: a call creates at most mostRows spaces.
const mostBeds = 499

// Run creates a room, a dorm or a bed, and with --beds also the beds of a dorm: all or none.
func (c *spaceCreate) Run(ctx context.Context, r *remote, io *streams) error {
	if c.Beds < 0 || c.Beds > mostBeds || c.Beds > 0 && c.Type != "Dorm" {
		return fmt.Errorf("--beds needs --type Dorm and must be 1 to %d", mostBeds)
	}
	first := &propertyv1.NewSpace{Type: c.Type, Name: c.Name, Floor: c.Floor}
	if strings.HasPrefix(c.Dorm, "spc_") {
		first.ParentSpaceId = c.Dorm
	} else {
		first.ParentName = c.Dorm
	}
	spaces := []*propertyv1.NewSpace{first}
	for i := range c.Beds {
		spaces = append(spaces, &propertyv1.NewSpace{Type: "Bed", Name: fmt.Sprint(i + 1), Floor: c.Floor, ParentName: c.Name})
	}
	return createSpaces(ctx, r, io, spaces)
}

// createSpaces creates spaces in one call, all or none, and prints them.
func createSpaces(ctx context.Context, r *remote, io *streams, spaces []*propertyv1.NewSpace) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewSpaceServiceClient(s.conn).BatchCreateSpaces(s, &propertyv1.BatchCreateSpacesRequest{Spaces: spaces})
		return s.printAnswer(answer, err, func() {
			s.printSpaces(answer.GetData().GetList())
			s.printNextSteps("latchkey lock list", "latchkey lock assign LOCK SPACE    assigns a lock to the door")
		})
	})
}

type spaceList struct {
	Type string `enum:",Room,Dorm,Bed" default:"" help:"Only spaces of this type: Room, Dorm or Bed."`
}

// Run lists the spaces of the property, with --type only those of one type.
func (c *spaceList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		all, err := s.allSpaces(c.Type)
		if err != nil {
			return err
		}
		return s.printAnswer(&propertyv1.ListSpacesResponse{Data: &propertyv1.SpaceList{List: all, Total: int32(len(all))}}, nil, func() { s.printSpaces(all) })
	})
}

// allSpaces loads all spaces of the property of a type: Room, Dorm or Bed; "": all types.
func (s *session) allSpaces(kind string) ([]*propertyv1.Space, error) {
	return allPages(func(token string) (*propertyv1.SpaceList, error) {
		answer, err := propertyv1.NewSpaceServiceClient(s.conn).ListSpaces(s, &propertyv1.ListSpacesRequest{Type: kind, PageSize: 200, PageToken: token})
		return answer.GetData(), err
	})
}

type spaceSet struct {
	ID      string  `arg:"" name:"space" help:"The space's name (a bed also as DORM/BED) or id (spc_...)."`
	Name    *string `help:"The space's name."`
	Floor   *string `help:"The floor."`
	Type    *string `help:"Room or Dorm."`
	Dorm    *string `placeholder:"DORM" help:"The dorm of a bed, by name or id."`
	Private *bool   `negatable:"" help:"One party rents the space as a whole."`
	Active  *bool   `negatable:"" help:"An inactive space gives no access."`
}

// Run changes a space: only what the flags give. It fails without a flag.
func (c *spaceSet) Run(ctx context.Context, r *remote, io *streams) error {
	if *c == (spaceSet{ID: c.ID}) {
		return errNothing
	}
	return r.asStaffOn(ctx, io, aSpace, &c.ID, func(s *session) error {
		if c.Dorm != nil {
			if err := s.resolve(aSpace, c.Dorm); err != nil {
				return err
			}
		}
		answer, err := propertyv1.NewSpaceServiceClient(s.conn).UpdateSpace(s, &propertyv1.UpdateSpaceRequest{
			Id: c.ID, Name: c.Name, Floor: c.Floor, Type: c.Type, ParentSpaceId: c.Dorm, IsPrivate: c.Private, IsActive: c.Active,
		})
		return s.printAnswer(answer, err, func() { s.printSpaces([]*propertyv1.Space{answer.GetData()}) })
	})
}

type spaceDelete struct {
	ID string `arg:"" name:"space" help:"The space's name (a bed also as DORM/BED) or id (spc_...)."`
}

// Run deletes a space. The server refuses one with beds, a lock or a mapping, and the only space of a gate.
func (c *spaceDelete) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aSpace, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewSpaceServiceClient(s.conn).DeleteSpace(s, &propertyv1.DeleteSpaceRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() {
			s.say("Deleted %s, %s.", c.ID, spaceText(answer.GetData().GetParentName(), answer.GetData().GetName()))
		})
	})
}

// printSpaces prints a table of spaces in natural order, with beds after their dorm.
func (s *session) printSpaces(list []*propertyv1.Space) {
	names := map[string]string{}
	for _, sp := range list {
		names[sp.GetId()] = sp.GetName()
	}
	var rows [][]string
	for _, sp := range sortedSpaces(list) {
		dorm := cmp.Or(names[sp.GetParentSpaceId()], sp.GetParentName(), sp.GetParentSpaceId())
		rows = append(rows, []string{sp.GetId(), sp.GetType(), sp.GetName(), dash(sp.GetFloor()), dash(dorm), yesOrNo(sp.GetIsPrivate()), yesOrNo(sp.GetIsActive()), dash(sp.GetLockId())})
	}
	s.printTable("There is no space yet. Create one with: latchkey space create 101 --type Room",
		[]string{"id", "type", "name", "floor", "dorm", "private", "active", "lock"}, rows)
}
