package access

import (
	"fmt"
	"maps"
	"slices"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/staff"
)

// publish describes the result, releases what no lock holds, and emits events and notices.
func (w *grantRun) publish(f Facts, held []installedSlot) (Plan, error) {
	p, err := w.describe(f, held)
	if err != nil {
		return Plan{}, err
	}
	if err := w.releaseIfRemoved(held); err != nil {
		return Plan{}, err
	}
	if err := w.emitEventsAndNotices(p, len(held)); err != nil {
		return Plan{}, err
	}
	w.wakeSmartKeys()
	return p, w.reconcileDeparting()
}

func (w *grantRun) describe(f Facts, held []installedSlot) (Plan, error) {
	f.Held, f.Opened = heldCodes(held), w.grant.CreatedAt
	var err error
	if f.Older, err = w.heldByOlderGrants(); err != nil {
		return Plan{}, err
	}
	if f.Tokens, f.KeyDoors, err = w.loadTokens(); err != nil {
		return Plan{}, err
	}
	if f.Names, err = w.formerDoors(f.allHeld(), slices.Collect(maps.Values(f.KeyDoors)), f.Doors); err != nil {
		return Plan{}, err
	}
	if w.pins != nil {
		f.NoPIN, f.OwnPIN = w.pins.impossible, map[string]bool{}
		for door := range w.pins.perDoor {
			f.OwnPIN[door] = true
		}
	}
	if f.Shared, err = w.sharesSpace(); err != nil {
		return Plan{}, err
	}
	return Describe(f), nil
}

// heldByOlderGrants returns the codes of earlier grants of the stay.
func (w *grantRun) heldByOlderGrants() ([]Held, error) {
	if len(w.olderGrants) == 0 {
		return nil, nil
	}
	ids := make([]string, 0, len(w.olderGrants))
	for _, g := range w.olderGrants {
		ids = append(ids, g.ID)
	}
	rows, err := lock.SlotsOfGrants(w.ctx(), w.tx.Client, w.propertyID, ids...)
	if err != nil {
		return nil, fmt.Errorf("list the codes of earlier grants: %w", err)
	}
	locks, err := w.locksOfSlots(rows)
	if err != nil {
		return nil, err
	}
	held := make([]Held, 0, len(rows))
	for _, s := range rows {
		h := newInstalledSlot(s, false).Held
		h.setLock(locks[s.LockID], w.tx.Now())
		held = append(held, h)
	}
	return held, nil
}

// sharesSpace reports whether another stay has access to the same private space at the same time.
func (w *grantRun) sharesSpace() (bool, error) {
	if !isLive(w.grant) || !isPrivate(w.place.Space) {
		return false, nil
	}
	n, err := w.tx.Grant.Query().Where(entgrant.PropertyID(w.propertyID), entgrant.SpaceID(w.spaceID()),
		entgrant.EndedAtIsNil(), entgrant.IDNEQ(w.grant.ID),
		entgrant.NotBeforeLT(w.grant.NotAfter), entgrant.NotAfterGT(w.grant.NotBefore)).Exist(w.ctx())
	if err != nil {
		return false, fmt.Errorf("look for sharers of a space: %w", err)
	}
	return n, nil
}

// reconcileDeparting reconciles the stays that are leaving a door of this one, so that a swap of rooms does not wait.
func (w *grantRun) reconcileDeparting() error {
	if !(w.opened || w.changedSpace) || !isLive(w.grant) || !isPrivate(w.place.Space) {
		return nil
	}
	leaving, err := w.departingGrants()
	if err != nil {
		return fmt.Errorf("look for stays that leave a door: %w", err)
	}
	for _, g := range leaving {
		if _, err := ReconcileGrant(w.tx, w.keys, g, w.rules); err != nil {
			return err
		}
	}
	return nil
}

// emitEventsAndNotices appends the event of this run and notifies staff.
func (w *grantRun) emitEventsAndNotices(p Plan, held int) error {
	var others []*ent.Grant
	if w.released && held > 0 {
		var err error
		if others, err = w.otherGrants(); err != nil {
			return err
		}
	}
	kind := w.eventKind(p, held, len(others) > 0)
	if kind != "" {
		err := event.Append(w.tx, event.Event{PropertyID: w.propertyID, Subject: w.reservationID, Kind: kind, Body: eventBody(w.reservationID, p)})
		if err != nil {
			return err
		}
	}
	if !isLive(w.grant) {
		return w.reconcileOpenGrants(others)
	}
	notices := w.noticesOf(p)
	for _, n := range notices {
		n.PropertyID, n.Subject = w.propertyID, w.reservationID
		n.OnceKey = onceKey(w.grant, n.Kind)
		if err := staff.Notify(w.tx, n); err != nil {
			return err
		}
	}
	return w.clearResolvedNotices(notices)
}

