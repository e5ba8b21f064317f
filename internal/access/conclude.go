package access

import (
	"fmt"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/staff"
)

// conclude describes what came out, tells those who need to know, and lets go what nobody holds.
func (w *work) conclude(f Facts, held []occupied, steps []Step) (Plan, error) {
	p, err := w.describe(f, held)
	if err != nil {
		return Plan{}, err
	}
	if err := w.release(held); err != nil {
		return Plan{}, err
	}
	if err := w.tell(p, steps); err != nil {
		return Plan{}, err
	}
	return p, w.evict()
}

func (w *work) describe(f Facts, held []occupied) (Plan, error) {
	var err error
	f.Held, f.Moved = view(held), w.moved
	if f.Names, err = w.names(held, f.Doors); err != nil {
		return Plan{}, err
	}
	if w.codes != nil {
		f.NoPIN, f.OwnPIN = w.codes.none, map[string]bool{}
		for door := range w.codes.own {
			f.OwnPIN[door] = true
		}
	}
	if f.Shared, err = w.shared(f.Doors); err != nil {
		return Plan{}, err
	}
	return Describe(f), nil
}

// shared says whether another stay has access to the same private space.
func (w *work) shared(doors []Door) (bool, error) {
	if !live(w.grant) || w.spaceID() == "" || len(doors) == 0 || !doors[0].Private {
		return false, nil
	}
	n, err := w.tx.Grant.Query().Where(entgrant.PropertyID(w.property), entgrant.SpaceID(w.spaceID()),
		entgrant.EndedAtIsNil(), entgrant.IDNEQ(w.grant.ID)).Exist(w.tx.Context())
	if err != nil {
		return false, fmt.Errorf("look for sharers of a space: %w", err)
	}
	return n, nil
}

// evict settles the stays that are leaving a door which this one has now been given: a swap of rooms waits for nobody.
func (w *work) evict() error {
	if !(w.issued || w.moved) || !live(w.grant) || w.spaceID() == "" {
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
func (w *work) tell(p Plan, steps []Step) error {
	kind, ok := w.kind(p, steps)
	if ok {
		err := event.Append(w.tx, event.Event{PropertyID: w.property, Subject: w.reservation, Kind: kind, Body: body(w.reservation, p)})
		if err != nil {
			return err
		}
	}
	for _, n := range w.notices(p) {
		n.PropertyID, n.Subject = w.property, w.reservation
		n.OnceKey = w.grant.ID + "/" + n.Kind
		if err := staff.Notify(w.tx, n); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) kind(p Plan, steps []Step) (event.Kind, bool) {
	switch {
	case w.issued && p.Status == StatusFailed:
		return event.AccessFailed, true
	case w.issued:
		return event.AccessIssued, true
	case w.moved:
		return event.AccessUpdated, true
	case !live(w.grant) && w.grant.ReleasedAt != nil && w.grant.ReleasedAt.Equal(w.tx.Now()):
		return event.AccessRemoved, true
	case live(w.grant) && len(steps) > 0:
		return event.AccessUpdated, true
	}
	return "", false
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

// notices are what staff must know of a plan that gives less than its stay has a right to.
func (w *work) notices(p Plan) []staff.Notice {
	if !live(w.grant) {
		return nil
	}
	var out []staff.Notice
	add := func(kind fault.Reason, text string) {
		out = append(out, staff.Notice{Kind: string(kind), Text: text})
	}
	if w.right.HeldBack {
		add(fault.WindowInFuture, "The PMS checked this guest in before the booked day. The codes open on that day.")
	}
	for _, r := range p.Reasons {
		switch r {
		case fault.SpaceShared:
			add(r, "Two stays are checked in to the same private space. Both have access: look whether one is a mistake.")
		case fault.SlotsFull:
			add(r, "A lock of this stay has no free slot. Remove a code at the lock, or wait for one to be cleared.")
		case fault.PINNotPossible:
			add(r, "A lock of this stay takes no PIN that the property's rules allow. Change the PIN length, or give another key.")
		case fault.LockRefused:
			add(r, "A lock of this stay refused the code. Its state in the dashboard says why.")
		case fault.SpaceUnknown, fault.SpaceNotMapped, fault.SpaceInactive, fault.RoomNotAssigned:
			add(r, "This guest is checked in, but the space of the PMS leads to no door. Map it, or assign a room.")
		case fault.BridgeRevoked, fault.NoBridge:
			add(r, "A lock of this stay has no bridge that may drive it.")
		}
	}
	return out
}

// Progress settles the grants whose slots changed, because evidence came in.
func Progress(w Settler, changed []SlotChange) error {
	seen := map[string]bool{}
	for _, c := range changed {
		if err := w.verified(c); err != nil {
			return err
		}
		if c.GrantID == "" || seen[c.GrantID] {
			continue
		}
		seen[c.GrantID] = true
		g, err := w.Tx.Grant.Query().Where(entgrant.PropertyID(c.PropertyID), entgrant.ID(c.GrantID)).Only(w.Tx.Context())
		if ent.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("load the grant of a slot: %w", err)
		}
		if err := w.settle(g); err != nil {
			return err
		}
	}
	return nil
}

func (w Settler) verified(c SlotChange) error {
	if c.After != slot.Verified || c.Before == slot.Verified || c.Before == slot.Used {
		return nil
	}
	body := map[string]any{"lockId": c.LockID, "doorId": c.DoorID, "grantId": c.GrantID}
	return event.Append(w.Tx, event.Event{PropertyID: c.PropertyID, Subject: c.LockID, Kind: event.CredentialVerified, Body: body})
}
