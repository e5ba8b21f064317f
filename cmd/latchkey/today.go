package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type todayCommand struct {
	remote `embed:""`

	Tab  string `arg:"" optional:"" default:"arrivals" enum:"arrivals,inHouse,departures" help:"The list: arrivals, inHouse or departures."`
	Date string `placeholder:"YYYY-MM-DD" help:"The day, in the property's time zone. Left out: today."`

	Rooms bool `help:"Count the arrivals in each room and bed instead."`
}

// Help returns what --help adds: what the command lists, and examples.
func (todayCommand) Help() string {
	return `Lists who arrives, who is in house or who leaves, with the numbers of all three lists, whether the doors will open, and where each check-in is. Examples:
  latchkey today
  latchkey today departures
  latchkey today inHouse --date 2026-07-01
  latchkey today --rooms`
}

// Run prints one list of a day (arrivals, guests in house or departures) or, with --rooms, the arrivals by room.
func (c *todayCommand) Run(ctx context.Context, io *streams) error {
	if c.Rooms && c.Tab != "arrivals" {
		return fmt.Errorf("--rooms counts arrivals only: leave %s out", c.Tab)
	}
	return c.asStaff(ctx, io, func(s *session) error {
		if c.Rooms {
			return s.printArrivalsByRoom(c.Date)
		}
		var day *propertyv1.DayList
		list, err := allPages(func(token string) (*propertyv1.DayList, error) {
			answer, err := propertyv1.NewDayServiceClient(s.conn).ListDay(s, &propertyv1.ListDayRequest{Tab: c.Tab, Date: c.Date, PageSize: 100, PageToken: token})
			day = answer.GetData()
			return day, err
		})
		if err != nil {
			return err
		}
		zone, err := s.loadZone()
		if err != nil {
			return err
		}
		all := &propertyv1.DayList{Date: day.GetDate(), List: list, Counts: day.GetCounts()}
		return s.printAnswer(&propertyv1.ListDayResponse{Data: all}, nil, func() { s.printDay(zone, all) })
	})
}

// printDay prints how many stays begin, are in house and end on a day, and a table of the stays in the chosen list.
func (s *session) printDay(zone *time.Location, day *propertyv1.DayList) {
	n := day.GetCounts()
	s.say("%s: %s, %d still to come; %d in house; %s, %d still to go. Times in %s\n",
		day.GetDate(), formatCount(int(n.GetArrivals()), "arrival"), n.GetArrivalsLeft(), n.GetInHouse(),
		formatCount(int(n.GetDepartures()), "departure"), n.GetDeparturesLeft(), zone)
	moment := func(t time.Time) string { return t.In(zone).Format("2 Jan 15:04") }
	var rows [][]string
	for _, stay := range day.GetList() {
		words, _ := readinessText(stay.GetVerdict())
		checkIn := stay.GetCheckIn().GetStage()
		if stops := stay.GetCheckIn().GetStops(); len(stops) > 0 {
			checkIn += ": " + strings.Join(stops, ", ")
		}
		if amount := stay.GetCheckIn().GetOwing(); amount != "" {
			checkIn += ", " + amount + " " + stay.GetCheckIn().GetOwingCurrency()
		}
		rows = append(rows, []string{
			dash(stay.GetGuestName()), spaceText(stay.GetParentSpaceName(), stay.GetSpaceName()), moment(stay.GetFrom().AsTime()), moment(stay.GetTo().AsTime()), dash(words), checkIn, stay.GetPmsNumber(),
		})
	}
	s.printTable("No stay is in this list.", []string{"guest", "room", "from", "to", "readiness", "check-in", "number"}, rows)
}

// printArrivalsByRoom prints how many stays of a day begin in each room and bed that has any, and how many have no mapped room. date is
// YYYY-MM-DD, or "" for today.
func (s *session) printArrivalsByRoom(date string) error {
	answer, err := propertyv1.NewDayServiceClient(s.conn).CountArrivals(s, &propertyv1.CountArrivalsRequest{Date: date})
	if err != nil {
		return err
	}
	spaces, err := s.allSpaces("")
	if err != nil {
		return err
	}
	counts := map[string]int32{}
	for _, c := range answer.GetData().GetList() {
		counts[c.GetSpaceId()] = c.GetArrivals()
	}
	return s.printAnswer(answer, nil, func() {
		s.say("Arrivals on %s:\n", answer.GetData().GetDate())
		var rows [][]string
		for _, m := range spaces {
			if n := counts[m.GetId()]; n > 0 {
				rows = append(rows, []string{m.GetType(), spaceText(m.GetParentName(), m.GetName()), strconv.Itoa(int(n))})
			}
		}
		s.printTable("No guest arrives in a room that is assigned and mapped.", []string{"type", "name", "arrivals"}, rows)
		if n := answer.GetData().GetWithoutSpace(); n > 0 {
			s.say("Without a room, or in one that is not mapped: %s.", formatCount(int(n), "arrival"))
		}
	})
}
