package access

import (
	"fmt"
	"maps"
	"slices"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/space"
)

// publish describes the result, releases what no lock holds, and emits events and notices.
func (run *grantRun) publish(f Facts, held []installedSlot) (Plan, error) {
	p, err := run.describe(f, held)
	if err != nil {
		return Plan{}, err
	}
	if err := run.releaseIfRemoved(held); err != nil {
		return Plan{}, err
	}
	if err := run.emitEventsAndNotices(p, len(held)); err != nil {
		return Plan{}, err
	}
	run.wakeSmartKeys()
	return p, run.reconcileDeparting()
}

func (run *grantRun) describe(f Facts, held []installedSlot) (Plan, error) {
	f.Held, f.Opened = heldCodes(held), run.grant.CreatedAt
	var err error
	if f.Older, err = run.heldByOlderGrants(); err != nil {
		return Plan{}, err
	}
	if f.Tokens, f.KeyDoors, err = run.loadTokens(); err != nil {
		return Plan{}, err
	}
	if f.Names, err = run.formerDoors(f.allHeld(), slices.Collect(maps.Values(f.KeyDoors)), f.Doors); err != nil {
		return Plan{}, err
	}
	if run.pins != nil {
		f.NoPIN, f.OwnPIN = run.pins.impossible, map[string]bool{}
		for door := range run.pins.perDoor {
			f.OwnPIN[door] = true
		}
	}
	if f.Shared, err = run.sharesSpace(); err != nil {
		return Plan{}, err
	}
	return Describe(f), nil
}

// heldByOlderGrants returns the codes of earlier grants of the stay.
func (run *grantRun) heldByOlderGrants() ([]Held, error) {
	if len(run.olderGrants) == 0 {
		return nil, nil
	}
	ids := make([]string, 0, len(run.olderGrants))
	for _, g := range run.olderGrants {
		ids = append(ids, g.ID)
	}
	rows, err := lock.SlotsOfGrants(run.ctx(), run.tx.Client, run.propertyID, ids...)
	if err != nil {
		return nil, fmt.Errorf("list the codes of earlier grants: %w", err)
	}
	locks, err := run.locksOfSlots(rows)
	if err != nil {
		return nil, err
	}
	held := make([]Held, 0, len(rows))
	for _, s := range rows {
		h := newInstalledSlot(s, false).Held
		h.setLock(locks[s.LockID], run.tx.Now())
		held = append(held, h)
	}
	return held, nil
}

// sharesSpace reports whether another stay has access to the same private space at the same time.
func (run *grantRun) sharesSpace() (bool, error) {
	if !isLive(run.grant) || !isPrivate(run.place.Space) {
		return false, nil
	}
	n, err := run.tx.Grant.Query().Where(entgrant.PropertyID(run.propertyID), entgrant.SpaceID(run.spaceID()),
		entgrant.EndedAtIsNil(), entgrant.IDNEQ(run.grant.ID),
		entgrant.NotBeforeLT(run.grant.NotAfter), entgrant.NotAfterGT(run.grant.NotBefore)).Exist(run.ctx())
	if err != nil {
		return false, fmt.Errorf("look for sharers of a space: %w", err)
	}
	return n, nil
}

// reconcileDeparting reconciles the stays that are leaving a door of this one, so that a swap of rooms does not wait.
func (run *grantRun) reconcileDeparting() error {
	if !(run.opened || run.changedSpace) || !isLive(run.grant) || !isPrivate(run.place.Space) {
		return nil
	}
	leaving, err := run.departingGrants()
	if err != nil {
		return fmt.Errorf("look for stays that leave a door: %w", err)
	}
	for _, g := range leaving {
		if _, err := ReconcileGrant(run.tx, run.keys, g, run.rules); err != nil {
			return err
		}
	}
	return nil
}

// emitEventsAndNotices appends the event of this run and notifies staff.
func (run *grantRun) emitEventsAndNotices(p Plan, held int) error {
	var others []*ent.Grant
	if run.released && held > 0 {
		var err error
		if others, err = run.otherGrants(); err != nil {
			return err
		}
	}
	kind := run.eventKind(p, held, len(others) > 0)
	if kind != "" {
		err := event.Append(run.tx, event.Event{PropertyID: run.propertyID, Subject: run.reservationID, Kind: kind, Body: eventBody(run.reservationID, p)})
		if err != nil {
			return err
		}
	}
	if !isLive(run.grant) {
		return run.reconcileOpenGrants(others)
	}
	notices := run.noticesOf(p)
	for _, n := range notices {
		n.PropertyID, n.Subject = run.propertyID, run.reservationID
		n.OnceKey = onceKey(run.grant, n.Kind)
		if err := notice.Add(run.tx, n); err != nil {
			return err
		}
	}
	return run.clearResolvedNotices(notices)
}

// eventKind returns the event of this run, or empty for none. more reports that other grants of the stay are not removed yet.
func (run *grantRun) eventKind(p Plan, held int, more bool) event.Kind {
	opens := slices.ContainsFunc(p.Doors, func(d PlannedDoor) bool { return !d.isShut() && d.PIN != slot.Removing && d.PIN != slot.Removed })
	first := run.opened || !run.hadCode
	switch {
	case !isLive(run.grant):
		if !run.released || held == 0 || more {
			return ""
		}
		return event.AccessRemoved
	case first && opens && run.changedSlots:
		return event.AccessIssued
	case first && (run.opened || run.changed || run.changedSlots) && (p.Status == StatusFailed || run.noPlaceReason != ""):
		return event.AccessFailed
	case run.newlyFailed && slices.ContainsFunc(p.Doors, func(d PlannedDoor) bool { return d.PIN == slot.Failed }):
		return event.AccessFailed
	case run.changedSlots, run.changed && run.hadCode:
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

// shortPIN and codeLate are kinds of notices that are no reason of a plan.
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

func (run *grantRun) noticesOf(p Plan) []notice.Notice {
	var out []notice.Notice
	for _, r := range p.Reasons {
		if text := noticeTexts[r]; text != "" {
			out = append(out, notice.Notice{Kind: r, Text: text})
		}
	}
	if run.pins != nil && run.pins.tooShort {
		out = append(out, notice.Notice{Kind: shortPIN, Text: shortPINText})
	}
	return out
}

func onceKey(g *ent.Grant, kind string) string { return g.ID + "/" + kind }

// clearResolvedNotices lets notices of this stay whose condition has ended be sent again if it returns.
func (run *grantRun) clearResolvedNotices(current []notice.Notice) error {
	if run.opened || !run.changedSlots && !run.changed && !run.newEvidence {
		return nil
	}
	keys := []string{onceKey(run.grant, codeLate)}
	for r := range noticeTexts {
		if r == space.SpacesDisagree && run.place.Space != nil && !run.fromPMS {
			continue // a grant does not store which space the PMS named
		}
		if !slices.ContainsFunc(current, func(n notice.Notice) bool { return n.Kind == r }) {
			keys = append(keys, onceKey(run.grant, r))
		}
	}
	err := run.tx.Notice.Update().Where(entnotice.PropertyID(run.propertyID), entnotice.OnceKeyIn(keys...)).ClearOnceKey().Exec(run.ctx())
	if err != nil {
		return fmt.Errorf("settle the notices of a stay: %w", err)
	}
	return nil
}
