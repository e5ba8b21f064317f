package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/text"
)

type spaceShow struct {
	ID string `arg:"" name:"space" help:"The space's name (a bed also as DORM/BED) or id (spc_...)."`
}

// Help returns what --help adds: what the command and its --json print, and an example.
func (spaceShow) Help() string {
	return `Shows a space, the guests in it now, and what happened at its door since yesterday: uses of codes of guests and staff, one-time and backup codes, remote unlocks and, for the time of a stay, wrong PINs.

With --json: data.space, data.guests, data.openings, data.codeUses, data.remoteUnlocks, and data.truncated if not all stays were checked or not all uses of codes and remote unlocks are listed. Example:
  latchkey space show 204`
}

const (
	// mostChecked limits how many stays of a day are explained, because each takes a call.
	mostChecked = 20
	// maxCodeUses is the server's limit for the uses of codes, and for the remote unlocks, that it returns for a space. A list of this
	// length may be incomplete.
	maxCodeUses = 50
)

// Run prints a space, the guests in it now, and what happened at its door since yesterday.
func (c *spaceShow) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aSpace, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewSpaceServiceClient(s.conn).GetSpace(s, &propertyv1.GetSpaceRequest{Id: c.ID})
		if err != nil {
			return err
		}
		zone, err := s.loadZone()
		if err != nil {
			return err
		}
		present, _, err := s.loadReservations(&propertyv1.ListReservationsRequest{SpaceId: c.ID, State: "started"}, math.MaxInt)
		if err != nil {
			return err
		}
		steps, more, err := s.loadOpenings(c.ID, zone)
		if err != nil {
			return err
		}
		recent, moreUses := usesSince(answer.GetCodeUses(), yesterday(zone))
		unlocks, moreUnlocks := usesSince(answer.GetRemoteUnlocks(), yesterday(zone))
		if s.JSON {
			return s.printAnswers(map[string]any{"space": answer.GetData(), "guests": listJSON(present), "openings": append([]opening{}, steps...),
				"codeUses": listJSON(recent), "remoteUnlocks": listJSON(unlocks), "truncated": more || moreUses || moreUnlocks})
		}
		s.printSpaces([]*propertyv1.Space{answer.GetData()})
		s.say("\nHere now:")
		s.printReservationTable(zone, "No guest is checked in here.", present)
		s.say("\nAt the door since yesterday:")
		s.printTable("No use of a code and no remote unlock is recorded.", []string{"when", "who", "number", "what"}, doorRows(zone, answer.GetData(), steps, recent, unlocks))
		if more {
			s.say("Only the latest %d stays of each day were checked.", mostChecked)
		}
		if moreUses {
			s.say("Only the latest %d uses of staff, one-time and backup codes are listed.", maxCodeUses)
		}
		if moreUnlocks {
			s.say("Only the latest %d remote unlocks are listed.", maxCodeUses)
		}
		return nil
	})
}

// opening is an opening or a refusal at a door: a step in the explanation of a stay. number is the number of its reservation.
type opening struct {
	number string
	step   *partnerv1.ExplainedStep
}

// MarshalJSON encodes the opening for space show --json.
func (o opening) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"pmsNumber": o.number, "step": asJSON{o.step}})
}

