package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

type reservationCommands struct {
	remote `embed:""`

	List       reservationList       `cmd:"" help:"List reservations, the latest arrival first."`
	Find       reservationFind       `cmd:"" help:"Find reservations by guest, number, the PMS's id or room."`
	Show       reservationShow       `cmd:"" help:"Show a reservation and whether its doors open."`
	Explain    reservationExplain    `cmd:"" help:"Explain why the doors of a stay open or not, step by step."`
	Extend     reservationExtend     `cmd:"" help:"Extend the access of a guest in house beyond the planned end. The reason is recorded."`
	RevealPIN  reservationRevealPIN  `cmd:"" name:"reveal-pin" help:"Show the PIN of a stay. The read and its reason are recorded."`
	ReplacePIN reservationReplacePIN `cmd:"" name:"replace-pin" help:"Give a stay another PIN. The reason is recorded."`
}

type reservationList struct {
	Day   string `placeholder:"YYYY-MM-DD" help:"Only stays that include this day. Also: today, yesterday, tomorrow. Leaves out stays that began over 400 days before."`
	State string `enum:",enquired,requested,optional,confirmed,started,processed,canceled" default:"" help:"Only reservations in this state. started: the guest is checked in."`
	Space string `placeholder:"SPACE" help:"Only stays in this room, dorm or bed, by name or id."`
	Limit int    `default:"50" help:"At most this many."`
}

// Help returns examples for --help.
func (reservationList) Help() string {
	return `Examples:
  latchkey reservation list --day today
  latchkey reservation list --space 204 --state started
  latchkey reservation list --day 2026-07-01 --state confirmed

Stays of more than 400 days: latchkey reservation list --state started`
}

// checkLimit returns an error if the value of the flag --limit is below 1.
func checkLimit(limit int) error {
	if limit < 1 {
		return fmt.Errorf("--limit must be at least 1")
	}
	return nil
}

// Run prints the reservations that the flags select, the latest arrival first, at most --limit.
func (c *reservationList) Run(ctx context.Context, r *remote, io *streams) error {
	if err := checkLimit(c.Limit); err != nil {
		return err
	}
	return r.asStaffOn(ctx, io, aSpace, &c.Space, func(s *session) error {
		zone, err := s.loadZone()
		if err != nil {
			return err
		}
		return s.printReservations(zone, "No reservation matches.", c.Limit, &propertyv1.ListReservationsRequest{State: c.State, SpaceId: c.Space, Date: dayOf(c.Day, zone)})
	})
}

// dayOf returns the date in a time zone for one of the words today, yesterday and tomorrow. It returns any other word, such as a date,
// unchanged.
func dayOf(word string, zone *time.Location) string {
	days, ok := map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}[word]
	if !ok {
		return word
	}
	return time.Now().In(zone).AddDate(0, 0, days).Format(time.DateOnly)
}

type reservationFind struct {
	Text  string `arg:"" help:"The number, the PMS's id, the code of a group, the beginning of the guest's names, or a room."`
	Limit int    `default:"50" help:"At most this many."`
}

// Help returns what --help adds: what is searched, and examples.
func (reservationFind) Help() string {
	return `Searches for reservations with this number or id, for the group with this code, and for the stays in this room or bed. If no reservation has this
number, it also searches for guests with this name. Examples:
  latchkey reservation find 4711
  latchkey reservation find "ada lov"
  latchkey reservation find 204`
}

// Run prints the reservations that match a text, at most --limit: a number, an id of the PMS, a group, a room or, if no reservation has
// this number, the beginning of a guest's names.
func (c *reservationFind) Run(ctx context.Context, r *remote, io *streams) error {
	if err := checkLimit(c.Limit); err != nil {
		return err
	}
	return r.asStaff(ctx, io, func(s *session) error {
		zone, err := s.loadZone()
		if err != nil {
			return err
		}
		return s.printReservations(zone, "No guest, number, group or room matches.", c.Limit, &propertyv1.ListReservationsRequest{Query: c.Text})
	})
}

// loadReservations loads the reservations that match a request, at most limit. more is whether the server has further ones. It changes the
// page size and token in req: after it, the token is that of the next page.
func (s *session) loadReservations(req *propertyv1.ListReservationsRequest, limit int) (all []*propertyv1.Reservation, more bool, err error) {
	for {
		req.PageSize = int32(min(limit-len(all), 200)) // a page has at most 200 reservations
		answer, err := propertyv1.NewReservationServiceClient(s.conn).ListReservations(s, req)
		if err != nil {
			return nil, false, err
		}
		all = append(all, answer.GetData().GetList()...)
		req.PageToken = answer.GetData().GetNextPageToken()
		if req.PageToken == "" || len(all) >= limit {
			return all, req.PageToken != "", nil
		}
	}
}

