package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/text"
)

type arrivalsCommand struct {
	remote `embed:""`

	Date string `placeholder:"YYYY-MM-DD" help:"The day, in the property's time zone. Left out: today."`
	Bad  bool   `help:"Only arrivals that are at risk or not ready."`
}

// Help returns what --help adds: what the command lists, in which order, and examples.
func (arrivalsCommand) Help() string {
	return `Lists the stays that begin that day, whether their doors will open, and what to fix before the guest arrives, the worst first. Examples:
  latchkey arrivals
  latchkey arrivals --date 2026-07-01 --bad`
}

// Run prints the arrivals of a day with what to fix for each, the worst first. With --bad it leaves out those that are ready.
func (c *arrivalsCommand) Run(ctx context.Context, io *streams) error {
	return c.asStaff(ctx, io, func(s *session) error {
		list, err := allPages(func(token string) (*propertyv1.ArrivalList, error) {
			answer, err := propertyv1.NewReservationServiceClient(s.conn).ListArrivals(s, &propertyv1.ListArrivalsRequest{Date: c.Date, PageSize: 100, PageToken: token})
			return answer.GetData(), err
		})
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(a *propertyv1.Arrival) bool { return c.Bad && a.GetVerdict() == "ready" })
		all := &propertyv1.ArrivalList{List: worstFirst(list)}
		zone, err := s.loadZone()
		if err != nil {
			return err
		}
		none := "No arrivals."
		if c.Bad {
			none = "No arrival needs attention."
		}
		return s.printAnswer(&propertyv1.ListArrivalsResponse{Data: all}, nil, func() { s.printArrivals(zone, none, all.GetList()) })
	})
}

// loadZone returns the property's time zone, in which commands read and print days and times of stays.
func (s *session) loadZone() (*time.Location, error) {
	answer, err := propertyv1.NewPropertyServiceClient(s.conn).GetProperty(s, &propertyv1.GetPropertyRequest{})
	if err != nil {
		return nil, err
	}
	return clock.Zone(answer.GetData().GetTimeZone())
}

// verdicts are the server's judgements of arrivals and their text, worst first. The index of a verdict is the rank by which arrivals are
// sorted.
var verdicts = []struct{ verdict, words string }{{"notReady", "not ready"}, {"atRisk", "at risk"}, {"ready", "ready"}}

// readinessText returns the text for verdict, the server's judgement whether the doors of an arrival will open, and its rank: 0 is the
// worst. An unknown verdict is its own text and ranks last.
func readinessText(verdict string) (words string, rank int) {
	for i, v := range verdicts {
		if v.verdict == verdict {
			return v.words, i
		}
	}
	return verdict, len(verdicts)
}

// worstFirst returns a copy of the arrivals of a day, sorted by readiness, then time and room. The server sorts only within a page.
func worstFirst(list []*propertyv1.Arrival) []*propertyv1.Arrival {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *propertyv1.Arrival) int {
		_, ra := readinessText(a.GetVerdict())
		_, rb := readinessText(b.GetVerdict())
		return cmp.Or(ra-rb, a.GetFrom().AsTime().Compare(b.GetFrom().AsTime()), compareNatural(text.FullName(a.GetParentSpaceName(), a.GetSpaceName()), text.FullName(b.GetParentSpaceName(), b.GetSpaceName())))
	})
	return list
}

// printArrivals prints a row for each arrival, and a further row for each further problem of it. Without arrivals it prints the text none.
func (s *session) printArrivals(zone *time.Location, none string, list []*propertyv1.Arrival) {
	if len(list) > 0 {
		s.say("%s, times in %s\n", list[0].GetFrom().AsTime().In(zone).Format("Monday, 2 January 2006"), zone)
	}
	var rows [][]string
	for _, a := range list {
		words, _ := readinessText(a.GetVerdict())
		row := []string{dash(a.GetGuestName()), spaceText(a.GetParentSpaceName(), a.GetSpaceName()), a.GetFrom().AsTime().In(zone).Format("15:04"), dash(a.GetArrivalTime()), words, a.GetPmsNumber()}
		if len(a.GetFixes()) == 0 {
			rows = append(rows, row)
		}
		for _, f := range a.GetFixes() {
			why := f.GetText()
			if f.GetDoorName() != "" {
				why = text.FullName(f.GetDoorParentName(), f.GetDoorName()) + ": " + why
			}
			rows = append(rows, append(row, why))
			row = make([]string, len(row))
		}
	}
	s.printTable(none, []string{"guest", "room", "from", "arrives", "readiness", "number", "why"}, rows)
	if slices.ContainsFunc(list, func(a *propertyv1.Arrival) bool { return a.GetVerdict() != "ready" }) {
		s.printNextSteps("latchkey reservation explain NUMBER    shows what happened, and what to do")
	}
}
