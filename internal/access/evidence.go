package access

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent"
	entgate "latchkey.dev/ent/gate"
	entgrant "latchkey.dev/ent/grant"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/ent/predicate"
	entslot "latchkey.dev/ent/slot"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// Reconciler reconciles grants and codes with their locks in one transaction.
type Reconciler struct {
	Tx   *db.Tx
	Keys *keyring.Ring
	Log  *slog.Logger // nil: discards
}

// SlotChange is new evidence about one slot.
type SlotChange struct {
	PropertyID, LockID, DoorID, GrantID string
	Before, After                       slot.Evidence
	UsedAt                              time.Time // when its code was first used; zero: no news
	Here                                bool      // the code was used at this lock
}

// ApplyReports is [ApplyEvidence] for what bridges reported.
func ApplyReports(rec Reconciler, reported []lock.EvidenceChange) error {
	changes := make([]SlotChange, len(reported))
	for i, c := range reported {
		changes[i] = SlotChange{
			PropertyID: c.Slot.PropertyID, LockID: c.Slot.LockID, DoorID: c.Slot.DoorID, GrantID: c.Slot.GrantID, Before: c.Before, After: c.After,
			UsedAt: c.UsedAt, Here: c.AtThisLock,
		}
	}
	return ApplyEvidence(rec, changes)
}

// ApplyEvidence reconciles the grants and codes whose slots changed, and those that wait for a slot that became free.
func ApplyEvidence(rec Reconciler, changed []SlotChange) error {
	seen, freed := map[string]bool{}, map[string]int{}
	for _, c := range changed {
		if c.After == slot.Removed {
			freed[c.LockID]++
		}
	}
	for _, c := range changed {
		if err := rec.appendVerified(c); err != nil {
			return err
		}
		if err := rec.reconcileSlotChange(c, seen); err != nil {
			return err
		}
		if c.After != slot.Removed || seen[c.LockID] {
			continue
		}
		seen[c.LockID] = true
		if err := rec.assignFreeSlots(c, freed[c.LockID]); err != nil {
			return err
		}
	}
	return nil
}

func (rec Reconciler) appendVerified(c SlotChange) error {
	if c.After != slot.Verified || c.Before == slot.Verified || c.Before == slot.Used {
		return nil
	}
	body := map[string]any{"lockId": c.LockID, "doorId": c.DoorID, "grantId": c.GrantID}
	return event.Append(rec.Tx, event.Event{PropertyID: c.PropertyID, Subject: c.LockID, Kind: event.CredentialVerified, Body: body})
}

func (rec Reconciler) reconcileSlotChange(c SlotChange, seen map[string]bool) error {
	failed := c.After == slot.Failed && c.Before != slot.Failed
	if c.GrantID == "" || seen[c.GrantID] && !failed && c.UsedAt.IsZero() {
		return nil
	}
	seen[c.GrantID] = true
	if strings.HasPrefix(c.GrantID, CodePrefix+"_") {
		return rec.reconcileCodeChange(c)
	}
	g, err := rec.Tx.Grant.Query().Where(entgrant.PropertyID(c.PropertyID), entgrant.ID(c.GrantID)).Only(rec.Tx.Brief())
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load the grant of a slot: %w", err)
	}
	run, err := rec.newRun(g)
	if err != nil {
		return err
	}
	run.newlyFailed, run.newEvidence = failed, c.After.Confirmed() && !c.Before.Confirmed()
	_, err = run.reconcileGrant()
	return err
}

// assignFreeSlots gives freed slots of a lock to the stays that open its door and have no code on it, the longest waiting first,
// until the lock is full. If the lock had a free slot before, no stay waits.
func (rec Reconciler) assignFreeSlots(c SlotChange, freed int) error {
	ctx := rec.Tx.Context()
	lk, err := rec.Tx.Lock.Query().Where(entlock.PropertyID(c.PropertyID), entlock.ID(c.LockID)).Only(ctx)
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
	at, err := rec.grantsForDoor(c.PropertyID, *lk.DoorID)
	if err != nil {
		return err
	}
	has, err := rec.Tx.Slot.Query().Where(entslot.PropertyID(c.PropertyID), entslot.LockID(lk.ID), entslot.Present(true)).
		Select(entslot.FieldGrantID).Strings(ctx)
	if err != nil {
		return fmt.Errorf("list the codes on a lock: %w", err)
	}
	rows, err := rec.Tx.Grant.Query().Where(append(at, entgrant.PropertyID(c.PropertyID), entgrant.EndedAtIsNil(), entgrant.IDNotIn(has...))...).
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

// reconcileIfOpens reconciles a grant if it opens a door, and reports whether the lock there is full.
func (rec Reconciler) reconcileIfOpens(g *ent.Grant, doorID string) (full bool, err error) {
	doors, err := AccessibleDoors(rec.Tx, g)
	if err != nil || !slices.ContainsFunc(doors, func(d DoorAccess) bool { return d.ID == doorID }) {
		return false, err
	}
	run, err := rec.newRun(g)
	if err != nil {
		return false, err
	}
	p, err := run.reconcileGrant()
	return slices.ContainsFunc(p.Doors, func(d PlannedDoor) bool { return d.ID == doorID && d.Reason == lock.SlotsFull }), err
}

// grantsForDoor selects the grants that may open a door: those of its space and its beds or, at a gate, those of the spaces it
// serves. A gate that serves all spaces selects every grant.
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

func (rec Reconciler) reconcileGrant(g *ent.Grant) error {
	run, err := rec.newRun(g)
	if err != nil {
		return err
	}
	_, err = run.reconcileGrant()
	return err
}

func (rec Reconciler) newRun(g *ent.Grant) (*grantRun, error) {
	p, err := rec.Tx.Property.Get(rec.Tx.Brief(), g.PropertyID)
	if err != nil {
		return nil, fmt.Errorf("load the property of a grant: %w", err)
	}
	rules, err := RulesOf(p)
	if err != nil {
		return nil, err
	}
	return &grantRun{tx: rec.Tx, keys: rec.Keys, rules: rules, propertyID: g.PropertyID, reservationID: g.ReservationID, grant: g}, nil
}
