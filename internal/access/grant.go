package access

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	entpin "latchkey.dev/ent/pin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock/slot"
)

// pinRetention is how long the PIN of a stay outlives its window. A guest who extends the stay after check-out time keeps the
// PIN.
const pinRetention = 24 * time.Hour

// applyRight opens, changes or ends the grant, as the right demands.
func (run *grantRun) applyRight() error {
	switch {
	case run.right.Open && isLive(run.grant):
		return run.updateGrant()
	case run.right.Open && run.canReopen():
		return run.reopenGrant()
	case run.right.Open:
		return run.openGrant()
	case isLive(run.grant):
		return run.endGrant()
	case endedByTime(run.grant) && run.right.Reason != WindowPast:
		return run.setEndReason()
	}
	return nil
}

// endedByTime reports whether a grant ended because its window did, not because the PMS ended the stay.
func endedByTime(g *ent.Grant) bool {
	return g != nil && g.EndedAt != nil && g.EndReason == WindowPast
}

func (run *grantRun) canReopen() bool {
	return endedByTime(run.grant) && run.tx.Now().Sub(*run.grant.EndedAt) < pinRetention
}

// openGrant makes a new grant. storeGrant inserts its row once its PIN is generated.
func (run *grantRun) openGrant() error {
	if run.grant != nil && run.grant.ReleasedAt == nil {
		run.olderGrants = append(run.olderGrants, run.grant)
	}
	run.opened, run.isNew = true, true
	run.grant = &ent.Grant{
		ID: id.New("grt"), PropertyID: run.propertyID, ReservationID: run.reservationID, SpaceID: run.spaceID(),
		NotBefore: run.right.Window.From, NotAfter: run.right.Window.To, KeyGeneration: 1, PlacedAt: run.tx.Now(), CreatedAt: run.tx.Now(),
	}
	return nil
}

// storeGrant stores the PIN of a grant, and inserts a new grant.
func (run *grantRun) storeGrant(pinID string) (err error) {
	g := run.grant
	switch {
	case run.isNew:
		g.PinID = pinID
		err = run.tx.Grant.Create().SetID(g.ID).SetPropertyID(g.PropertyID).SetReservationID(g.ReservationID).SetSpaceID(g.SpaceID).
			SetNotBefore(g.NotBefore).SetNotAfter(g.NotAfter).SetPinID(g.PinID).SetKeyGeneration(g.KeyGeneration).
			SetOpenKey(g.ReservationID).SetPlacedAt(g.PlacedAt).SetCreatedAt(g.CreatedAt).Exec(run.ctx())
	case g.PinID != pinID:
		run.grant, err = run.tx.Grant.UpdateOne(g).SetPinID(pinID).Save(run.ctx())
	}
	if err != nil {
		return fmt.Errorf("store a grant: %w", err)
	}
	return nil
}

// reopenGrant reopens a grant whose window had ended.
func (run *grantRun) reopenGrant() (err error) {
	run.opened = true
	u := run.tx.Grant.UpdateOne(run.grant).ClearEndedAt().SetEndReason("").ClearReleasedAt().SetOpenKey(run.reservationID).
		SetNotBefore(run.right.Window.From).SetNotAfter(run.right.Window.To).AddKeyGeneration(1)
	run.setSpace(u)
	u.SetPlacedAt(run.tx.Now()) // the stay had left its space
	if run.grant, err = u.Save(run.ctx()); err != nil {
		return fmt.Errorf("open a grant again: %w", err)
	}
	return nil
}

// updateGrant stores a new window or space. The PIN stays; SmartKeys of the old window become invalid. A stay that lost its place
// keeps its doors and SmartKeys.
func (run *grantRun) updateGrant() (err error) {
	same := Window{run.grant.NotBefore, run.grant.NotAfter}.Same(run.right.Window)
	if same && run.grant.SpaceID == run.spaceID() {
		return nil
	}
	run.changed, run.changedSpace = true, run.grant.SpaceID != run.spaceID()
	u := run.tx.Grant.UpdateOne(run.grant).SetNotBefore(run.right.Window.From).SetNotAfter(run.right.Window.To)
	run.setSpace(u)
	if !same || run.place.Space != nil {
		u.AddKeyGeneration(1)
	}
	if run.grant, err = u.Save(run.ctx()); err != nil {
		return fmt.Errorf("change a grant: %w", err)
	}
	return nil
}