// loadOpenings returns the openings and refusals at a door since the beginning of yesterday, newest first, from the explanations of the
// stays there. It checks at most mostChecked (20) stays of each day; more is whether there are others.
func (s *session) loadOpenings(door string, zone *time.Location) (all []opening, more bool, err error) {
	var stays []*propertyv1.Reservation
	for _, day := range []string{"today", "yesterday"} {
		found, left, err := s.loadReservations(&propertyv1.ListReservationsRequest{SpaceId: door, Date: dayOf(day, zone)}, mostChecked)
		if err != nil {
			return nil, false, err
		}
		more = more || left
		for _, x := range found {
			if !slices.ContainsFunc(stays, func(o *propertyv1.Reservation) bool { return o.GetId() == x.GetId() }) {
				stays = append(stays, x)
			}
		}
	}
	since := yesterday(zone)
	for _, x := range stays {
		answer, err := propertyv1.NewReservationServiceClient(s.conn).ExplainReservation(s, &propertyv1.ExplainReservationRequest{Id: x.GetId()})
		if err != nil {
			return nil, false, err
		}
		for _, step := range answer.GetData().GetSteps() {
			if step.GetDoorId() == door && atDoor(step.GetKind()) && !step.GetAt().AsTime().Before(since) {
				all = append(all, opening{x.GetPmsNumber(), step})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b opening) int {
		return cmp.Or(b.step.GetAt().AsTime().Compare(a.step.GetAt().AsTime()), cmp.Compare(a.number, b.number))
	})
	return all, more, nil
}

// usesSince returns the uses of codes, or the remote unlocks, that happened at since or later. more is true if these are maxCodeUses (50):
// the server returns no more, so others may be missing.
func usesSince[U interface{ GetAt() *timestamppb.Timestamp }](uses []U, since time.Time) (recent []U, more bool) {
	for _, u := range uses {
		if !u.GetAt().AsTime().Before(since) {
			recent = append(recent, u)
		}
	}
	return recent, len(recent) >= maxCodeUses
}

// listJSON returns messages in a form that can be encoded as part of a larger JSON value.
func listJSON[M proto.Message](messages []M) []asJSON {
	list := make([]asJSON, len(messages))
	for i, m := range messages {
		list[i] = asJSON{m}
	}
	return list
}

// yesterday returns the instant at which yesterday began in a time zone.
func yesterday(zone *time.Location) time.Time {
	y, m, d := time.Now().In(zone).AddDate(0, 0, -1).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, zone)
}

// doorRows returns a table of what happened at the door of a space, newest first, from three sources. A remote unlock that is also in
// openings appears once. Equal successive rows become one with a count.
func doorRows(zone *time.Location, space *propertyv1.Space, openings []opening, uses []*propertyv1.CodeUse, unlocks []*propertyv1.RemoteUnlock) [][]string {
	type line struct {
		at  time.Time
		row []string
	}
	var lines []line
	add := func(at time.Time, columns ...string) {
		lines = append(lines, line{at, append([]string{shortTime(zone, at)}, columns...)})
	}
	for _, x := range openings {
		add(x.step.GetAt().AsTime(), x.step.GetActor(), x.number, x.step.GetStaffSentence())
	}
	for _, u := range uses {
		add(u.GetAt().AsTime(), "code", "", codeSentence(space, u))
	}
	for _, u := range unlocks {
		at := u.GetAt().AsTime()
		explained := func(o opening) bool {
			return o.step.GetKind() == "doorOpenedByStaff" && o.step.GetAt().AsTime().Equal(at)
		}
		if !slices.ContainsFunc(openings, explained) {
			add(at, "staff", "", fmt.Sprintf("Staff unlocked %s remotely.", text.FullName(space.GetParentName(), space.GetName())))
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return b.at.Compare(a.at) })
	var rows [][]string
	for i := 0; i < len(lines); {
		last := i // index of the last of equal successive rows, such as wrong PINs
		for last+1 < len(lines) && slices.Equal(lines[last+1].row[1:], lines[i].row[1:]) {
			last++
		}
		row := lines[i].row
		if n := last - i + 1; n > 1 {
			what := len(row) - 1
			row[what] = fmt.Sprintf("%s %d times since %s.", strings.TrimSuffix(row[what], "."), n, shortTime(zone, lines[last].at))
		}
		rows = append(rows, row)
		i = last + 1
	}
	return rows
}

// codeSentence describes one use of a staff, one-time or backup code at the door of a space.
func codeSentence(space *propertyv1.Space, u *propertyv1.CodeUse) string {
	var code string
	switch u.GetKind() {
	case "backup":
		code = "a backup code"
	case "oneTime":
		code = fmt.Sprintf("the one-time code of %q", u.GetHolder())
	default:
		code = fmt.Sprintf("the staff code of %q", u.GetHolder())
	}
	if u.GetOpened() {
		return fmt.Sprintf("%s was opened with %s.", text.FullName(space.GetParentName(), space.GetName()), code)
	}
	return fmt.Sprintf("%s refused %s.", text.FullName(space.GetParentName(), space.GetName()), code)
}

// atDoor reports whether a step with this kind, such as doorOpenedByStaff, is an opening or a refusal at a door.
func atDoor(kind string) bool {
	return strings.HasPrefix(kind, "doorOpened") || strings.HasSuffix(kind, "Denied")
}
