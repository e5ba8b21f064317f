package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type codeCommands struct {
	remote `embed:""`

	List   codeList   `cmd:"" help:"List staff codes, one-time codes and backup codes, without PINs."`
	Show   codeShow   `cmd:"" help:"Show a code and the locks that have it, without the PIN."`
	Create codeCreate `cmd:"" help:"Create a staff code or a one-time code."`
	Reveal codeReveal `cmd:"" help:"Show the PIN of a code. The server records who read it, and when."`
	Revoke codeRevoke `cmd:"" help:"End a code at once."`
	Swap   codeSwap   `cmd:"" help:"End the two backup codes of a lock and make two new ones."`
}

type codeList struct {
	Kind  string `enum:",staff,oneTime,backup" default:"" help:"Only codes of this kind: staff, oneTime or backup."`
	Lock  string `placeholder:"LOCK" help:"Only the backup codes of this lock, by name, address or id."`
	Ended bool   `help:"Include ended codes."`
}

// Run prints the codes that the flags select, without PINs. Ended codes are left out unless --ended is set. It fails if --lock names no
// lock, instead of printing an empty list.
func (c *codeList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aLock, &c.Lock, func(s *session) error {
		if c.Lock != "" {
			if _, err := propertyv1.NewLockServiceClient(s.conn).GetLock(s, &propertyv1.GetLockRequest{Id: c.Lock}); err != nil {
				return err
			}
		}
		all, err := s.allCodes(&propertyv1.ListCodesRequest{Kind: c.Kind, LockId: c.Lock, Ended: c.Ended})
		if err != nil {
			return err
		}
		return s.printAnswer(&propertyv1.ListCodesResponse{Data: &propertyv1.CodeList{List: all}}, nil, func() { s.printCodeTable(c.emptyText(), all) })
	})
}

// allCodes loads all codes that match a request, without their PINs. It overwrites the page size and token in req.
func (s *session) allCodes(req *propertyv1.ListCodesRequest) ([]*propertyv1.Code, error) {
	req.PageSize = 200
	return allPages(func(token string) (*propertyv1.CodeList, error) {
		req.PageToken = token
		answer, err := propertyv1.NewCodeServiceClient(s.conn).ListCodes(s, req)
		return answer.GetData(), err
	})
}

// emptyText returns the text to print if the list is empty. It suggests how to create a code.
func (c *codeList) emptyText() string {
	switch {
	case c.Lock != "" || c.Kind == "backup":
		return "There is no backup code. To give each lock on a door two backup codes: latchkey property set --backup-codes"
	case c.Kind == "oneTime":
		return "There is no one-time code. Create one: latchkey code create HOLDER --one-time"
	}
	return noCode
}

type codeShow struct {
	ID string `arg:"" name:"code" help:"The code's holder or id (cod_...)."`
}

// Run prints a code and the locks that have it, without the PIN. An ended code is found only by its id.
func (c *codeShow) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aCode, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewCodeServiceClient(s.conn).GetCode(s, &propertyv1.GetCodeRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() {
			m := answer.GetData()
			s.printCodes([]*propertyv1.Code{m})
			s.say("")
			s.printFacts("hours", hoursText(m.GetHours()), "opens from", formatTime(m.GetNotBefore()), "until", formatTime(m.GetNotAfter()), "why it ended", dash(m.GetEndReason()),
				"used", formatTime(m.GetUsedAt()), "PIN last read", formatTime(m.GetReadAt()), "by", dash(m.GetReadBy()), "made by", m.GetCreatedBy())
			s.say("")
			var rows [][]string
			for _, p := range answer.GetPlaces() {
				rows = append(rows, []string{spaceText(p.GetDoorParentName(), p.GetDoorName()), p.GetLockId(), p.GetEvidence(), dash(p.GetResult()), formatTime(p.GetNotBefore()), formatTime(p.GetNotAfter()), formatTime(p.GetUsedAt())})
			}
			s.printTable("No lock has this code.", []string{"door", "lock", "evidence", "result", "opens from", "until", "used here"}, rows)
		})
	})
}

