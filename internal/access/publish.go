package access

import (
	"fmt"
	"slices"

	"latchkey.dev/ent"
	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/space"
)

// publish emits the events and notices of a run, and reconciles the stays that it concerns.
func (run *stayRun) publish(p Plan) error {
	d := run.delta()
	var others []*ent.Grant
	if d.Released && len(run.held) > 0 {
		var err error
		if others, err = run.otherGrants(); err != nil {
			return err
		}
	}
	if err := run.appendEvents(d, p, len(others) > 0); err != nil {
		return err
	}
	if isLive(run.grant) {
		if err := run.notify(d, p); err != nil {
			return err
		}
	} else if err := run.reconcileOpenGrants(others); err != nil {
		return err
	}
	if !run.isNew() {
		run.Tx.Notify(Changed, run.PropertyID)
	}
	return run.reconcileDeparting(d)
}

// reconcileOpenGrants reconciles the open grant of a stay after the codes of an earlier one are removed: its plan no longer lists
// them, and its notice about them may be sent again.
func (run *stayRun) reconcileOpenGrants(others []*ent.Grant) error {
	for _, g := range others {
		if !isLive(g) {
			continue
		}
		if _, err := run.reconcileGrant(g, run.Rules, Report{Confirmed: true}); err != nil {
			return err
		}
	}
	return nil
}

// reconcileDeparting reconciles the stays that are leaving a door of this one, so that a swap of rooms does not wait.
func (run *stayRun) reconcileDeparting(d Delta) error {
	if !d.Opened && !d.Moved || !isLive(run.grant) || !isPrivate(run.place.Space) {
		return nil
	}
	leaving, err := run.departingGrants()
	if err != nil {
		return fmt.Errorf("look for stays that leave a door: %w", err)
	}
	for _, g := range leaving {
		if _, err := run.reconcileGrant(g, run.Rules, Report{}); err != nil {
			return err
		}
	}
	return nil
}

// appendEvents appends the events of a run. pending reports that other grants of the stay are not removed yet.
func (run *stayRun) appendEvents(d Delta, p Plan, pending bool) error {
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
		if d.Released && len(run.held) > 0 && !pending {
			e.Kind = event.AccessRemoved
		}
	}
	if e.Kind == "" {
		return nil
	}
	e.Body = eventBody(run.reservationID, p)
	return event.Append(run.Tx, e)
}

// eventOfStay returns the event of a stay with access, or empty for none. unplaced reports that the stay leads to no active space.
func (d Delta) eventOfStay(p Plan, unplaced bool) event.Kind {
	opens := slices.ContainsFunc(p.Doors, func(d PlannedDoor) bool { return !d.isShut() && d.PIN != slot.Removing && d.PIN != slot.Removed })
	first := d.Opened || !d.HadCode
	switch {
	case first && opens && d.changesSlots():
		return event.AccessIssued
	case first && (d.Opened || d.changesGrant() || d.changesSlots()) && (p.Status == StatusFailed || unplaced):
		return event.AccessFailed
	case d.Refused && slices.ContainsFunc(p.Doors, func(d PlannedDoor) bool { return d.PIN == slot.Failed }):
		return event.AccessFailed
	case d.changesSlots(), d.changesGrant() && d.HadCode:
		return event.AccessUpdated
	}
	return ""
}

// eventBody is the body of an event about a plan. It has no PIN and no name.
func eventBody(reservationID string, p Plan) map[string]any {
	doors := make([]map[string]any, 0, len(p.Doors))
	for _, d := range p.Doors {
		door := map[string]any{"doorId": d.ID, "kind": string(d.Kind), "pin": string(d.PIN)}
		if d.Reason != "" {
			door["reason"] = d.Reason
		}
		doors = append(doors, door)
	}
	return map[string]any{"reservationId": reservationID, "status": string(p.Status), "doors": doors, "reasons": append([]string{}, p.Reasons...)}
}

