package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

type lockCommands struct {
	remote `embed:""`

	List     lockList     `cmd:"" help:"List locks, their doors and their state."`
	Show     lockShow     `cmd:"" help:"Show a lock and its slots, without PINs."`
	History  lockHistory  `cmd:"" help:"Show how battery, clock and connection of a lock changed, and its last events."`
	Rename   lockRename   `cmd:"" help:"Rename a lock."`
	Assign   lockAssign   `cmd:"" help:"Assign a lock to a door: a space or a gate."`
	Unassign lockUnassign `cmd:"" help:"Remove a lock from its door."`
	Unlock   lockUnlock   `cmd:"" help:"Open a lock now, once."`
}

type lockList struct {
	Bridge     string `placeholder:"BRIDGE" help:"Only locks of this bridge, by name or id."`
	Unassigned bool   `help:"Only locks without a door."`
	Battery    *int32 `placeholder:"PERCENT" help:"Only locks whose battery is low, has at most this charge, or is not known."`
}

// Run prints the locks that the flags select. It fails if --bridge names no bridge.
func (c *lockList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		if err := s.resolveBridge(&c.Bridge); err != nil {
			return err
		}
		all, err := s.allLocks(&propertyv1.ListLocksRequest{BridgeId: c.Bridge, UnassignedOnly: c.Unassigned, BatteryAtMost: c.Battery})
		if err != nil {
			return err
		}
		list := &propertyv1.LockList{List: all, Total: int32(len(all))} // a property has far fewer locks than an int32 can count
		return s.printAnswer(&propertyv1.ListLocksResponse{Data: list}, nil, func() { s.printLockTable(c.emptyText(), s.bridgeNames(all), all) })
	})
}

// allLocks loads all locks that match a request, page by page. It overwrites the page size and token in req.
func (s *session) allLocks(req *propertyv1.ListLocksRequest) ([]*propertyv1.Lock, error) {
	req.PageSize = 200
	return allPages(func(token string) (*propertyv1.LockList, error) {
		req.PageToken = token
		answer, err := propertyv1.NewLockServiceClient(s.conn).ListLocks(s, req)
		return answer.GetData(), err
	})
}

// emptyText returns the text to print if the list of locks is empty. It depends on the flags.
func (c *lockList) emptyText() string {
	switch {
	case c.Battery != nil:
		return fmt.Sprintf("None of these locks has a battery that is low, at %d %% or below, or not known.", *c.Battery)
	case c.Unassigned:
		return "Every lock has a door."
	case c.Bridge != "":
		return "That bridge has no lock yet. Locks appear when it connects: latchkey bridge list"
	}
	return noLock
}

// resolveBridge replaces the name or id of a bridge by its id, and fails if there is no such bridge. Otherwise a wrong id would give an
// empty list of locks. An empty text stays empty.
func (s *session) resolveBridge(bridge *string) error {
	if *bridge == "" {
		return nil
	}
	list, err := aBridge.list(s)
	if err != nil {
		return err
	}
	if *bridge, err = aBridge.choose(*bridge, list); err != nil {
		return s.errWithTypedFlags(err)
	}
	return nil
}

type lockShow struct {
	ID string `arg:"" name:"lock" help:"The lock's name, address or id (lck_...)."`
}

// Run prints a lock: its state, what it can do, and its slots without PINs.
func (c *lockShow) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aLock, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewLockServiceClient(s.conn).GetLock(s, &propertyv1.GetLockRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.printLock(answer) })
	})
}

type lockHistory struct {
	ID string `arg:"" name:"lock" help:"The lock's name, address or id (lck_...)."`
}

func (lockHistory) Help() string {
	return `Example:
  latchkey lock history "Room 101"`
}

// Run prints what was recorded of a lock, oldest first: battery, clock, times without a connection, and its last events.
func (c *lockHistory) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aLock, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewLockServiceClient(s.conn).GetLockHistory(s, &propertyv1.GetLockHistoryRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() {
			s.printTable("Nothing was recorded yet.", []string{"at", "what", "value"}, historyRows(answer.GetData()))
		})
	})
}