// eventKind returns the event of this run, or empty for none. more reports that other grants of the stay are not removed yet.
func (w *grantRun) eventKind(p Plan, held int, more bool) event.Kind {
	opens := slices.ContainsFunc(p.Doors, func(d PlannedDoor) bool { return !d.isShut() && d.PIN != slot.Removing && d.PIN != slot.Removed })
	first := w.opened || !w.hadCode
	switch {
	case !isLive(w.grant):
		if !w.released || held == 0 || more {
			return ""
		}
		return event.AccessRemoved
	case first && opens && w.changedSlots:
		return event.AccessIssued
	case first && (w.opened || w.changed || w.changedSlots) && (p.Status == StatusFailed || w.noPlaceReason != ""):
		return event.AccessFailed
	case w.newlyFailed && slices.ContainsFunc(p.Doors, func(d PlannedDoor) bool { return d.PIN == slot.Failed }):
		return event.AccessFailed
	case w.changedSlots, w.changed && w.hadCode:
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
			door["reason"] = string(d.Reason)
		}
		doors = append(doors, door)
	}
	reasons := make([]string, 0, len(p.Reasons))
	for _, r := range p.Reasons {
		reasons = append(reasons, string(r))
	}
	return map[string]any{"reservationId": reservationID, "status": string(p.Status), "doors": doors, "reasons": reasons}
}

// shortPIN and codeLate are kinds of notices that are no reason of a plan.
const (
	// shortPIN and codeLate are notice kinds that are not reasons of a plan.
	shortPIN = "shortPin"
	codeLate = "codeLate"
)

// noticeTexts are the notices about plans that give less than the stay has a right to, by reason.
var noticeTexts = map[fault.Reason]string{
	fault.WindowInFuture:  "The PMS checked this guest in before the booked day. The codes open on that day.",
	fault.SpacesDisagree:  "The PMS named a bed, and a room that is not the bed's. The doors are those of the bed: correct the reservation in the PMS if the room is right.",
	fault.SpaceShared:     "Two stays are checked in to the same private space. Both have access. Check whether one is a mistake.",
	fault.FormerCode:      "A former code of this stay (another PIN, room or date) may still open a door, because a lock does not answer or refused the new code. The plan of the stay lists the doors. The former code is removed when the lock is back.",
	fault.LockJammed:      "A lock of this stay is jammed: its bolt does not move, and no code opens it. Send a person to free it, and give the guest another room or key.",
	fault.SlotsFull:       "A lock of this stay has no free slot. Remove a code at the lock, or wait for one to be cleared.",
	fault.PINNotPossible:  "A lock of this stay takes no PIN that the property's rules allow. Change the PIN length, or give another key.",
	fault.LockRefused:     "A lock of this stay refused the code. latchkey reservation explain says why.",
	fault.DuplicateOnLock: "A lock of this stay refused every PIN as a duplicate of one that it holds. Check which codes it has, then reset the PIN.",
	fault.SpaceUnknown:    noDoorText,
	fault.SpaceNotMapped:  noDoorText,
	fault.RoomNotAssigned: noDoorText,
	fault.SpaceInactive:   "This guest is checked in to a space that is switched off. Switch it on, or assign another room.",
	fault.BridgeRevoked:   noBridgeText,
	fault.NoBridge:        noBridgeText,
}

const (
	noDoorText   = "This guest is checked in, but the space of the PMS leads to no door. Map it, or assign a room."
	noBridgeText = "A lock of this stay has no bridge that may drive it."
	shortPINText = "A lock of this stay takes only PINs of fewer than six digits, which can be guessed. Use it only for doors that need little protection."
)

func (w *grantRun) noticesOf(p Plan) []staff.Notice {
	var out []staff.Notice
	for _, r := range p.Reasons {
		if text := noticeTexts[r]; text != "" {
			out = append(out, staff.Notice{Kind: string(r), Text: text})
		}
	}
	if w.pins != nil && w.pins.tooShort {
		out = append(out, staff.Notice{Kind: shortPIN, Text: shortPINText})
	}
	return out
}

func onceKey(g *ent.Grant, kind string) string { return g.ID + "/" + kind }

// clearResolvedNotices lets notices of this stay whose condition has ended be sent again if it returns.
func (w *grantRun) clearResolvedNotices(current []staff.Notice) error {
	if w.opened || !w.changedSlots && !w.changed && !w.newEvidence {
		return nil
	}
	keys := []string{onceKey(w.grant, codeLate)}
	for r := range noticeTexts {
		if r == fault.SpacesDisagree && w.place.Space != nil && !w.fromPMS {
			continue // a grant does not store which space the PMS named
		}
		if !slices.ContainsFunc(current, func(n staff.Notice) bool { return n.Kind == string(r) }) {
			keys = append(keys, onceKey(w.grant, string(r)))
		}
	}
	err := w.tx.Notice.Update().Where(entnotice.PropertyID(w.propertyID), entnotice.OnceKeyIn(keys...)).ClearOnceKey().Exec(w.ctx())
	if err != nil {
		return fmt.Errorf("settle the notices of a stay: %w", err)
	}
	return nil
}
