package property

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/space"
)

type locks struct {
	propertyv1.UnimplementedLockServiceServer
	Deps
}

// ListLocks lists a page of the locks that the request selects, the oldest first, with the number of all that it selects.
func (s *locks) ListLocks(ctx context.Context, r *propertyv1.ListLocksRequest) (*propertyv1.ListLocksResponse, error) {
	propertyID, p, err := callerPage(ctx, r)
	if err != nil {
		return nil, err
	}
	filter := lock.ListFilter{BridgeID: r.GetBridgeId(), Unassigned: r.GetUnassignedOnly(), DoorIDs: r.GetDoorIds(), BatteryAtMost: intOrNil(r.BatteryAtMost)}
	rows, total, err := lock.List(s.DB.View(ctx), propertyID, filter, p.Number*p.Limit, p.Limit)
	if err != nil {
		return nil, err
	}
	list, err := lockMessages(s.DB.View(ctx), propertyID, rows...)
	if err != nil {
		return nil, err
	}
	return &propertyv1.ListLocksResponse{Data: &propertyv1.LockList{List: list, NextPageToken: nextPageToken(p, total), Total: int32(total)}}, nil
}

// GetLockHistory returns the battery and clock readings of a lock and the times without connection since a time, or all without one, as far
// as [lock.History] goes. The first reading can be older, because it was still valid then. It also returns the last maxOpenings events,
// without changes of the evidence of codes.
func (s *locks) GetLockHistory(ctx context.Context, r *propertyv1.GetLockHistoryRequest) (*propertyv1.GetLockHistoryResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	row, err := lock.Get(view, propertyID, r.GetId())
	if err != nil {
		return nil, err
	}
	var since time.Time
	if r.Since != nil {
		since = r.GetSince().AsTime()
	}
	history, err := lock.History(view, propertyID, row.ID, since)
	if err != nil {
		return nil, err
	}
	events, err := lock.LastEvents(view, propertyID, row.ID, maxOpenings)
	if err != nil {
		return nil, err
	}
	out := &propertyv1.LockHistory{Battery: readingMessages(history[lock.BatterySample]), Clock: readingMessages(history[lock.ClockSample])}
	for _, g := range lock.GapsOf(history[lock.LinkSample]) {
		out.Gaps = append(out.Gaps, &propertyv1.LockGap{From: timestamppb.New(g.From), Until: clock.Timestamp(g.Until)})
	}
	for _, e := range events {
		m := &propertyv1.LockHistoryEvent{At: timestamppb.New(e.OccurredAt), Kind: e.Kind}
		m.Reason, _ = e.Body["reason"].(string)
		m.DoorId, _ = e.Body["doorId"].(string)
		out.Events = append(out.Events, m)
	}
	return &propertyv1.GetLockHistoryResponse{Data: out}, nil
}

// readingMessages converts samples of one kind, such as the battery level of a lock.
func readingMessages(all []lock.Sample) (out []*propertyv1.LockReading) {
	for _, s := range all {
		out = append(out, &propertyv1.LockReading{At: timestamppb.New(s.At), Value: s.Value})
	}
	return out
}

// GetLock returns a lock and its slots that ever had a code, each with the reservation or the other code (such as a staff code) that it
// belongs to.
func (s *locks) GetLock(ctx context.Context, r *propertyv1.GetLockRequest) (*propertyv1.GetLockResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	row, err := lock.Get(s.DB.View(ctx), propertyID, r.GetId())
	if err != nil {
		return nil, err
	}
	m, err := lockMessage(s.DB.View(ctx), propertyID, row)
	if err != nil {
		return nil, err
	}
	slots, err := lock.Slots(s.DB.View(ctx), propertyID, row.ID)
	if err != nil {
		return nil, err
	}
	var grants []string
	for _, sl := range slots {
		if sl.GrantID != "" {
			grants = append(grants, sl.GrantID)
		}
	}
	stays, err := access.ReservationsOf(s.DB.View(ctx), propertyID, grants)
	if err != nil {
		return nil, err
	}
	answer := &propertyv1.GetLockResponse{Data: m}
	for _, sl := range slots {
		answer.Slots = append(answer.Slots, slotMessage(sl, stays[sl.GrantID], s.DB.View(ctx).Now()))
	}
	return answer, nil
}