// printReservations loads and prints the reservations that match a request, at most limit, or the text none. Times are in the zone.
func (s *session) printReservations(zone *time.Location, none string, limit int, req *propertyv1.ListReservationsRequest) error {
	all, more, err := s.loadReservations(req, limit)
	if err != nil {
		return err
	}
	list := &propertyv1.ReservationList{List: all, NextPageToken: req.GetPageToken()}
	return s.printAnswer(&propertyv1.ListReservationsResponse{Data: list}, nil, func() {
		s.printReservationTable(zone, none, all)
		if more {
			s.say("\nThere are more. To see them: --limit %d", 2*limit)
		}
	})
}

// printReservationTable prints a table of reservations with times in the zone, or the text none.
func (s *session) printReservationTable(zone *time.Location, none string, list []*propertyv1.Reservation) {
	var rows [][]string
	for _, x := range list {
		rows = append(rows, []string{x.GetPmsNumber(), guestOf(x), spaceText(x.GetParentSpaceName(), x.GetSpaceName()), shortTime(zone, x.GetFrom().AsTime()), shortTime(zone, x.GetTo().AsTime()), x.GetState()})
	}
	s.printTable(none, []string{"number", "guest", "room", "from", "to", "state"}, rows)
}

// guestOf returns the full name of the booker of a reservation.
func guestOf(x *propertyv1.Reservation) string {
	return strings.TrimSpace(x.GetFirstName() + " " + x.GetLastName())
}

// shortTime formats a time of a stay in the property's time zone.
func shortTime(zone *time.Location, t time.Time) string {
	return t.In(zone).Format("2006-01-02 15:04")
}

// findReservation returns the only reservation that a word on the command line names: by its number, by one of its ids, or by beginnings of
// the booker's names. It fails if there is none or more than one. It ignores stays that the server finds by room or group: a mistyped
// number must not lead a command to the stay in the room of that number.
func (s *session) findReservation(word string) (*propertyv1.Reservation, error) {
	found, more, err := s.loadReservations(&propertyv1.ListReservationsRequest{Query: word}, 1000)
	if err != nil {
		return nil, err
	}
	if exact := slices.DeleteFunc(slices.Clone(found), func(x *propertyv1.Reservation) bool { return !hasNumber(x, word) }); len(exact) > 0 {
		found = exact
	} else {
		found = slices.DeleteFunc(found, func(x *propertyv1.Reservation) bool { return !hasName(x, word) })
	}
	switch {
	case len(found) == 1 && !more:
		return found[0], nil
	case len(found) == 0:
		return nil, s.errWithTypedFlags(fault.New(fault.NotFound, fault.ReservationNotFound, "there is no reservation %s; search with: latchkey reservation find TEXT", word))
	}
	zone, err := s.loadZone()
	if err != nil {
		return nil, err
	}
	list := fmt.Sprintf("%q matches more than one reservation; use an id:", word)
	const shown = 10
	for _, x := range found[:min(len(found), shown)] {
		list += fmt.Sprintf("\n  %s  %s, %s, %s, from %s, %s", x.GetId(), x.GetPmsNumber(), guestOf(x), spaceText(x.GetParentSpaceName(), x.GetSpaceName()), shortTime(zone, x.GetFrom().AsTime()), x.GetState())
	}
	if more || len(found) > shown {
		list += "\n  and more"
	}
	return nil, fault.New(fault.Precondition, fault.Ambiguous, "%s", list)
}

// hasNumber reports whether a word is the number of a reservation or one of its ids.
func hasNumber(x *propertyv1.Reservation, word string) bool {
	return slices.Contains([]string{x.GetPmsNumber(), x.GetPmsId(), x.GetId()}, word)
}

// hasName reports whether typed has words, and each word is the beginning of one of the booker's names.
func hasName(x *propertyv1.Reservation, typed string) bool {
	words := text.Words(typed)
	return len(words) > 0 && text.MatchNames(words, text.Words(guestOf(x)))
}

type reservationShow struct {
	ID string `arg:"" name:"reservation" help:"The number, the PMS's id, the guest's name or the id (rsv_...)."`
}

// Help returns what --help adds: what the command and its --json print, and examples.
func (reservationShow) Help() string {
	return `Shows the guest, what the PMS sent, and each door with what to do about it, without PINs. With --json: data.reservation, and the doors in data.explanation. Examples:
  latchkey reservation show 4711
  latchkey reservation show Lovelace`
}

