package access

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"latchkey.dev/ent"
	entgate "latchkey.dev/ent/gate"
	entgrant "latchkey.dev/ent/grant"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/ent/predicate"
	entslot "latchkey.dev/ent/slot"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// Reconciler sets, changes and clears the codes on locks, in one transaction, until they match the grants (the access of stays) and the
// other codes.
type Reconciler struct {
	Tx   *db.Tx
	Keys *keyring.Ring
	Log  *slog.Logger // Log is nil to discard messages
}

// ApplyEvidence handles the slot changes in a report of a bridge. It compares each grant (the access of one stay) that has a changed slot
// with its locks again, and gives freed slots to grants that wait for one. For a staff, one-time or backup code it calls reconcileCode:
// with its first change in the report, and with each further one that is a refusal or a use. It records an event for each code that became
// verified.
func ApplyEvidence(rec Reconciler, changed []lock.EvidenceChange, reconcileCode func(c lock.EvidenceChange) error) error {
	seen, freed := map[string]bool{}, map[string]int{}
	for _, c := range changed {
		if c.After == slot.Removed {
			freed[c.Slot.LockID]++
		}
	}
	for _, c := range changed {
		if err := rec.appendVerified(c); err != nil {
			return err
		}
		refused := c.After == slot.Failed && c.Before != slot.Failed
		if holder := c.Slot.GrantID; holder != "" && (!seen[holder] || refused || !c.UsedAt.IsZero()) {
			seen[holder] = true
			reconcile := rec.reconcileEvidence
			if strings.HasPrefix(holder, id.Code+"_") {
				reconcile = reconcileCode
			}
			if err := reconcile(c); err != nil {
				return err
			}
		}
		if lockID := c.Slot.LockID; c.After == slot.Removed && !seen[lockID] {
			seen[lockID] = true
			if err := rec.assignFreeSlots(c.Slot.PropertyID, lockID, freed[lockID]); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendVerified records an event if a code became verified: it was neither verified nor used before the report. That happens again after
// each change of the code.
func (rec Reconciler) appendVerified(c lock.EvidenceChange) error {
	if c.After != slot.Verified || c.Before == slot.Verified || c.Before == slot.Used {
		return nil
	}
	body := map[string]any{"lockId": c.Slot.LockID, "doorId": c.Slot.DoorID, "grantId": c.Slot.GrantID}
	return event.Append(rec.Tx, event.Event{PropertyID: c.Slot.PropertyID, Subject: c.Slot.LockID, Kind: event.CredentialVerified, Body: body})
}

// reconcileEvidence reconciles the grant whose slot has new evidence. It does nothing if the grant does not exist any more.
func (rec Reconciler) reconcileEvidence(c lock.EvidenceChange) error {
	g, err := rec.Tx.Grant.Query().Where(entgrant.PropertyID(c.Slot.PropertyID), entgrant.ID(c.Slot.GrantID)).Only(rec.Tx.Context())
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load the grant of a slot: %w", err)
	}
	_, err = rec.reconcileGrant(g, Report{
		Refused: c.After == slot.Failed && c.Before != slot.Failed, Confirmed: c.After.ConfirmedByLock() && !c.Before.ConfirmedByLock(),
	})
	return err
}

// reconcileGrant reconciles the locks of one grant, like [Apply], but from what the grant itself stores, and returns the resulting plan. It
// ends a grant whose window is over. It runs after a report of a lock, after another reservation takes over a door, and at the end of the
// window. r is the report of a lock that caused it, or zero if none did.
func (rec Reconciler) reconcileGrant(g *ent.Grant, r Report) (Plan, error) {
	run, err := rec.loadGrant(g)
	if err != nil {
		return Plan{}, err
	}
	run.report = r
	return run.reconcile()
}

// assignFreeSlots gives freed slots of a lock to reservations that may open its door and have no code on it, until the lock is full. It
// begins with the reservation whose access was created first. freed is how many slots just became free. If more are free, it does nothing,
// because then no reservation was waiting. It also does nothing for an unknown lock or one that is on no door.
func (rec Reconciler) assignFreeSlots(propertyID, lockID string, freed int) error {
	ctx := rec.Tx.Context()
	lk, err := rec.Tx.Lock.Query().Where(entlock.PropertyID(propertyID), entlock.ID(lockID)).Only(ctx)
	if ent.IsNotFound(err) || err == nil && lk.DoorID == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load a lock: %w", err)
	}
	vacant, err := lock.CountFreeSlots(rec.Tx, lk)
	if err != nil || vacant > freed {
		return err
	}
	at, err := rec.grantsForDoor(propertyID, *lk.DoorID)
	if err != nil {
		return err
	}
	has, err := rec.Tx.Slot.Query().Where(entslot.PropertyID(propertyID), entslot.LockID(lk.ID), entslot.Present(true)).
		Select(entslot.FieldGrantID).Strings(ctx)
	if err != nil {
		return fmt.Errorf("list the codes on a lock: %w", err)
	}
	rows, err := rec.Tx.Grant.Query().Where(append(at, entgrant.PropertyID(propertyID), entgrant.EndedAtIsNil(), entgrant.IDNotIn(has...))...).
		Order(entgrant.ByID()).All(ctx)
	if err != nil {
		return fmt.Errorf("look for stays that wait for a slot: %w", err)
	}
	for _, g := range rows {
		if full, err := rec.reconcileIfOpens(g, *lk.DoorID); err != nil || full {
			return err
		}
	}
	return nil
}

// reconcileIfOpens reconciles a grant (the access of a stay) that waits for a slot, if it opens a door. full means that the lock on the
// door has no free slot for it, so that other waiting grants need not be tried.
func (rec Reconciler) reconcileIfOpens(g *ent.Grant, doorID string) (full bool, err error) {
	doors, err := AccessibleDoors(rec.Tx, g)
	if err != nil || !slices.ContainsFunc(doors, func(d DoorAccess) bool { return d.ID == doorID }) {
		return false, err
	}
	p, err := rec.reconcileGrant(g, Report{})
	return slices.ContainsFunc(p.Doors, func(d PlannedDoor) bool { return d.ID == doorID && d.Reason == lock.SlotsFull }), err
}

// grantsForDoor returns conditions for the grants (the access of stays) that can open a door: those of its space and its beds, or at a gate
// those of the spaces it serves. For a gate that serves all spaces it returns no condition, which selects every grant.
func (rec Reconciler) grantsForDoor(propertyID, doorID string) ([]predicate.Grant, error) {
	within := []string{doorID}
	gate, err := rec.Tx.Gate.Query().Where(entgate.PropertyID(propertyID), entgate.ID(doorID)).Only(rec.Tx.Context())
	switch {
	case err != nil && !ent.IsNotFound(err):
		return nil, fmt.Errorf("load a gate: %w", err)
	case err == nil && len(gate.SpaceIds) == 0:
		return nil, nil
	case err == nil:
		within = gate.SpaceIds
	}
	beds, err := rec.Tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.ParentIDIn(within...)).IDs(rec.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the beds behind a door: %w", err)
	}
	return []predicate.Grant{entgrant.SpaceIDIn(append(beds, within...)...)}, nil
}