// historyRows returns the rows of a table of the history of a lock, oldest first: battery, clock, times without a connection, and events.
func historyRows(h *propertyv1.LockHistory) [][]string {
	type moment struct {
		at          *timestamppb.Timestamp
		what, value string
	}
	var all []moment
	for _, x := range h.GetBattery() {
		all = append(all, moment{x.GetAt(), "battery", fmt.Sprintf("%d %%", x.GetValue())})
	}
	for _, x := range h.GetClock() {
		all = append(all, moment{x.GetAt(), "clock", aheadText(x.GetValue())})
	}
	for _, x := range h.GetGaps() {
		until := "until now"
		if x.GetUntil() != nil {
			until = "until " + formatTime(x.GetUntil())
		}
		all = append(all, moment{x.GetFrom(), "not reachable", until})
	}
	for _, x := range h.GetEvents() {
		all = append(all, moment{x.GetAt(), "event", strings.TrimSpace(x.GetKind() + " " + x.GetReason())})
	}
	slices.SortStableFunc(all, func(a, b moment) int { return a.at.AsTime().Compare(b.at.AsTime()) })
	var rows [][]string
	for _, m := range all {
		rows = append(rows, []string{formatTime(m.at), m.what, m.value})
	}
	return rows
}

// aheadText returns how many milliseconds a clock is ahead or behind, as text.
func aheadText(ms int64) string {
	if ms < 0 {
		return fmt.Sprintf("%d ms behind", -ms)
	}
	return fmt.Sprintf("%d ms ahead", ms)
}

type lockRename struct {
	ID   string `arg:"" name:"lock" help:"The lock's name, address or id (lck_...)."`
	Name string `arg:"" help:"The new name."`
}

// Run gives a lock another name, and prints the lock.
func (c *lockRename) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aLock, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewLockServiceClient(s.conn).UpdateLock(s, &propertyv1.UpdateLockRequest{Id: c.ID, Name: c.Name})
		return s.printAnswer(answer, err, func() { s.printLocks([]*propertyv1.Lock{answer.GetData()}) })
	})
}

type lockAssign struct {
	ID   string `arg:"" optional:"" name:"lock" help:"The lock's name, address or id (lck_...)."`
	Door string `arg:"" optional:"" help:"The space or gate, by name or id. A bed also as DORM/BED."`
	File string `placeholder:"FILE" help:"Assign many locks: a CSV file with the columns lock,door. - reads standard input."`
}

// Help returns what --help adds: what happens to codes, the format of the file of --file, and examples.
func (lockAssign) Help() string {
	return `The codes of current stays move to the lock at once. Examples:
  latchkey lock assign 201 201
  latchkey lock assign 0x00158d0001a2b3c4 "Main entrance"
  latchkey lock assign --file locks.csv

In a file, the first line names the columns, and each other line names a lock and a door. If a line is wrong, nothing is assigned:
  lock,door
  201,201
  Front,Main entrance`
}

// Run assigns one lock to a door or, with --file, many locks. A lock may move from another door. The codes of current stays move to the
// lock at once. It fails if the door has another lock.
func (c *lockAssign) Run(ctx context.Context, r *remote, io *streams) error {
	switch {
	case c.File != "" && c.ID != "":
		return errors.New("name a lock and a door, or --file, not both")
	case c.File != "":
		return assignFile(ctx, r, io, c.File)
	case c.Door == "":
		return errors.New("name a lock and a door (latchkey lock list, latchkey space list), or many with --file")
	}
	return assign(ctx, r, io, c.ID, c.Door)
}

type lockUnassign struct {
	ID string `arg:"" name:"lock" help:"The lock's name, address or id (lck_...)."`
}

// Run removes a lock from its door. Stays lose their codes on it.
func (c *lockUnassign) Run(ctx context.Context, r *remote, io *streams) error {
	return assign(ctx, r, io, c.ID, "")
}

