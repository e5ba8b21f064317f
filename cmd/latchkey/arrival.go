package main

import (
	"context"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type arrivalsCommand struct {
	remote `embed:""`

	Date string `placeholder:"YYYY-MM-DD" help:"The day, in the property's time zone; left out: today."`
	Bad  bool   `help:"Only those that are not ready."`
}

func (arrivalsCommand) Help() string {
	return `Each stay that begins that day, whether its doors will open, and what to fix before the guest comes. Examples:
  latchkey arrivals
  latchkey arrivals --date 2026-07-01 --bad`
}

func (c *arrivalsCommand) Run(ctx context.Context, io *streams) error {
	return c.asStaff(ctx, io, func(s *session) error {
		all := &propertyv1.ArrivalList{}
		for token := ""; ; {
			answer, err := propertyv1.NewReservationServiceClient(s.conn).ListArrivals(s, &propertyv1.ListArrivalsRequest{Date: c.Date, PageSize: 100, PageToken: token})
			if err != nil {
				return err
			}
			for _, a := range answer.GetData().GetList() {
				if !c.Bad || a.GetVerdict() != "ready" {
					all.List = append(all.List, a)
				}
			}
			if token = answer.GetData().GetNextPageToken(); token == "" {
				break
			}
		}
		zone, err := s.zone()
		if err != nil {
			return err
		}
		return s.answer(&propertyv1.ListArrivalsResponse{Data: all}, func() { s.arrivals(zone, all.GetList()) })
	})
}

// zone is the property's time zone, in which a day of arrivals is meant.
func (s *session) zone() (*time.Location, error) {
	answer, err := propertyv1.NewPropertyServiceClient(s.conn).GetProperty(s, &propertyv1.GetPropertyRequest{})
	if err != nil {
		return nil, err
	}
	return time.LoadLocation(answer.GetData().GetTimeZone())
}

// arrivals prints a row for each arrival, and one more for each further thing to fix.
func (s *session) arrivals(zone *time.Location, list []*propertyv1.Arrival) {
	var rows [][]string
	for _, a := range list {
		row := []string{a.GetReservationId(), a.GetPmsNumber(), whenIn(zone, a.GetFrom()), a.GetState(), a.GetVerdict()}
		if len(a.GetFixes()) == 0 {
			rows = append(rows, row)
		}
		for _, f := range a.GetFixes() {
			rows = append(rows, append(row, f.GetSeverity(), dash(f.GetDoorName()), f.GetText()))
			row = []string{"", "", "", "", ""}
		}
	}
	s.table("Nobody arrives.", []string{"id", "number", "from", "state", "verdict", "severity", "door", "what to do"}, rows)
}
