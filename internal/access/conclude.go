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

// conclude describes what came out, lets go what nobody holds, and tells those who need to know.
func (w *work) conclude(f Facts, held []occupied) (Plan, error) {
	p, err := w.describe(f, held)
	if err != nil {
		return Plan{}, err
	}
	if err := w.release(held); err != nil {
		return Plan{}, err
	}
	if err := w.tell(p, len(held)); err != nil {
		return Plan{}, err
	}
	w.wakeKeys()
	return p, w.evict()
}

func (w *work) describe(f Facts, held []occupied) (Plan, error) {
	f.Held, f.Opened = view(held), w.grant.CreatedAt
	var err error
	if f.Older, err = w.heldBefore(); err != nil {
		return Plan{}, err
	}
	if f.Tokens, f.KeyDoors, err = w.tokens(); err != nil {
		return Plan{}, err
	}
	if f.Names, err = w.names(f.all(), slices.Collect(maps.Values(f.KeyDoors)), f.Doors); err != nil {
		return Plan{}, err
	}
	if w.codes != nil {
		f.NoPIN, f.OwnPIN = w.codes.none, map[string]bool{}
		for door := range w.codes.own {
			f.OwnPIN[door] = true
		}
	}
	if f.Shared, err = w.shared(); err != nil {
		return Plan{}, err
	}
	return Describe(f), nil
}

// heldBefore is what locks may still hold of earlier grants of the stay.
func (w *work) heldBefore() ([]Held, error) {
	if len(w.older) == 0 {
		return nil, nil
	}
	ids := make([]string, 0, len(w.older))
	for _, g := range w.older {
		ids = append(ids, g.ID)
	}
	rows, err := lock.SlotsOfGrants(w.ctx(), w.tx.Client, w.property, ids...)
	if err != nil {
		return nil, fmt.Errorf("list the codes of earlier grants: %w", err)
	}
	locks, err := w.locksOf(rows)
	if err != nil {
		return nil, err
	}
	held := make([]Held, 0, len(rows))
	for _, s := range rows {
		h := occupy(s, false).Held
		h.place(locks[s.LockID], w.tx.Now())
		held = append(held, h)
	}
	return held, nil
}

// shared says whether another stay has access to the same private space at the same time.
func (w *work) shared() (bool, error) {
	if !live(w.grant) || !private(w.place.Space) {
		return false, nil
	}
	n, err := w.tx.Grant.Query().Where(entgrant.PropertyID(w.property), entgrant.SpaceID(w.spaceID()),
		entgrant.EndedAtIsNil(), entgrant.IDNEQ(w.grant.ID),
		entgrant.NotBeforeLT(w.grant.NotAfter), entgrant.NotAfterGT(w.grant.NotBefore)).Exist(w.ctx())
	if err != nil {
		return false, fmt.Errorf("look for sharers of a space: %w", err)
	}
	return n, nil
}

// evict settles the stays that are leaving a door which this one has now been given: a swap of rooms waits for nobody.
func (w *work) evict() error {
	if !(w.opened || w.elsewhere) || !live(w.grant) || !private(w.place.Space) {
		return nil
	}
	leaving, err := w.leavers()
	if err != nil {
		return fmt.Errorf("look for stays that leave a door: %w", err)
	}
	for _, g := range leaving {
		if _, err := Settle(w.tx, w.keys, g, w.rules); err != nil {
			return err
		}
	}
	return nil
}

// tell writes the events and the staff notices of this run.
func (w *work) tell(p Plan, held int) error {
	var others []*ent.Grant
	if w.released && held > 0 {
		var err error
		if others, err = w.others(); err != nil {
			return err
		}
	}
	kind := w.kind(p, held, len(others) > 0)
	if kind != "" {
		err := event.Append(w.tx, event.Event{PropertyID: w.property, Subject: w.reservation, Kind: kind, Body: body(w.reservation, p)})
		if err != nil {
			return err
		}
	}
	if !live(w.grant) {
		return w.settleOpen(others)
	}
	told := w.notices(p)
	for _, n := range told {
		n.PropertyID, n.Subject = w.property, w.reservation
		n.OnceKey = onceKey(w.grant, n.Kind)
		if err := staff.Notify(w.tx, n); err != nil {
			return err
		}
	}
	return w.healed(told)
}

