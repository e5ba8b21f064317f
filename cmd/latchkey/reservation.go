package main

import (
	"context"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type reservationCommands struct {
	remote `embed:""`

	Explain reservationExplain `cmd:"" help:"Why the doors of a stay open, or do not, and what led there."`
}

type reservationExplain struct {
	ID string `arg:"" name:"reservation" help:"rsv_..."`
}

func (reservationExplain) Help() string {
	return `Each door now, with what to do about it, and step by step what led there, from the PMS's update to the keypad. Never a PIN or a name. Example:
  latchkey reservation explain rsv_...`
}

func (c *reservationExplain) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewReservationServiceClient(s.conn).ExplainReservation(s, &propertyv1.ExplainReservationRequest{Id: c.ID})
		if err != nil {
			return err
		}
		return s.answer(answer, func() { s.explanation(answer.GetData()) })
	})
}

func (s *session) explanation(e *partnerv1.Explanation) {
	s.facts("reservation", e.GetReservationId(), "state", e.GetState(), "the stay", e.GetSentence(), "to do", e.GetAdvice())
	s.say("")
	var doors [][]string
	for _, d := range e.GetDoors() {
		opens := ""
		if d.GetOpensAt() != nil {
			opens = " " + when(d.GetOpensAt())
		}
		doors = append(doors, []string{d.GetName(), d.GetVerdict() + opens, d.GetEvidence(), dash(d.GetReason()), d.GetAdvice()})
	}
	s.table("No door belongs to this stay.", []string{"door", "verdict", "pin", "reason", "to do"}, doors)
	s.say("")
	if e.GetForgotten() {
		s.say("Older steps are no longer kept.")
	}
	if e.GetTruncated() {
		s.say("There were earlier steps, which are left out.")
	}
	var steps [][]string
	for _, x := range e.GetSteps() {
		steps = append(steps, []string{when(x.GetAt()), x.GetActor(), dash(x.GetEvidence()), dash(x.GetReason()), x.GetSentence()})
	}
	s.table("Nothing has happened yet.", []string{"when", "who", "pin", "reason", "what"}, steps)
}
