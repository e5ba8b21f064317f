package main

import (
	"cmp"
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type guestCommands struct {
	remote `embed:""`

	Erase    guestErase    `cmd:"" help:"Have the data of a guest erased, as the guest asked you."`
	Erasures guestErasures `cmd:"" help:"List the requests to erase data, and which are done."`
	Export   guestExport   `cmd:"" help:"Print the copy of their data that a guest asked you for. The read is recorded."`
}

type guestErase struct {
	ID    string `arg:"" name:"reservation" help:"The reservation's number or id, or the booker's name."`
	Guest string `placeholder:"ID" help:"A companion's id. Default: everyone on the reservation, and the booker."`
	Yes   bool   `required:"" help:"Confirm it. Erased data cannot be restored."`
}

// Help returns what --help adds: when the data are erased and what is kept, and an example.
func (guestErase) Help() string {
	return `The data are erased within 24 hours. For guests in house, the 24 hours begin at the end of the stay. Official forms go to the guest register until the
day that the law names. The guest gets a mail. The PMS has a copy of its own: erase it there too.

Example:
  latchkey guest erase 4711 --yes`
}

// Run requests the erasure of the data of one companion, or of all guests of a reservation. The server erases them later; Run prints by
// when.
func (c *guestErase) Run(ctx context.Context, r *remote, out *streams) error {
	return r.asStaff(ctx, out, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewPrivacyServiceClient(s.conn).RequestErasure(s, &propertyv1.RequestErasureRequest{ReservationId: x.GetId(), GuestId: c.Guest})
		return s.printAnswer(answer, err, func() {
			e := answer.GetData().GetErasure()
			s.say("Requested. The data are erased by %s at the latest.", formatTime(e.GetDueAt()))
			if e.GetLaw() != "" {
				s.say("The law (%s) keeps the official form until %s, in the guest register.", e.GetLaw(), e.GetKeptUntil())
			}
		})
	})
}

type guestErasures struct {
	Pending bool `help:"Only those that are not done."`
}

// Help returns what --help adds: what the list proves, what to do with it around a restore, and an example.
func (guestErasures) Help() string {
	return `A finished request is the proof that data were erased. Save the list before you restore a backup, and request again what was erased since the backup.

Example:
  latchkey guest erasures --pending`
}

// Run lists the requests to erase guests' data and whether they are done.
func (c *guestErasures) Run(ctx context.Context, r *remote, out *streams) error {
	return r.asStaff(ctx, out, func(s *session) error {
		all, err := allPages(func(token string) (*propertyv1.ErasureList, error) {
			answer, err := propertyv1.NewPrivacyServiceClient(s.conn).ListErasures(s, &propertyv1.ListErasuresRequest{PendingOnly: c.Pending, PageSize: 200, PageToken: token})
			return answer.GetData(), err
		})
		return s.printAnswer(&propertyv1.ListErasuresResponse{Data: &propertyv1.ErasureList{List: all}}, err, func() {
			var rows [][]string
			for _, item := range all {
				rows = append(rows, append([]string{item.GetReservationId(), item.GetGuestId(), cmp.Or(item.GetRequestedByName(), item.GetRequestedBy())}, erasureColumns(item.GetErasure())...))
			}
			s.printTable("No erasure was requested.", []string{"reservation", "companion", "by", "state", "requested", "due", "done", "law keeps"}, rows)
		})
	})
}

// erasureColumns returns the last columns of a row about an erasure: from its state to how long the law keeps a form.
func erasureColumns(e *guestv1.Erasure) []string {
	kept := ""
	if e.GetLaw() != "" {
		kept = e.GetLaw() + " until " + e.GetKeptUntil()
	}
	return []string{e.GetState(), formatTime(e.GetRequestedAt()), formatTime(e.GetDueAt()), formatTime(e.GetFinishedAt()), kept}
}

// maxExport is the maximum size of the copy of a guest's data in bytes. The default of gRPC, 4 MB, may be too small: a PMS that polls adds
// a line per hour for each guest of a large party.
const maxExport = 64 << 20

type guestExport struct {
	ID    string `arg:"" name:"reservation" help:"The reservation's number or id, or the booker's name."`
	Guest string `placeholder:"ID" help:"A companion's id. Default: the main guest."`
}

// Help returns what --help adds: what the copy contains, and an example.
func (guestExport) Help() string {
	return `The copy is JSON: answers, messages, mails, devices, SmartKeys, openings, disclosures, official forms and the kept profile. It has no PIN and no link.

Example:
  latchkey guest export 4711 > copy.json`
}

// Run prints a copy of the data about a guest as JSON, to which guests have a legal right: the main guest or, with --guest, a companion.
// PINs and links are left out. The server records the read.
func (c *guestExport) Run(ctx context.Context, r *remote, out *streams) error {
	return r.asStaff(ctx, out, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewPrivacyServiceClient(s.conn).ExportGuestData(s, &propertyv1.ExportGuestDataRequest{ReservationId: x.GetId(), GuestId: c.Guest},
			grpc.MaxCallRecvMsgSize(maxExport))
		if err != nil {
			return err
		}
		// The copy is the file that the pages offer: unlike the answers of --json, it has no empty fields.
		file, err := protojson.MarshalOptions{Multiline: true}.Marshal(answer.GetData())
		if err != nil {
			return fmt.Errorf("write the copy: %w", err)
		}
		s.say("%s", file)
		return nil
	})
}
