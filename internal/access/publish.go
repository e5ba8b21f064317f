package access

import (
	"fmt"
	"maps"
	"slices"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/access/pin"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/text"
	"latchkey.dev/internal/watch"
)

// publish emits the events and notices of a run, and reconciles the other reservations that it affects. It also notifies the streams of
// staff if the access changed, and the subscribers of [Changed] unless the grant is new.
func (run *stayRun) publish(p Plan) error {
	d := run.delta()
	if err := run.appendEvents(d, p); err != nil {
		return err
	}
	if isLive(run.grant) {
		if err := run.notify(d, p); err != nil {
			return err
		}
	} else if err := run.endNotices(d, p); err != nil {
		return err
	}
	if err := run.endSharing(d); err != nil {
		return err
	}
	if !isLive(run.grant) && d.Released && len(run.codes) > 0 {
		if err := run.reconcileOpenGrants(); err != nil {
			return err
		}
	}
	if !run.isNew() {
		run.Tx.Notify(Changed, run.PropertyID)
	}
	if d.Opened || d.Released || d.Confirmed || d.Refused || d.changesGrant() || d.changesSlots() {
		watch.Notify(run.Tx, run.PropertyID, watch.Reservations, run.reservationID)
	}
	return run.reconcileDeparting(d)
}

// reconcileOpenGrants reconciles the open grant of a reservation after the codes of an earlier grant are removed: its plan no longer lists
// them, and the notice about them is cleared.
func (run *stayRun) reconcileOpenGrants() error {
	for _, g := range run.olderGrants {
		if !isLive(g) {
			continue
		}
		if _, err := run.reconcileGrant(g, Report{Confirmed: true}); err != nil {
			return err
		}
	}
	return nil
}

// reconcileDeparting reconciles the reservations that are leaving a door of this one, so that a swap of rooms completes at once. It does so
// only if d, what this run has changed, gives the reservation a private space.
func (run *stayRun) reconcileDeparting(d Delta) error {
	if !d.Opened && !d.Moved || !isLive(run.grant) || !isPrivate(run.place.Space) {
		return nil
	}
	leaving, err := run.departingGrants()
	if err != nil {
		return fmt.Errorf("look for stays that leave a door: %w", err)
	}
	for _, g := range leaving {
		if _, err := run.reconcileGrant(g, Report{}); err != nil {
			return err
		}
	}
	return nil
}

// appendEvents stores the events that follow from what the run changed, and from the resulting plan.
func (run *stayRun) appendEvents(d Delta, p Plan) error {
	e := event.Event{PropertyID: run.PropertyID, Subject: run.reservationID}
	if len(d.NewPINs) > 0 {
		e.Kind, e.Body = event.PINGenerated, map[string]any{"reservationId": run.reservationID, "pinId": run.grant.PinID}
		if err := event.Append(run.Tx, e); err != nil {
			return err
		}
	}
	e.Kind = d.eventOfStay(p, run.unplaced != "")
	if !isLive(run.grant) {
		e.Kind = ""
		if d.Released && len(run.codes) > 0 && len(run.olderGrants) == 0 {
			e.Kind = event.AccessRemoved
		}
	}
	if e.Kind == "" {
		return nil
	}
	e.Body = eventBody(run.reservationID, p)
	return event.Append(run.Tx, e)
}

// eventOfStay returns the kind of the event to emit for a reservation with access, or "" if there is nothing to emit. unplaced means that
// the reservation has no active space.
func (d Delta) eventOfStay(p Plan, unplaced bool) event.Kind {
	opens := slices.ContainsFunc(p.Doors, func(d PlannedDoor) bool { return !d.isPINShut() && d.PIN != slot.Removing && d.PIN != slot.Removed })
	first := d.Opened || !d.HadCode
	switch {
	case first && opens && d.changesSlots():
		return event.AccessIssued
	case first && (d.Opened || d.changesGrant() || d.changesSlots()) && (p.Status == StatusFailed || unplaced):
		return event.AccessFailed
	case d.Refused && slices.ContainsFunc(p.Doors, func(d PlannedDoor) bool { return d.PIN == slot.Failed }):
		return event.AccessFailed
	case d.changesSlots(), d.Moved, d.changesGrant() && d.HadCode:
		return event.AccessUpdated
	}
	return ""
}

// eventBody returns the body of an event about a plan. It has no PIN and no name.
func eventBody(reservationID string, p Plan) map[string]any {
	doors := make([]map[string]any, 0, len(p.Doors))
	for _, d := range p.Doors {
		door := map[string]any{"doorId": d.ID, "kind": string(d.Kind), "pin": string(d.PIN)}
		if d.Reason != "" {
			door["reason"] = d.Reason
		}
		doors = append(doors, door)
	}
	return map[string]any{"reservationId": reservationID, "status": string(p.Status), "doors": doors, "reasons": append([]Reason{}, p.Reasons...)}
}

// reasonNotices has the kind of the notice to staff for each reason in a plan that needs one.
var reasonNotices = map[Reason]notice.Kind{
	WindowInFuture: notice.WindowInFuture, SpaceShared: notice.SpaceShared, FormerCode: notice.FormerCode, LockJammed: notice.LockJammed,
	PINNotPossible: notice.PINNotPossible, LockRefused: notice.LockRefused, DuplicateOnLock: notice.DuplicateOnLock,
	space.SpacesDisagree: notice.SpacesDisagree, space.SpaceUnknown: notice.SpaceUnknown, space.SpaceNotMapped: notice.SpaceNotMapped,
	space.RoomNotAssigned: notice.RoomNotAssigned, space.SpaceInactive: notice.SpaceInactive,
	lock.SlotsFull: notice.SlotsFull, lock.BridgeRevoked: notice.BridgeRevoked, lock.NoBridge: notice.NoBridge,
}