// assign carries out lock assign and, with an empty door, lock unassign. lock and door are names or ids.
func assign(ctx context.Context, r *remote, io *streams, lock, door string) error {
	return r.asStaff(ctx, io, func(s *session) error {
		if err := s.resolve(aLock, &lock); err != nil {
			return err
		}
		if err := s.resolve(aDoor, &door); err != nil {
			return err
		}
		answer, err := propertyv1.NewLockServiceClient(s.conn).AssignLock(s, &propertyv1.AssignLockRequest{Id: lock, DoorId: &door})
		return s.printAnswer(answer, err, func() {
			s.printLocks([]*propertyv1.Lock{answer.GetData()})
			if door != "" {
				s.sayAfterAssign()
			}
		})
	})
}

type lockUnlock struct {
	ID     string `arg:"" name:"lock" help:"The lock's name, address or id (lck_...)."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log."`
}

// Help returns what --help adds: what the result "unknown" means.
func (lockUnlock) Help() string {
	return `The door opens at most once, within ten seconds of the call, or not at all. The result "unknown" means that no answer came: the door may have opened, or may open until the ten seconds are over. Wait and check the door before you try again.`
}

// unopenedError returns the error of an unlock command whose result is not "opened": the door did not open, or it is unknown whether it
// did.
func unopenedError(command *propertyv1.Act) error {
	why := command.GetReason()
	if w := whyNot[why]; w != "" {
		why = w
	}
	message := "the door did not open"
	switch command.GetResult() {
	case "unknown":
		message = "the door may have opened"
		if command.GetDeadline() != nil {
			message += ", or may open until " + command.GetDeadline().AsTime().Format(time.TimeOnly) + " UTC"
		}
		why = cmp.Or(why, "no answer came")
	case "expired":
		why = cmp.Or(why, "the command did not reach the lock in time")
	}
	if why != "" {
		message += ": " + why
	}
	return fault.New(fault.Precondition, cmp.Or(fault.Reason(command.GetReason()), fault.UnavailableReason), "%s", message)
}

// whyNot maps the reason of a failed unlock command to text. Other reasons are printed unchanged.
var whyNot = map[string]string{
	"jammed": "the bolt is jammed", "lockOffline": "the lock cannot be reached", "busy": "the lock is busy", "timeout": "the lock did not answer",
	"unconfirmed": "the lock did not confirm it", "lowPower": "the battery is too low", "unsupported": "the lock cannot be opened remotely",
}

// Run sends an unlock command to a lock, and prints the result. It fails unless the result is "opened". A failure does not mean that the
// door stayed closed: see unopenedError.
func (c *lockUnlock) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aLock, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewLockServiceClient(s.conn).UnlockLock(s, &propertyv1.UnlockLockRequest{Id: c.ID, Reason: c.Reason})
		command := answer.GetData()
		if err := s.printAnswer(answer, err, func() {
			s.printFacts("command", command.GetId(), "result", command.GetResult(), "reason", command.GetReason())
		}); err != nil {
			return err
		}
		if command.GetResult() != "opened" {
			return unopenedError(command)
		}
		return nil
	})
}

const noLock = "There is no lock yet. Locks appear when their bridge connects: latchkey bridge list"

// printLocks prints a table of locks with the names of their bridges, which it loads, or the text noLock if there are none.
func (s *session) printLocks(list []*propertyv1.Lock) {
	s.printLockTable(noLock, s.bridgeNames(list), list)
}

// printLockTable prints a table of locks, or the text none if there are none. bridges has the names of bridges by their ids; a bridge without
// one is shown by its id.
func (s *session) printLockTable(none string, bridges map[string]string, list []*propertyv1.Lock) {
	var rows [][]string
	for _, l := range list {
		battery, door := "-", dash(l.GetDoorId())
		if l.GetStatus().BatteryPercent != nil {
			battery = fmt.Sprintf("%d%%", l.GetStatus().GetBatteryPercent())
		}
		if l.GetDoorName() != "" {
			door = text.FullName(l.GetDoorParentName(), l.GetDoorName())
		}
		rows = append(rows, []string{l.GetId(), l.GetName(), door, onlineText(l.GetStatus()), dash(l.GetStatus().GetBolt()), battery, cmp.Or(bridges[l.GetBridgeId()], l.GetBridgeId()), l.GetAddress()})
	}
	s.printTable(none, []string{"id", "name", "door", "online", "bolt", "battery", "bridge", "address"}, rows)
}