// setSpace stores the new space of a grant, since when, and which space it had before. The previous space of a stay that had none
// for a while is the last one it had.
func (run *grantRun) setSpace(u *ent.GrantUpdateOne) {
	g := run.grant
	if g.SpaceID == run.spaceID() {
		return
	}
	u.SetSpaceID(run.spaceID()).SetPlacedAt(run.tx.Now())
	if g.SpaceID != "" {
		u.SetFromSpaceID(g.SpaceID)
	}
}

// takesOver reports whether the stay "has" has priority in its space over the stay "leaves": it arrived after that one had left,
// or it moved there itself, as in a swap of rooms. A stay that is checked in to an occupied space shares it: it does not end the
// access of a stay that leaves later.
func takesOver(has, leaves *ent.Grant) bool {
	return !has.PlacedAt.Before(leaves.PlacedAt) || has.FromSpaceID != "" && has.FromSpaceID != has.SpaceID
}

func (run *grantRun) endGrant() (err error) {
	run.grant, err = run.tx.Grant.UpdateOne(run.grant).SetEndedAt(run.tx.Now()).SetEndReason(run.right.Reason).
		ClearOpenKey().AddKeyGeneration(1).Save(run.ctx())
	if err != nil {
		return fmt.Errorf("end a grant: %w", err)
	}
	return nil
}

// setEndReason stores that the PMS has ended a stay whose window had ended before.
func (run *grantRun) setEndReason() (err error) {
	run.grant, err = run.tx.Grant.UpdateOne(run.grant).SetEndReason(run.right.Reason).Save(run.ctx())
	if err != nil {
		return fmt.Errorf("end a grant for good: %w", err)
	}
	return nil
}

// releaseIfRemoved releases PINs that no lock can hold any more: replaced ones, and those of an ended grant.
func (run *grantRun) releaseIfRemoved(held []installedSlot) error {
	if isLive(run.grant) {
		return run.releaseRetiredPINs(held)
	}
	for _, h := range held {
		if h.Present || h.Evidence != slot.Removed {
			return nil
		}
	}
	u := run.tx.Grant.UpdateOne(run.grant)
	if run.grant.ReleasedAt == nil {
		run.released = true
		u.SetReleasedAt(run.tx.Now())
	}
	forget := !run.canReopen() && (run.released || run.grant.PinID != "")
	if forget {
		if err := run.deletePINs(entpin.GrantID(run.grant.ID)); err != nil {
			return err
		}
		u.SetPinID("")
	}
	if !run.released && !forget {
		return nil
	}
	g, err := u.Save(run.ctx())
	if err != nil {
		return fmt.Errorf("release a grant: %w", err)
	}
	run.grant = g
	return nil
}

// releaseRetiredPINs deletes replaced PINs once every lock has confirmed the new one.
func (run *grantRun) releaseRetiredPINs(held []installedSlot) error {
	if run.pins == nil || !run.pins.hasRetired {
		return nil
	}
	for _, h := range held {
		if h.Present && !h.isProven() || !h.Present && h.Evidence != slot.Removed {
			return nil
		}
	}
	return run.deletePINs(entpin.GrantID(run.grant.ID), entpin.Retired(true))
}

// otherGrants returns the other grants of the stay that are open or whose codes may still be on a lock.
func (run *grantRun) otherGrants() ([]*ent.Grant, error) {
	found, err := run.tx.Grant.Query().Where(entgrant.PropertyID(run.propertyID), entgrant.ReservationID(run.reservationID),
		entgrant.IDNEQ(run.grant.ID), entgrant.ReleasedAtIsNil()).Limit(maxGrants).All(run.ctx())
	if err != nil {
		return nil, fmt.Errorf("load the other grants of a stay: %w", err)
	}
	return found, nil
}

// reconcileOpenGrants reconciles the open grant of a stay after the codes of an earlier one are removed: its plan no longer lists
// them, and its notice about them may be sent again.
func (run *grantRun) reconcileOpenGrants(others []*ent.Grant) error {
	for _, g := range others {
		if !isLive(g) {
			continue
		}
		other := &grantRun{tx: run.tx, keys: run.keys, rules: run.rules, propertyID: g.PropertyID, reservationID: g.ReservationID, grant: g, newEvidence: true}
		if _, err := other.reconcileGrant(); err != nil {
			return err
		}
	}
	return nil
}

// ReservationsOf maps each of some grants to its reservation.
func ReservationsOf(view *db.Tx, propertyID string, grantIDs []string) (map[string]string, error) {
	grants, err := view.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.IDIn(grantIDs...)).All(view.Context())
	stays := make(map[string]string, len(grants))
	for _, g := range grants {
		stays[g.ID] = g.ReservationID
	}
	return stays, err
}