type codeCreate struct {
	Holder   string   `arg:"" help:"Who uses the code, such as \"Cleaning, Ana\"."`
	Door     []string `placeholder:"DOOR" help:"A space or gate that it opens, by name or id. Repeat for more."`
	AllRooms bool     `help:"Every space with a lock, in addition to --door."`
	Hours    []string `sep:"none" placeholder:"DAYS FROM-TO" help:"Weekly hours, such as \"mon-fri 08:00-16:00\" or \"sat,sun 22:00-06:00\". Repeat for more. Left out: at any time."`
	From     string   `placeholder:"TIME" help:"Start of the code, such as 2026-07-01T08:00:00+02:00. Left out: now."`
	Until    string   `placeholder:"TIME" help:"End of the code. Left out: no end."`
	OneTime  bool     `help:"End the code when it has opened a door once."`
}

// Help returns what --help adds: who makes the PIN, and examples.
func (codeCreate) Help() string {
	return `The server generates the PIN; latchkey code reveal shows it. Examples:
  latchkey code create "Cleaning, Ana" --all-rooms --door "Main entrance" --hours "mon-fri 08:00-16:00"
  latchkey code create Plumber --door 201 --one-time`
}

// Run creates a staff code or one-time code, and prints it without its PIN, which the server generates.
func (c *codeCreate) Run(ctx context.Context, r *remote, io *streams) error {
	req := &propertyv1.CreateCodeRequest{Kind: "staff", Holder: c.Holder, DoorIds: c.Door, AllRooms: c.AllRooms}
	if c.OneTime {
		req.Kind = "oneTime"
	}
	for _, text := range c.Hours {
		h, err := readHours(text)
		if err != nil {
			return err
		}
		req.Hours = append(req.Hours, h)
	}
	for _, t := range []struct {
		flag, text string
		to         **timestamppb.Timestamp
	}{{"--from", c.From, &req.NotBefore}, {"--until", c.Until, &req.NotAfter}} {
		if t.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, t.text)
		if err != nil {
			return fmt.Errorf("%s %q: must be a time with an offset, such as 2026-07-01T08:00:00+02:00", t.flag, t.text)
		}
		*t.to = timestamppb.New(at)
	}
	return r.asStaff(ctx, io, func(s *session) error {
		if err := s.resolveAll(aDoor, req.DoorIds); err != nil {
			return err
		}
		answer, err := propertyv1.NewCodeServiceClient(s.conn).CreateCode(s, req)
		return s.printAnswer(answer, err, func() {
			s.printCodes([]*propertyv1.Code{answer.GetData()})
			s.say("%s", s.withTypedFlags("To see the PIN: latchkey code reveal "+answer.GetData().GetId()))
		})
	})
}

