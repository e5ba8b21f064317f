package main

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type kioskCommands struct {
	remote `embed:""`

	Create kioskCreate `cmd:"" help:"Create a kiosk and the code that enrols its tablet."`
	List   kioskList   `cmd:"" help:"List kiosks and whether their tablets call."`
	Reset  kioskReset  `cmd:"" help:"End a tablet's credential and make a new code."`
	Delete kioskDelete `cmd:"" help:"Delete a kiosk. Its tablet loses access at once."`
}

type kioskCreate struct {
	Name string `arg:"" help:"The kiosk's name, such as Lobby."`
}

func (kioskCreate) Help() string {
	return `Example:
  latchkey kiosk create Lobby`
}

// Run creates a kiosk and prints the code that enrols its tablet.
func (c *kioskCreate) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewKioskServiceClient(s.conn).CreateKiosk(s, &propertyv1.CreateKioskRequest{Name: c.Name})
		return s.printAnswer(answer, err, func() {
			s.say("Created %s: %s.", answer.GetData().GetId(), answer.GetData().GetName())
			s.printKioskCode(answer.GetData(), answer.GetCode(), answer.GetCodeExpiresAt())
		})
	})
}

// printKioskCode prints the code that enrols a check-in tablet as the kiosk k. Staff type the code at the tablet before the time until.
func (s *session) printKioskCode(k *propertyv1.Kiosk, code string, until *timestamppb.Timestamp) {
	s.printSecret("enrolment code", code, "; valid for one tablet, until "+formatTime(until))
	s.printNextSteps(
		"On the tablet: open /k/enrol of the server's public address and type the code",
		"For a QR code at the door: /q/"+k.GetDoor()+" of the same address starts the check-in on a guest's phone",
	)
}

type kioskList struct{}

func (kioskList) Help() string {
	return `Example:
  latchkey kiosk list`
}

// Run lists the kiosks of the property, and when the tablet of each last called.
func (*kioskList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewKioskServiceClient(s.conn).ListKiosks(s, &propertyv1.ListKiosksRequest{})
		return s.printAnswer(answer, err, func() {
			var rows [][]string
			for _, k := range answer.GetData().GetList() {
				rows = append(rows, []string{k.GetId(), k.GetName(), k.GetState(), formatTime(k.GetSeenAt()), "/q/" + k.GetDoor()})
			}
			s.printTable("There is no kiosk yet. Create one with: latchkey kiosk create Lobby", []string{"id", "name", "state", "last seen", "QR code"}, rows)
		})
	})
}

type kioskReset struct {
	ID string `arg:"" name:"kiosk" help:"The kiosk's name or id (ksk_...)."`
}

// Help returns what --help adds: that the tablet must be enrolled again, and an example.
func (kioskReset) Help() string {
	return `The tablet must be enrolled again, with the new code. Example:
  latchkey kiosk reset Lobby`
}

// Run ends the credential of a kiosk's tablet and the sessions of guests on it. It prints a new code, with which a tablet must be enrolled
// again.
func (c *kioskReset) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aKiosk, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewKioskServiceClient(s.conn).ResetKiosk(s, &propertyv1.ResetKioskRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.printKioskCode(answer.GetData(), answer.GetCode(), answer.GetCodeExpiresAt()) })
	})
}

type kioskDelete struct {
	ID string `arg:"" name:"kiosk" help:"The kiosk's name or id (ksk_...)."`
}

func (kioskDelete) Help() string {
	return `Example:
  latchkey kiosk delete Lobby`
}

// Run deletes a kiosk. Its tablet, and sessions of guests on it, lose access at once.
func (c *kioskDelete) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aKiosk, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewKioskServiceClient(s.conn).DeleteKiosk(s, &propertyv1.DeleteKioskRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.say("Deleted %s.", c.ID) })
	})
}
