package main

import (
	"context"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type testStayCommands struct {
	remote `embed:""`

	Show    testStayShow    `cmd:"" help:"Show the test stay and what is known of its code on each door."`
	Start   testStayStart   `cmd:"" help:"Book a test stay and print the guest's link."`
	CheckIn testStayCheckIn `cmd:"" name:"check-in" help:"Check the guest of the test stay in, in place of the PMS."`
	End     testStayEnd     `cmd:"" help:"End the test stay. Its code is removed from the doors."`
}

// printTestStay prints a test stay, which staff book to try the check-in, and what is known of its code at each door.
func (s *session) printTestStay(t *propertyv1.TestStay) {
	s.printFacts("reservation", t.GetReservationId(), "number", t.GetNumber(), "state", t.GetState(), "room", spaceText(t.GetParentSpaceName(), t.GetSpaceName()), "ends", formatTime(t.GetEndsAt()))
	for _, d := range t.GetDoors() {
		s.say("%s: %s", spaceText(d.GetParentName(), d.GetName()), dash(d.GetPin()+d.GetReason()))
	}
}

type testStayShow struct{}

// Run prints the test stay and what is known of its code at each door. It fails if there is no test stay.
func (*testStayShow) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewTestStayServiceClient(s.conn).GetTestStay(s, &propertyv1.GetTestStayRequest{})
		return s.printAnswer(answer, err, func() { s.printTestStay(answer.GetData()) })
	})
}

type testStayStart struct {
	Space string `arg:"" help:"The room or bed, by name or id (spc_...)."`
}

// Help returns what --help adds: that the former test stay ends, and an example.
func (testStayStart) Help() string {
	return `It ends the former test stay. Example:
  latchkey test-stay start "Room 101"`
}

// Run books a test stay in a room or bed from now on for a day, ends the former one, and prints the guest's link. It checks no guest in.
func (c *testStayStart) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		if err := s.resolve(aSpace, &c.Space); err != nil {
			return err
		}
		answer, err := propertyv1.NewTestStayServiceClient(s.conn).StartTestStay(s, &propertyv1.StartTestStayRequest{SpaceId: c.Space})
		return s.printAnswer(answer, err, func() {
			s.printTestStay(answer.GetData())
			s.printSecret("guest's link", "/g/l/"+answer.GetLink(), "; open it below the server's public address")
			s.printNextSteps("latchkey test-stay check-in    when the guest has filled in the form and pressed check-in")
		})
	})
}

type testStayCheckIn struct{}

// Run checks the guest of the test stay in, in place of the PMS. It fails if there is no test stay.
func (*testStayCheckIn) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewTestStayServiceClient(s.conn).CheckInTestStay(s, &propertyv1.CheckInTestStayRequest{})
		return s.printAnswer(answer, err, func() { s.printTestStay(answer.GetData()) })
	})
}

type testStayEnd struct{}

// Run ends the test stay. Its code is removed from the doors. It fails if there is no test stay.
func (*testStayEnd) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewTestStayServiceClient(s.conn).EndTestStay(s, &propertyv1.EndTestStayRequest{})
		return s.printAnswer(answer, err, func() { s.say("The test stay %s has ended.", answer.GetData().GetNumber()) })
	})
}