// kind is the event that this run means to the stay; empty: none. more says that other grants of it are not gone.
func (w *work) kind(p Plan, held int, more bool) event.Kind {
	opens := slices.ContainsFunc(p.Doors, func(d PlannedDoor) bool { return !d.shut() && d.PIN != slot.Removing && d.PIN != slot.Removed })
	first := w.opened || !w.had
	switch {
	case !live(w.grant):
		if !w.released || held == 0 || more {
			return ""
		}
		return event.AccessRemoved
	case first && opens && w.acted:
		return event.AccessIssued
	case first && (w.opened || w.moved || w.acted) && (p.Status == StatusFailed || w.unplaced != ""):
		return event.AccessFailed
	case w.failed && slices.ContainsFunc(p.Doors, func(d PlannedDoor) bool { return d.PIN == slot.Failed }):
		return event.AccessFailed
	case w.acted, w.moved && w.had:
		return event.AccessUpdated
	}
	return ""
}

// body is what an event says of a plan: no PIN, no name.
func body(reservationID string, p Plan) map[string]any {
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
	shortPIN = "shortPin"
	codeLate = "codeLate"
)

// texts are what staff must know of a plan that gives less than its stay has a right to.
var texts = map[fault.Reason]string{
	fault.WindowInFuture:  "The PMS checked this guest in before the booked day. The codes open on that day.",
	fault.SpacesDisagree:  "The PMS named a bed, and a room that is not the bed's. The doors are those of the bed: correct the reservation in the PMS if the room is right.",
	fault.SpaceShared:     "Two stays are checked in to the same private space. Both have access: look whether one is a mistake.",
	fault.FormerCode:      "A lock may still open to a former code of this stay (another PIN, room or date): it does not answer, or refused the new code. The plan of the stay lists the doors. The former code is removed when the lock is back.",
	fault.LockJammed:      "A lock of this stay is jammed: its bolt does not move, and no code opens it. Send a person to free it, and give the guest another room or key.",
	fault.SlotsFull:       "A lock of this stay has no free slot. Remove a code at the lock, or wait for one to be cleared.",
	fault.PINNotPossible:  "A lock of this stay takes no PIN that the property's rules allow. Change the PIN length, or give another key.",
	fault.LockRefused:     "A lock of this stay refused the code. Its state in the dashboard says why.",
	fault.DuplicateOnLock: "A lock of this stay called every PIN a duplicate of one that it holds. Look which codes it has, then draw a new PIN.",
	fault.SpaceUnknown:    noDoor,
	fault.SpaceNotMapped:  noDoor,
	fault.RoomNotAssigned: noDoor,
	fault.SpaceInactive:   "This guest is checked in to a space that is switched off. Switch it on, or assign another room.",
	fault.BridgeRevoked:   noBridge,
	fault.NoBridge:        noBridge,
}

const (
	noDoor   = "This guest is checked in, but the space of the PMS leads to no door. Map it, or assign a room."
	noBridge = "A lock of this stay has no bridge that may drive it."
	noSix    = "A lock of this stay demands a PIN of fewer than six digits, which can be guessed. Use it for doors that matter little."
)

func (w *work) notices(p Plan) []staff.Notice {
	var out []staff.Notice
	for _, r := range p.Reasons {
		if text := texts[r]; text != "" {
			out = append(out, staff.Notice{Kind: string(r), Text: text})
		}
	}
	if w.codes != nil && w.codes.short {
		out = append(out, staff.Notice{Kind: shortPIN, Text: noSix})
	}
	return out
}

func onceKey(g *ent.Grant, kind string) string { return g.ID + "/" + kind }

// healed says of the conditions that no longer stand that they may be told again, should they come back.
func (w *work) healed(stand []staff.Notice) error {
	if w.opened || !w.acted && !w.moved && !w.heard {
		return nil
	}
	keys := []string{onceKey(w.grant, codeLate)}
	for r := range texts {
		if r == fault.SpacesDisagree && w.place.Space != nil && !w.named {
			continue // the grant does not hold what the PMS named
		}
		if !slices.ContainsFunc(stand, func(n staff.Notice) bool { return n.Kind == string(r) }) {
			keys = append(keys, onceKey(w.grant, string(r)))
		}
	}
	err := w.tx.Notice.Update().Where(entnotice.PropertyID(w.property), entnotice.OnceKeyIn(keys...)).ClearOnceKey().Exec(w.ctx())
	if err != nil {
		return fmt.Errorf("settle the notices of a stay: %w", err)
	}
	return nil
}