const (
	// shortPIN and codeLate are notice kinds that are not reasons of a plan.
	shortPIN = "shortPin"
	codeLate = "codeLate"
)

// noticeTexts are the notices about plans that give less than the stay has a right to, by reason.
var noticeTexts = map[string]string{
	WindowInFuture:        "The PMS checked this guest in before the booked day. The codes open on that day.",
	space.SpacesDisagree:  "The PMS named a bed, and a room that is not the bed's. The doors are those of the bed: correct the reservation in the PMS if the room is right.",
	SpaceShared:           "Two stays are checked in to the same private space. Both have access. Check whether one is a mistake.",
	FormerCode:            "A former code of this stay (another PIN, room or date) may still open a door, because a lock does not answer or refused the new code. The plan of the stay lists the doors. The former code is removed when the lock is back.",
	LockJammed:            "A lock of this stay is jammed: its bolt does not move, and no code opens it. Send a person to free it, and give the guest another room or key.",
	lock.SlotsFull:        "A lock of this stay has no free slot. Remove a code at the lock, or wait for one to be cleared.",
	PINNotPossible:        "A lock of this stay takes no PIN that the property's rules allow. Change the PIN length, or give another key.",
	LockRefused:           "A lock of this stay refused the code. latchkey reservation explain says why.",
	DuplicateOnLock:       "A lock of this stay refused every PIN as a duplicate of one that it holds. Check which codes it has, then reset the PIN.",
	space.SpaceUnknown:    noDoorText,
	space.SpaceNotMapped:  noDoorText,
	space.RoomNotAssigned: noDoorText,
	space.SpaceInactive:   "This guest is checked in to a space that is switched off. Switch it on, or assign another room.",
	lock.BridgeRevoked:    noBridgeText,
	lock.NoBridge:         noBridgeText,
}

const (
	noDoorText   = "This guest is checked in, but the space of the PMS leads to no door. Map it, or assign a room."
	noBridgeText = "A lock of this stay has no bridge that may drive it."
	shortPINText = "A lock of this stay takes only PINs of fewer than six digits, which can be guessed. Use it only for doors that need little protection."
)

// notify sends the notices of a stay with access, and lets those whose condition has ended be sent again if it returns.
func (run *stayRun) notify(d Delta, p Plan) error {
	var current []string
	send := func(kind, text string) error {
		current = append(current, kind)
		return notice.Add(run.Tx, notice.Notice{
			PropertyID: run.PropertyID, Subject: run.reservationID, Kind: kind, OnceKey: onceKey(run.grant, kind), Text: text,
		})
	}
	for _, r := range p.Reasons {
		if text := noticeTexts[r]; text != "" {
			if err := send(r, text); err != nil {
				return err
			}
		}
	}
	if d.hasShortPIN() {
		if err := send(shortPIN, shortPINText); err != nil {
			return err
		}
	}
	if d.Opened || !d.changesSlots() && !d.changesGrant() && !d.Confirmed {
		return nil
	}
	return run.clearResolvedNotices(current)
}

func onceKey(g *ent.Grant, kind string) string { return g.ID + "/" + kind }

// clearResolvedNotices lets notices whose condition has ended be sent again.
func (run *stayRun) clearResolvedNotices(current []string) error {
	keys := []string{onceKey(run.grant, codeLate)}
	for r := range noticeTexts {
		if r == space.SpacesDisagree && run.place.Space != nil && !run.fromPMS {
			continue // a grant does not store which space the PMS named
		}
		if !slices.Contains(current, r) {
			keys = append(keys, onceKey(run.grant, r))
		}
	}
	err := run.Tx.Notice.Update().Where(entnotice.PropertyID(run.PropertyID), entnotice.OnceKeyIn(keys...)).ClearOnceKey().Exec(run.Tx.Context())
	if err != nil {
		return fmt.Errorf("settle the notices of a stay: %w", err)
	}
	return nil
}
