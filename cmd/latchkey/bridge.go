package main

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type bridgeCommands struct {
	remote `embed:""`

	Create   bridgeCreate   `cmd:"" help:"Create a bridge and its join code."`
	JoinCode bridgeJoinCode `cmd:"" help:"Make a new join code for a bridge."`
	List     bridgeList     `cmd:"" help:"List bridges and whether they are connected."`
	Revoke   bridgeRevoke   `cmd:"" help:"Revoke a bridge. It loses its connection within seconds."`
}

type bridgeCreate struct {
	Name string `arg:"" help:"The bridge's name."`
}

func (bridgeCreate) Help() string {
	return `Example:
  latchkey bridge create Reception`
}

// Run creates a bridge and prints its join code, which is shown only this once, with the end of its validity.
func (c *bridgeCreate) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewBridgeServiceClient(s.conn).CreateBridge(s, &propertyv1.CreateBridgeRequest{Name: c.Name})
		return s.printAnswer(answer, err, func() {
			s.say("Created %s: %s.", answer.GetData().GetId(), answer.GetData().GetName())
			s.sayNamesakes(aBridge, answer.GetData().GetId(), answer.GetData().GetName())
			s.printJoinCode(answer.GetJoinCode(), answer.GetJoinCodeExpiresAt())
		})
	})
}

type bridgeJoinCode struct {
	ID string `arg:"" name:"bridge" help:"The bridge's name or id (brg_...)."`
}

// Run creates a new join code for an existing bridge, with which a machine can be enrolled as this bridge. An earlier code ends.
func (c *bridgeJoinCode) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aBridge, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewBridgeServiceClient(s.conn).CreateJoinCode(s, &propertyv1.CreateJoinCodeRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.printJoinCode(answer.GetJoinCode(), answer.GetJoinCodeExpiresAt()) })
	})
}

// printJoinCode prints a join code and the command to type at the bridge before the time until.
func (s *session) printJoinCode(code string, until *timestamppb.Timestamp) {
	s.printSecret("join code", code, "; valid for one enrolment, until "+formatTime(until))
	s.printNextSteps(
		"On the machine near the locks: latchkey-bridge enroll, with this code (latchkey-bridge enroll --help)",
		"latchkey bridge list    shows when it is online; latchkey lock list shows its locks",
	)
}

type bridgeList struct{}

// Run lists the bridges of the property, also revoked ones, and whether they are connected.
func (*bridgeList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewBridgeServiceClient(s.conn).ListBridges(s, &propertyv1.ListBridgesRequest{})
		return s.printAnswer(answer, err, func() {
			var rows [][]string
			for _, b := range answer.GetData().GetList() {
				state := b.GetState()
				if b.GetOfflineReason() != "" {
					state += " (" + b.GetOfflineReason() + ")"
				}
				rows = append(rows, []string{b.GetId(), b.GetName(), state, fmt.Sprint(b.GetLocks()), formatTime(b.GetLastSeenAt()), dash(b.GetSoftware())})
			}
			s.printTable(`There is no bridge yet. Create one with: latchkey bridge create Reception`,
				[]string{"id", "name", "state", "locks", "last seen", "software"}, rows)
		})
	})
}

// bridgeNames returns the names of the bridges of a property by their ids, for a table of locks. A name that several bridges have is left
// out. If there are no locks, or the bridges cannot be loaded, it returns no names: the table then has ids.
func (s *session) bridgeNames(locks []*propertyv1.Lock) map[string]string {
	if len(locks) == 0 {
		return nil
	}
	list, err := aBridge.list(s)
	if err != nil {
		return nil
	}
	names := map[string]string{}
	for _, b := range list {
		if len(matching(list, func(c candidate) bool { return alike(c.names[0], b.names[0]) })) == 1 {
			names[b.id] = b.names[0]
		}
	}
	return names
}

type bridgeRevoke struct {
	ID string `arg:"" name:"bridge" help:"The bridge's name or id (brg_...)."`
}

// Help returns what --help adds: that codes stay on the locks, and how to remove them.
func (bridgeRevoke) Help() string {
	return `Codes on its locks stay there, because no bridge can remove them. Remove them at the locks, or enrol a new machine with: latchkey bridge join-code BRIDGE`
}

// Run revokes a bridge, which loses its connection within seconds. Codes on its locks stay there, and it prints how many
// locks that concerns.
func (c *bridgeRevoke) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aBridge, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewBridgeServiceClient(s.conn).RevokeBridge(s, &propertyv1.RevokeBridgeRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() {
			s.say("Revoked %s, %s.", c.ID, answer.GetData().GetName())
			if n := int(answer.GetData().GetLocks()); n > 0 {
				s.say("It drove %s. Codes on its locks stay there.", formatCount(n, "lock"))
			}
			s.printNextSteps("latchkey bridge join-code " + c.ID + "    enrols another machine in its place")
		})
	})
}