// UpdateLock renames a lock, which then ignores the name that its bridge suggests.
func (s *locks) UpdateLock(ctx context.Context, r *propertyv1.UpdateLockRequest) (*propertyv1.UpdateLockResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.UpdateLockResponse, error) {
		if err := RequireName("name", r.GetName()); err != nil {
			return nil, err
		}
		row, err := lock.Rename(tx, propertyID, r.GetId(), r.GetName())
		if err != nil {
			return nil, err
		}
		m, err := lockMessage(tx, propertyID, row)
		return &propertyv1.UpdateLockResponse{Data: m}, err
	})
}

// AssignLock moves a lock to a door, or without a doorId removes it from its door, and recomputes the access of the stays at both doors. It
// fails if the door has another lock, or the lock is no longer at the request's fromDoorId.
func (s *locks) AssignLock(ctx context.Context, r *propertyv1.AssignLockRequest) (*propertyv1.AssignLockResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.AssignLockResponse, error) {
		before, err := lock.Get(tx, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		if err := checkFromDoor(r, convert.OrEmpty(before.DoorID)); err != nil {
			return nil, err
		}
		touched, err := space.StaysAtDoors(tx, propertyID, convert.OrEmpty(before.DoorID), r.GetDoorId())
		if err != nil {
			return nil, err
		}
		row, err := lock.AssignDoor(tx, propertyID, r.GetId(), r.GetDoorId())
		if err != nil {
			return nil, err
		}
		if err := s.Replan(tx, propertyID, touched); err != nil {
			return nil, err
		}
		m, err := lockMessage(tx, propertyID, row)
		return &propertyv1.AssignLockResponse{Data: m}, err
	})
}

// checkFromDoor returns an error if the lock is no longer at the door where the caller saw it, fromDoorId. It is no error if the request
// has no fromDoorId, or the lock is already at the requested door. currentDoorID is "" if the lock is on no door.
func checkFromDoor(r *propertyv1.AssignLockRequest, currentDoorID string) error {
	if r.FromDoorId == nil || currentDoorID == r.GetFromDoorId() || currentDoorID == r.GetDoorId() {
		return nil
	}
	return fault.New(fault.Aborted, fault.Outdated, "changed since you read it: doorId. Read the lock again").Put("changed", "doorId")
}

// UnlockLock opens a door and waits for the result. A refusal by the lock is a result, and so is resultUnknown. If no result comes in time,
// it returns DeadlineExceeded with an actId, and the door was possibly opened. After any other [fault.Fault], nothing was or will be sent;
// after other errors, that is unknown. It stores the unlock command under the caller's Idempotency-Key before it sends it, so that a
// repeated call, also after a crash, returns the known outcome and does not open the door again.
func (s *locks) UnlockLock(ctx context.Context, r *propertyv1.UnlockLockRequest) (*propertyv1.UnlockLockResponse, error) {
	who, _ := actor.From(ctx)
	until := chain.ActionDeadline(ctx, cmp.Or(s.OpenWithin, lock.MaxDeadline))
	waiting, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var order lock.UnlockCommand
	answer, err := writeAsStaff(waiting, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.UnlockLockResponse, error) {
		var err error
		if order, err = lock.StoreCommand(tx, s.Here, propertyID, r.GetId(), who.Author(), until); err != nil {
			return nil, err
		}
		return &propertyv1.UnlockLockResponse{Data: &propertyv1.Act{
			Id: order.CommandID, LockId: r.GetId(), Result: resultUnknown, Deadline: timestamppb.New(order.Deadline),
		}}, nil
	})
	if err != nil {
		s.Unsent(err)
		return nil, lock.TooLateOnTimeout(err)
	}
	outcome, err := s.SendCommand(ctx, order)
	if err != nil {
		return nil, err
	}
	if timedOut(order, outcome) {
		return nil, fault.New(fault.Deadline, fault.DeadlineExceeded,
			"the lock did not report a result in time: the door may have been opened, and will not be opened any more; check the door before you try again").Put("actId", order.CommandID)
	}
	setOutcome(answer.Data, outcome)
	return answer, nil
}

