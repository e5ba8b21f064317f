package main

import (
	"context"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type gateCommands struct {
	remote `embed:""`

	Create gateCreate `cmd:"" help:"Create a gate."`
	List   gateList   `cmd:"" help:"List gates."`
	Set    gateSet    `cmd:"" help:"Change a gate."`
	Delete gateDelete `cmd:"" help:"Delete a gate without a lock."`
}

type gateCreate struct {
	Name  string   `arg:"" help:"The gate's name."`
	Floor string   `help:"The floor."`
	Space []string `placeholder:"SPACE" help:"A space whose guests may open the gate, by name or id. Repeat for more. Left out: guests of all spaces."`
}

// Help returns examples for --help.
func (gateCreate) Help() string {
	return `Examples:
  latchkey gate create "Main entrance"
  latchkey gate create "Second floor" --space 201 --space 202`
}

// Run creates a gate (a door that several spaces share). Without --space, guests of all spaces may open it.
func (c *gateCreate) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		if err := s.resolveAll(aSpace, c.Space); err != nil {
			return err
		}
		answer, err := propertyv1.NewGateServiceClient(s.conn).CreateGate(s, &propertyv1.CreateGateRequest{Name: c.Name, Floor: c.Floor, SpaceIds: c.Space})
		return s.printAnswer(answer, err, func() {
			s.printGates([]*propertyv1.Gate{answer.GetData()})
			s.printNextSteps("latchkey lock assign LOCK " + answer.GetData().GetId() + "    assigns a lock to it (latchkey lock list)")
		})
	})
}

type gateList struct{}

// Run lists the gates of the property.
func (*gateList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewGateServiceClient(s.conn).ListGates(s, &propertyv1.ListGatesRequest{})
		return s.printAnswer(answer, err, func() { s.printGates(answer.GetData().GetList()) })
	})
}

type gateSet struct {
	ID    string   `arg:"" name:"gate" help:"The gate's name or id (gat_...)."`
	Name  *string  `help:"The gate's name."`
	Floor *string  `help:"The floor."`
	Space []string `placeholder:"SPACE" xor:"spaces" help:"Replace the spaces whose guests may open the gate."`
	All   bool     `xor:"spaces" help:"Guests of all spaces may open the gate."`
}

// Run changes a gate: only what the flags give. It fails without a flag.
func (c *gateSet) Run(ctx context.Context, r *remote, io *streams) error {
	if c.Name == nil && c.Floor == nil && len(c.Space) == 0 && !c.All {
		return errNothing
	}
	return r.asStaffOn(ctx, io, aGate, &c.ID, func(s *session) error {
		if err := s.resolveAll(aSpace, c.Space); err != nil {
			return err
		}
		req := &propertyv1.UpdateGateRequest{Id: c.ID, Name: c.Name, Floor: c.Floor}
		if c.All || len(c.Space) > 0 {
			req.Spaces = &propertyv1.SpaceIds{Ids: c.Space}
		}
		answer, err := propertyv1.NewGateServiceClient(s.conn).UpdateGate(s, req)
		return s.printAnswer(answer, err, func() { s.printGates([]*propertyv1.Gate{answer.GetData()}) })
	})
}

type gateDelete struct {
	ID string `arg:"" name:"gate" help:"The gate's name or id (gat_...)."`
}

// Run deletes a gate. The server refuses one that has a lock.
func (c *gateDelete) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aGate, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewGateServiceClient(s.conn).DeleteGate(s, &propertyv1.DeleteGateRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.say("Deleted %s, %s.", c.ID, answer.GetData().GetName()) })
	})
}

// printGates prints a table of gates, which are doors that several spaces share.
func (s *session) printGates(list []*propertyv1.Gate) {
	var rows [][]string
	for _, g := range list {
		spaces := "all"
		if len(g.GetSpaceIds()) > 0 {
			spaces = strings.Join(g.GetSpaceIds(), " ")
		}
		rows = append(rows, []string{g.GetId(), g.GetName(), dash(g.GetFloor()), dash(g.GetLockId()), spaces})
	}
	s.printTable(`There is no gate yet. Create one with: latchkey gate create "Main entrance"`, []string{"id", "name", "floor", "lock", "opens for guests of"}, rows)
}
