package main

import (
	"context"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type checkInRegister struct {
	From   string `required:"" placeholder:"DAY" help:"The first day of arrival, YYYY-MM-DD."`
	To     string `required:"" placeholder:"DAY" help:"The last day of arrival."`
	Reason string `required:"" help:"Why the register is read. It is recorded with your name."`
}

// Help returns what --help adds: which forms the register has and for how long, and an example.
func (checkInRegister) Help() string {
	return `The register has the official forms of guests in house, and of guests who have departed until the day that the form named to them.
The removal of a reservation does not shorten it, nor a cancelation after the arrival.

Example:
  latchkey checkin register --from 2026-11-01 --to 2026-11-30 --reason "inspection by the municipality"`
}

// Run shows the official forms of guests who arrived from the day --from to the day --to, both included, which an inspector may ask for.
// The server records the read and its reason.
func (c *checkInRegister) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		all, err := allPages(func(token string) (*propertyv1.RegisterPage, error) {
			answer, err := propertyv1.NewGuestRegisterServiceClient(s.conn).InspectRegister(s, &propertyv1.InspectRegisterRequest{
				FirstArrivalOn: c.From, LastArrivalOn: c.To, Reason: c.Reason, PageSize: 200, PageToken: token,
			})
			return answer.GetData(), err
		})
		return s.printAnswer(&propertyv1.InspectRegisterResponse{Data: &propertyv1.RegisterPage{List: all}}, err, func() { s.printRegister(all) })
	})
}

// printRegister prints a table of the official forms of guests.
func (s *session) printRegister(entries []*propertyv1.RegisterEntry) {
	var rows [][]string
	for _, e := range entries {
		p := e.GetPerson()
		rows = append(rows, []string{
			e.GetState(), e.GetArrivalOn(), e.GetDepartureOn(), e.GetPmsNumber(), e.GetRule(), strings.TrimSpace(p.GetFirstName() + " " + p.GetLastName()), p.GetBirthDate(),
			p.GetNationality(), strings.TrimSpace(p.GetDocument().GetType() + " " + p.GetDocument().GetNumber()), formatTime(e.GetSignedAt()), formatTime(e.GetEraseAt()),
		})
	}
	s.printTable("The register has no form of guests who arrived on these days.",
		[]string{"state", "arrival", "departure", "number", "rule", "name", "birth date", "citizenship", "document", "signed", "erased"}, rows)
}