// timedOut reports whether the deadline of an unlock command passed without a report from the bridge.
func timedOut(order lock.UnlockCommand, o lock.Outcome) bool {
	return o.State == lock.CommandUnknown && o.Result == "" && !o.At.IsZero() && !o.At.Before(order.Deadline)
}

// renderCommand is the idem.Renderer of UnlockLock: it updates a repeated answer with the current outcome of the unlock command. A command
// without a report remains unknown, which is no error here, unlike in UnlockLock.
func (s *locks) renderCommand(ctx context.Context, answer proto.Message) error {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return err
	}
	command := answer.(*propertyv1.UnlockLockResponse).GetData()
	outcome, err := lock.GetCommand(s.DB.View(ctx), propertyID, command.GetId())
	if err != nil {
		return err
	}
	setOutcome(command, outcome)
	return nil
}

var _ idem.Renderer = (&locks{}).renderCommand

// resultUnknown is the result of an unlock command without a report from the bridge. The command was possibly sent.
const resultUnknown = "unknown"

// commandResults maps the stored state of an unlock command to the result in API answers.
var commandResults = map[string]string{
	lock.CommandDone: "opened", lock.CommandFailed: "refused", lock.CommandExpired: "expired",
	lock.CommandUnknown: resultUnknown, lock.CommandStored: resultUnknown, lock.CommandClaimed: resultUnknown,
}

// setOutcome sets the result of an unlock command, with the reason if the lock did not open.
func setOutcome(m *propertyv1.Act, o lock.Outcome) {
	m.Result = commandResults[o.State]
	if m.Result != "opened" {
		m.Reason = convert.TextOrNil(o.Result)
	}
	m.FinishedAt = clock.Timestamp(o.At)
}

// lockMessage converts a lock with its state and the name of its door.
func lockMessage(view *db.Tx, propertyID string, row *lock.Row) (*propertyv1.Lock, error) {
	list, err := lockMessages(view, propertyID, row)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// lockMessages converts locks with their state and the names of their doors.
func lockMessages(view *db.Tx, propertyID string, rows ...*lock.Row) ([]*propertyv1.Lock, error) {
	states, err := lock.LoadStates(view, view.Now(), propertyID, rows)
	if err != nil {
		return nil, err
	}
	var doors []string
	for _, row := range rows {
		if row.DoorID != nil {
			doors = append(doors, *row.DoorID)
		}
	}
	names, err := access.DoorNames(view, propertyID, doors)
	if err != nil {
		return nil, err
	}
	list := make([]*propertyv1.Lock, 0, len(rows))
	for _, row := range rows {
		m := &propertyv1.Lock{
			Id: row.ID, Name: row.Name, Kind: row.Kind, BridgeId: row.BridgeID, Address: row.Address, Model: row.Model,
			DoorId: row.DoorID, Status: healthMessage(row, states[row.ID], view.Now()), Abilities: abilitiesMessage(row),
			CreatedAt: timestamppb.New(row.CreatedAt),
		}
		if row.DoorID != nil {
			name := names[*row.DoorID]
			m.DoorName, m.DoorParentName = convert.TextOrNil(name.Name), convert.TextOrNil(name.Parent)
		}
		list = append(list, m)
	}
	return list, nil
}

// abilitiesMessage converts what the hardware of a lock can do.
func abilitiesMessage(row *lock.Row) *propertyv1.LockAbilities {
	c := row.Capabilities
	m := &propertyv1.LockAbilities{
		PinMinLength: int32(c.PINMin), PinMaxLength: int32(c.PINMax), SlotsTotal: int32(c.Slots),
		RemoteUnlock: c.RemoteUnlock, ReadBack: c.ReadBack, NativeSchedule: string(c.Schedule),
		KeypadPause: c.KeypadPause, Guessable: lock.Guessable(c, row.Status), Lockout: string(lock.LockoutOf(c, row.Status)),
	}
	if m.Lockout == string(lock.LockoutVerified) {
		m.LockoutAttempts, m.LockoutSeconds = int32(row.Status.LockoutAttempts), int32(row.Status.LockoutSeconds) // values were bounded when the bridge reported them
	}
	return m
}