// notify sends staff the notices about a reservation with access, and clears those whose condition has ended, so that they can be sent
// again. It clears none if access just began. If nothing changed, it clears only those about the space that the PMS named: the PMS or the
// mapping may name the same space correctly now.
func (run *stayRun) notify(d Delta, p Plan) error {
	var current []notice.Kind
	add := func(kind notice.Kind, doors []string) error {
		current = append(current, kind)
		return notice.Renew(run.Tx, notice.Notice{
			PropertyID: run.PropertyID, Subject: run.reservationID, Kind: kind, OnceKey: kind.Key(run.grant.ID), Params: paramsOf(kind, doors),
		})
	}
	for _, r := range p.Reasons {
		if kind, ok := reasonNotices[r]; ok {
			if err := add(kind, p.doorsWith(r)); err != nil {
				return err
			}
		}
	}
	if d.hasShortPIN() {
		if err := add(notice.ShortPIN, run.doorsOfShortPINs()); err != nil {
			return err
		}
	}
	switch {
	case d.Opened:
		return nil
	case d.changesSlots() || d.changesGrant() || d.Confirmed:
		return run.clearResolvedNotices(current)
	case run.fromPMS:
		return notice.Resolve(run.Tx, run.PropertyID, run.keysExcept(spaceNotices, current)...)
	}
	return nil
}

// paramsOf returns the parameters of a notice about a stay, which has some doors.
func paramsOf(kind notice.Kind, doors []string) message.Params {
	switch affected := notice.Doors(doors); {
	case kind == notice.LockJammed && affected == nil:
		return message.Params{"what": message.Message{Kind: "jammed.stay"}}
	case kind == notice.LockJammed:
		return message.Params{"what": []any{message.Message{Kind: "jammed.stay"}, affected}}
	case slices.Contains(notice.Kinds[kind], "doors"):
		return message.Params{"doors": affected}
	}
	return nil
}

// doorsWith returns the names of the doors that have a reason in the plan.
func (p Plan) doorsWith(r Reason) (names []string) {
	for _, d := range p.Doors {
		if d.Reason == r || r == FormerCode && d.former && d.stuck {
			names = append(names, text.FullName(d.Parent, d.Name))
		}
	}
	return names
}

// doorsOfShortPINs returns the names of the doors whose locks take only PINs that are shorter than pin.Shortest.
func (run *Run) doorsOfShortPINs() (names []string) {
	for _, d := range run.doors {
		if d.takesCode() && d.Lock.PIN.Max > 0 && d.Lock.PIN.Max < pin.Shortest {
			names = append(names, text.FullName(d.Parent, d.Name))
		}
	}
	return names
}

// outlasting are the notices about a code that stays on a lock, which can still be true after the access has ended.
var outlasting = []notice.Kind{notice.FormerCode, notice.BridgeRevoked, notice.NoBridge}

// AboutCodesOnLocks matches the open notices about a code that a lock may still hold after the access has ended. They name no guest, and
// only staff can remove the code: an erasure of the guest's data keeps them.
func AboutCodesOnLocks() predicate.Notice {
	kinds := make([]string, len(outlasting))
	for i, kind := range outlasting {
		kinds[i] = string(kind)
	}
	return entnotice.And(entnotice.OnceKeyNotNil(), entnotice.KindIn(kinds...))
}

// endNotices clears the notices about a reservation without access when the access ends, and when its last code is removed: what kept the
// guest out is no problem any more. Those in outlasting stay while the plan has their reason.
func (run *stayRun) endNotices(d Delta, p Plan) error {
	if !run.before.Live && !d.Released {
		return nil
	}
	var current []notice.Kind
	for _, r := range p.Reasons {
		if kind := reasonNotices[r]; slices.Contains(outlasting, kind) {
			current = append(current, kind)
		}
	}
	return run.clearResolvedNotices(current)
}

// fromPMSOnly are the notices about the space that the PMS named. A grant does not store that, so a run from a stored grant cannot tell
// whether they still hold, and keeps them while the reservation has access.
var fromPMSOnly = []notice.Kind{notice.SpacesDisagree, notice.SpaceUnknown, notice.SpaceNotMapped, notice.RoomNotAssigned}

// spaceNotices are fromPMSOnly, and the notices about the state of the space.
var spaceNotices = append(slices.Clone(fromPMSOnly), notice.SpaceShared, notice.SpaceInactive)

// clearResolvedNotices clears the reservation's notices of a late code and of all reasons except the current ones, so that they can be sent
// again. In a run from a stored grant with access, the notices fromPMSOnly stay. Without access, it also clears the notice of a short PIN.
func (run *stayRun) clearResolvedNotices(current []notice.Kind) error {
	kinds := slices.Collect(maps.Values(reasonNotices))
	if run.Right.Open && !run.fromPMS {
		kinds = slices.DeleteFunc(kinds, func(k notice.Kind) bool { return slices.Contains(fromPMSOnly, k) })
	}
	kinds = append(kinds, notice.CodeLate)
	if !isLive(run.grant) {
		kinds = append(kinds, notice.ShortPIN)
	}
	return notice.Resolve(run.Tx, run.PropertyID, run.keysExcept(kinds, current)...)
}

// keysExcept returns the keys of the grant's notices of some kinds, without those of the current kinds.
func (run *stayRun) keysExcept(kinds, current []notice.Kind) (keys []string) {
	for _, kind := range kinds {
		if !slices.Contains(current, kind) {
			keys = append(keys, kind.Key(run.grant.ID))
		}
	}
	return keys
}