type codeReveal struct {
	ID     string `arg:"" name:"code" help:"The code's holder or id (cod_...)."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
}

// Run prints the PIN of a code, and those of doors where it has another. The server records who read it. It fails if the code has ended.
func (c *codeReveal) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aCode, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewCodeServiceClient(s.conn).RevealCode(s, &propertyv1.RevealCodeRequest{Id: c.ID, Reason: c.Reason})
		return s.printAnswer(answer, err, func() {
			s.printFacts("holder", answer.GetData().GetHolder(), "PIN", dash(answer.GetPin()))
			for _, p := range answer.GetDoorPins() {
				s.printFacts("PIN at "+p.GetDoorId(), p.GetPin())
			}
		})
	})
}

type codeRevoke struct {
	ID string `arg:"" name:"code" help:"The code's holder or id (cod_...)."`
}

// Run ends a code at once. Locks that cannot be reached have it until they can: latchkey code show lists them. Run does nothing to a code
// that has ended.
func (c *codeRevoke) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aCode, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewCodeServiceClient(s.conn).RevokeCode(s, &propertyv1.RevokeCodeRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() {
			s.printCodes([]*propertyv1.Code{answer.GetData()})
			s.say("%s", s.withTypedFlags("To see whether each lock has removed it: latchkey code show "+c.ID))
		})
	})
}

type codeSwap struct {
	Lock string `arg:"" help:"The lock's name, address or id (lck_...)."`
}

// Run ends the two backup codes of a lock and prints two new ones, without PINs. It fails if the lock cannot have any: it is on no door, it
// has few slots, or the property's setting is off.
func (c *codeSwap) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aLock, &c.Lock, func(s *session) error {
		answer, err := propertyv1.NewCodeServiceClient(s.conn).SwapBackupCodes(s, &propertyv1.SwapBackupCodesRequest{LockId: c.Lock})
		return s.printAnswer(answer, err, func() { s.printCodes(answer.GetData()) })
	})
}

const noCode = "There is no code yet. Create one: latchkey code create"

// printCodes prints a table of codes, without their PINs.
func (s *session) printCodes(list []*propertyv1.Code) { s.printCodeTable(noCode, list) }

// printCodeTable is printCodes with another text, none, for an empty list.
func (s *session) printCodeTable(none string, list []*propertyv1.Code) {
	var rows [][]string
	for _, c := range list {
		where := formatCount(len(c.GetDoorIds()), "door")
		switch {
		case c.LockId != nil:
			where = c.GetLockId()
		case c.GetAllRooms() && len(c.GetDoorIds()) > 0:
			where = "all rooms, " + where
		case c.GetAllRooms():
			where = "all rooms"
		}
		state := c.GetState()
		if c.GetState() == "ended" && !c.GetRemoved() {
			state = "ended, being removed"
		}
		rows = append(rows, []string{c.GetId(), c.GetKind(), c.GetHolder(), where, hoursText(c.GetHours()), state, formatTime(c.GetUsedAt())})
	}
	s.printTable(none, []string{"id", "kind", "holder", "where", "hours", "state", "used"}, rows)
}

var weekdays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// readHours parses the value of --hours, weekly hours such as "mon-fri 08:00-16:00". Days may wrap around: sat-mon. The server checks the
// times.
func readHours(text string) (*propertyv1.WeeklyHours, error) {
	wrong := fmt.Errorf("--hours %q: must be days and hours, such as \"mon-fri 08:00-16:00\" or \"sat,sun 22:00-06:00\"", text)
	days, hours, ok := strings.Cut(text, " ")
	from, to, ok2 := strings.Cut(hours, "-")
	if !ok || !ok2 || !strings.Contains(from, ":") || !strings.Contains(to, ":") {
		return nil, wrong
	}
	h := &propertyv1.WeeklyHours{From: from, To: to}
	for _, part := range strings.Split(days, ",") {
		first, last, span := strings.Cut(part, "-")
		if !span {
			last = first
		}
		a, b := weekday(first), weekday(last)
		if a == 0 || b == 0 {
			return nil, wrong
		}
		for d := a; ; d = d%7 + 1 {
			h.Days = append(h.Days, d)
			if d == b {
				break
			}
		}
	}
	return h, nil
}

// weekday returns the number of a day from its name: 1 for mon to 7 for sun, or 0 if the name is wrong.
func weekday(name string) int32 {
	for i, d := range weekdays {
		if strings.EqualFold(d, name) {
			return int32(i) + 1 // no overflow: i is 0 to 6
		}
	}
	return 0
}

// hoursText formats weekly hours for people: each entry like a value of --hours, with semicolons between entries; "any" without entries.
func hoursText(hours []*propertyv1.WeeklyHours) string {
	if len(hours) == 0 {
		return "any"
	}
	var out []string
	for _, h := range hours {
		var days []string
		for _, d := range h.GetDays() {
			days = append(days, weekdays[(d+6)%7])
		}
		out = append(out, strings.Join(days, ",")+" "+h.GetFrom()+"-"+h.GetTo())
	}
	return strings.Join(out, "; ")
}