// onlineText returns yes if a lock is reachable, and otherwise no with the reason, if it is known.
func onlineText(st *propertyv1.LockStatus) string {
	if st.GetOnline() || st.GetOfflineReason() == "" {
		return yesOrNo(st.GetOnline())
	}
	return "no (" + st.GetOfflineReason() + ")"
}

// printLock prints everything about one lock: its state, what it can do, and its slots without PINs.
func (s *session) printLock(a *propertyv1.GetLockResponse) {
	l, can, st := a.GetData(), a.GetData().GetAbilities(), a.GetData().GetStatus()
	s.printLocks([]*propertyv1.Lock{l})
	s.say("")
	s.printFacts("model", l.GetModel(), "kind", l.GetKind(), "last seen", formatTime(l.GetStatus().GetLastSeenAt()), "firmware", l.GetStatus().GetFirmware(),
		"PIN length", fmt.Sprintf("%d to %d", can.GetPinMinLength(), can.GetPinMaxLength()), "slots", fmt.Sprintf("%d, %d free", can.GetSlotsTotal(), st.GetSlotsFree()),
		"why offline", dash(st.GetOfflineReason()), "battery read", formatTime(st.GetBatteryObservedAt()), "battery low", yesOrNo(st.GetBatteryLow()), "clock", clockText(st),
		"remote unlock", yesOrNo(can.GetRemoteUnlock()), "read back", yesOrNo(can.GetReadBack()), "schedule", can.GetNativeSchedule(),
		"wrong PINs", wrongPINText(can, st))
	s.say("")
	var rows [][]string
	for _, sl := range a.GetSlots() {
		whose := dash(sl.GetReservationId() + sl.GetCodeId())
		if sl.GetUnmanaged() {
			whose = "foreign code"
		}
		rows = append(rows, []string{fmt.Sprint(sl.GetNumber()), sl.GetEvidence(), dash(sl.GetResult()), whose, formatTime(sl.GetNotBefore()), formatTime(sl.GetNotAfter()), formatTime(sl.GetUsedAt())})
	}
	s.printTable("No slot has been used.", []string{"slot", "evidence", "result", "used by", "opens from", "until", "used"}, rows)
}

// wrongPINText returns how a lock or its bridge reacts to wrong PINs, or a dash if that is not known. can is what the lock can do; s is its
// status.
func wrongPINText(can *propertyv1.LockAbilities, s *propertyv1.LockStatus) string {
	if s.GetKeypadPausedUntil() != nil {
		return "the keypad is paused until " + formatTime(s.GetKeypadPausedUntil())
	}
	switch {
	case can.GetLockout() == "verified":
		return fmt.Sprintf("lockout for %[2]d s after %[1]d in a row (verified)", can.GetLockoutAttempts(), can.GetLockoutSeconds())
	case can.GetKeypadPause():
		return "the bridge pauses the keypad"
	case can.GetLockout() == "unverified":
		return "the lock has a lockout, but its limits cannot be read"
	case can.GetGuessable():
		return "no lockout: PINs can be guessed"
	}
	return "-"
}

// clockText returns how wrong a lock's clock is, and whether the server trusts it to enforce validity windows, or "unknown" if that was not
// measured.
func clockText(s *propertyv1.LockStatus) string {
	switch {
	case s.ClockOffsetMs == nil:
		return "unknown"
	case s.GetClockUntrusted():
		return fmt.Sprintf("%.1f s off, not trusted", float64(s.GetClockOffsetMs())/1000)
	}
	return fmt.Sprintf("%.1f s off", float64(s.GetClockOffsetMs())/1000)
}