// Run prints a reservation, and for each door whether it opens and what to do.
func (c *reservationShow) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		if x, err = s.loadContact(x); err != nil {
			return err
		}
		answer, err := propertyv1.NewReservationServiceClient(s.conn).ExplainReservation(s, &propertyv1.ExplainReservationRequest{Id: x.GetId()})
		if err != nil {
			return err
		}
		zone, err := s.loadZone()
		if err != nil {
			return err
		}
		e := answer.GetData()
		e.Steps = nil
		if s.JSON {
			return s.printAnswers(map[string]any{"reservation": x, "explanation": e})
		}
		s.printFacts("number", x.GetPmsNumber(), "guest", guestOf(x), "room", spaceText(x.GetParentSpaceName(), x.GetSpaceName()), "from", shortTime(zone, x.GetFrom().AsTime()), "to", shortTime(zone, x.GetTo().AsTime()),
			"state", x.GetState(), "reason", e.GetReason(), "the guest reads", e.GetSentence(), "to do", e.GetAdvice(),
			"adults", countOrEmpty(x.AdultCount), "children", countOrEmpty(x.ChildCount), "owed", strings.TrimSpace(x.GetOwing()+" "+x.GetOwingCurrency()), "email", x.GetEmail(), "mobile", x.GetMobile(),
			"booked at", x.GetSourceName(), "number there", x.GetChannelNumber(), "group", x.GetPmsGroupId(),
			"PMS", x.GetIntegrationName(), "PMS's id", x.GetPmsId(), "id", x.GetId(), "integration", x.GetIntegrationId())
		s.say("")
		s.printExplainedDoors(e)
		s.printNextSteps("latchkey reservation explain " + x.GetId() + "    shows what happened")
		return nil
	})
}

// loadContact loads a found reservation again, with the contact of the booker, which lists leave out. If it was removed meanwhile,
// loadContact returns found.
func (s *session) loadContact(found *propertyv1.Reservation) (*propertyv1.Reservation, error) {
	all, _, err := s.loadReservations(&propertyv1.ListReservationsRequest{Ids: []string{found.GetId()}}, 1)
	if err != nil || len(all) == 0 {
		return found, err
	}
	return all[0], nil
}

// countOrEmpty formats a count. It returns "" for nil: the PMS did not send the count.
func countOrEmpty(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

type reservationExplain struct {
	ID string `arg:"" name:"reservation" help:"The number, the PMS's id, the guest's name or the id (rsv_...)."`
}

// Help returns what --help adds: what the command prints, and examples.
func (reservationExplain) Help() string {
	return `Shows each door with what to do about it, and what happened, step by step from the PMS's update to the keypad, without PINs and names. Examples:
  latchkey reservation explain 4711
  latchkey reservation explain rsv_...`
}

// Run prints why the doors of a stay open or not, with the steps that led to it.
func (c *reservationExplain) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		if !strings.HasPrefix(c.ID, "rsv_") {
			x, err := s.findReservation(c.ID)
			if err != nil {
				return err
			}
			c.ID = x.GetId()
		}
		answer, err := propertyv1.NewReservationServiceClient(s.conn).ExplainReservation(s, &propertyv1.ExplainReservationRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.printExplanation(answer.GetData()) })
	})
}

// printExplanation prints the whole explanation of a stay: its doors, and what happened.
func (s *session) printExplanation(e *partnerv1.Explanation) {
	s.printFacts("reservation", e.GetReservationId(), "state", e.GetState(), "reason", e.GetReason(), "the guest reads", e.GetSentence(), "to do", e.GetAdvice())
	s.say("")
	s.printExplainedDoors(e)
	s.say("")
	if e.GetForgotten() {
		s.say("Older steps have been deleted.")
	}
	switch {
	case e.GetCompleteAfter() != nil:
		s.say("Steps until %s may be missing.", formatTime(e.GetCompleteAfter()))
	case e.GetTruncated():
		s.say("Earlier steps are left out.")
	}
	s.printSteps("Nothing has happened yet.", e.GetSteps())
}

// verdictWords maps the server's verdict about a door to its text. Other verdicts are printed unchanged.
var verdictWords = map[string]string{"opensAt": "opens from", "doesNotOpen": "does not open"}

// printExplainedDoors prints a table of the doors of a stay: whether each opens, and what to do.
func (s *session) printExplainedDoors(e *partnerv1.Explanation) {
	var doors [][]string
	for _, d := range e.GetDoors() {
		verdict := d.GetVerdict()
		if w := verdictWords[verdict]; w != "" {
			verdict = w
		}
		if d.GetOpensAt() != nil {
			verdict += " " + formatTime(d.GetOpensAt())
		}
		doors = append(doors, []string{spaceText(d.GetParentName(), d.GetName()), verdict, dash(d.GetEvidence()), dash(d.GetReason()), d.GetAdvice()})
	}
	s.printTable("This stay has no door.", []string{"door", "verdict", "pin", "reason", "to do"}, doors)
}

// printSteps prints a table of what happened to a stay, or the text none.
func (s *session) printSteps(none string, list []*partnerv1.ExplainedStep) {
	var steps [][]string
	for _, x := range list {
		steps = append(steps, []string{formatTime(x.GetAt()), x.GetActor(), dash(x.GetEvidence()), dash(x.GetReason()), x.GetStaffSentence()})
	}
	s.printTable(none, []string{"when", "who", "pin", "reason", "what"}, steps)
}
