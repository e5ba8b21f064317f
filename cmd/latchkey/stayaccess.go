package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type reservationExtend struct {
	ID     string `arg:"" name:"reservation" help:"The number, the PMS's id, the guest's name or the id (rsv_...)."`
	Until  string `required:"" placeholder:"TIME" help:"The new end in the property's time zone, such as 14:00 (the next one) or \"2026-07-01 14:00\"."`
	Reason string `required:"" placeholder:"TEXT" help:"Why, for the audit log."`
}

// Help returns what --help adds: the limits and the end of an extension, and examples.
func (reservationExtend) Help() string {
	return `The guest must be in house. The extension lasts at most 24 hours beyond the planned end of the stay, and ends when the PMS changes the dates or ends the stay. Examples:
  latchkey reservation extend 4711 --until 14:00 --reason "late flight"
  latchkey reservation extend Lovelace --until "2026-07-01 09:00" --reason "waits for the taxi"`
}

// Run extends the access of a guest in house beyond the planned end of the stay, by at most 24 hours. It replaces an earlier extension.
func (c *reservationExtend) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		zone, err := s.loadZone()
		if err != nil {
			return err
		}
		until, err := nextTime(c.Until, zone, time.Now())
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewReservationServiceClient(s.conn).ExtendAccess(s, &propertyv1.ExtendAccessRequest{
			Id: x.GetId(), Until: timestamppb.New(until), Reason: c.Reason,
		})
		return s.printAnswer(answer, err, func() {
			s.say("The access of %s lasts until %s.", x.GetPmsNumber(), shortTime(zone, answer.GetData().GetOpensUntil().AsTime()))
		})
	})
}

// nextTime parses the value of --until in a time zone: a day and time, also in the past, or a time alone, of which it returns the next
// occurrence after now.
func nextTime(text string, zone *time.Location, now time.Time) (time.Time, error) {
	if at, err := time.ParseInLocation("2006-01-02 15:04", text, zone); err == nil {
		return at, nil
	}
	hour, err := time.Parse("15:04", text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--until %q: must be HH:MM, or YYYY-MM-DD HH:MM", text)
	}
	now = now.In(zone)
	at := time.Date(now.Year(), now.Month(), now.Day(), hour.Hour(), hour.Minute(), 0, 0, zone)
	if !at.After(now) {
		at = time.Date(now.Year(), now.Month(), now.Day()+1, hour.Hour(), hour.Minute(), 0, 0, zone)
	}
	return at, nil
}

type reservationRevealPIN struct {
	ID     string `arg:"" name:"reservation" help:"The number, the PMS's id, the guest's name or the id (rsv_...)."`
	Reason string `required:"" placeholder:"TEXT" help:"Why, for the audit log."`
}

func (reservationRevealPIN) Help() string {
	return `Example:
  latchkey reservation reveal-pin 4711 --reason "forgot the phone in the room"`
}

// Run prints the PIN of a stay, and those of gates (shared doors) where it has another. The server records the read and the reason. Run
// fails if the stay has no PIN.
func (c *reservationRevealPIN) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewReservationServiceClient(s.conn).RevealPin(s, &propertyv1.RevealPinRequest{Id: x.GetId(), Reason: c.Reason})
		return s.printAnswer(answer, err, func() {
			s.printFacts("number", x.GetPmsNumber(), "PIN", dash(answer.GetData().GetPin()))
			for _, g := range answer.GetData().GetGates() {
				s.printFacts("PIN at "+g.GetName(), g.GetPin())
			}
		})
	})
}

type reservationReplacePIN struct {
	ID     string `arg:"" name:"reservation" help:"The number, the PMS's id, the guest's name or the id (rsv_...)."`
	Reason string `required:"" placeholder:"TEXT" help:"Why, for the audit log."`
}

// Help returns what --help adds: when the former PIN ends and who gets the new one, and an example.
func (reservationReplacePIN) Help() string {
	return `On each lock the former PIN ends when the lock takes the new one. The guest gets a mail with the new PIN. Example:
  latchkey reservation replace-pin 4711 --reason "showed the PIN to others"`
}

// Run gives a stay a new PIN, which it does not print: the guest gets it by mail. Gates that share the PIN get the new one, too; gates with
// a PIN of their own keep it. The former PIN opens a lock until that lock has the new one. Run fails if the stay has no access.
func (c *reservationReplacePIN) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewReservationServiceClient(s.conn).ReplacePin(s, &propertyv1.ReplacePinRequest{Id: x.GetId(), Reason: c.Reason})
		return s.printAnswer(answer, err, func() {
			s.say("%s has a new PIN. Its access is %s.", x.GetPmsNumber(), answer.GetData().GetStatus())
			s.say("%s", s.withTypedFlags("To see whether each lock has it: latchkey reservation explain "+x.GetId()))
		})
	})
}
