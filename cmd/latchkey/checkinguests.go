package main

import (
	"context"
	"os"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type checkInGuests struct {
	ID string `arg:"" name:"reservation" help:"The reservation's number or id, or the booker's name."`
}

// Help returns what --help adds: which data the table and --json have, and examples.
func (checkInGuests) Help() string {
	return `The table has the main data; --json has all answers that the token's role sees. Examples:
  latchkey checkin guests 4711
  latchkey checkin guests 4711 --json`
}

// Run prints the guests of a reservation with their main data, or all with --json. The server records the read.
func (c *checkInGuests) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewCheckInServiceClient(s.conn).ListGuests(s, &propertyv1.ListGuestsRequest{ReservationId: x.GetId()})
		return s.printAnswer(answer, err, func() { s.printGuests(answer.GetData().GetList()) })
	})
}

// printGuests prints a table of the guests of a reservation with their main data.
func (s *session) printGuests(guests []*propertyv1.GuestData) {
	var rows [][]string
	withheld := int32(0)
	for _, g := range guests {
		p := g.GetPerson()
		withheld += g.GetWithheld()
		state := "complete"
		if !g.GetGuest().GetComplete() {
			state = strings.TrimSpace("missing " + g.GetGuest().GetMissingStep())
		}
		rows = append(rows, []string{
			g.GetGuest().GetId(), g.GetGuest().GetRole(), dash(strings.TrimSpace(p.GetFirstName() + " " + p.GetLastName())), state, dash(p.GetBirthDate()), dash(p.GetNationality()),
			dash(strings.TrimSpace(p.GetDocument().GetType() + " " + p.GetDocument().GetNumber())), dash(strings.Join(g.GetSharedGroups(), ", ")), formatTime(g.GetSignedAt()),
		})
	}
	s.printTable("No guest of this reservation is known yet.",
		[]string{"id", "role", "name", "form", "birth date", "citizenship", "document", "shared with the PMS", "signed"}, rows)
	if withheld > 0 {
		s.say("\nNot shown: %d stored answers that neither the law nor the property asks any more. A token with the role owner sees them.", withheld)
	}
}

type checkInSign struct {
	ID    string `arg:"" name:"reservation" help:"The reservation's number or id, or the booker's name."`
	Guest string `arg:"" help:"The id of the guest, as in: latchkey checkin guests."`
	To    string `type:"path" placeholder:"FILE" help:"Write the image to this new file. Left out: print it."`
}

// Help returns examples for --help.
func (checkInSign) Help() string {
	return `Examples:
  latchkey checkin signature 4711 gst_01JD3Q --to signature.svg
  latchkey checkin signature 4711 gst_01JD3Q > signature.svg`
}

// Run writes the signature that a guest drew to a new file or, without --to, prints it. It fails if the guest has no valid one, or if the
// file exists. The server has recorded the read even in the second case.
func (c *checkInSign) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewCheckInServiceClient(s.conn).GetSignature(s, &propertyv1.GetSignatureRequest{ReservationId: x.GetId(), GuestId: c.Guest})
		if err == nil && c.To != "" {
			err = writeNewFile(c.To, answer.GetData().GetSvg())
		}
		return s.printAnswer(answer, err, func() {
			if c.To == "" {
				s.say("%s", answer.GetData().GetSvg())
				return
			}
			s.say("Wrote the signature of %s to %s.", formatTime(answer.GetData().GetSignedAt()), c.To)
		})
	})
}

// writeNewFile writes a text to a new file that only the caller can read. It fails if the file exists.
func writeNewFile(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
