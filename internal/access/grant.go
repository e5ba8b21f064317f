package access

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	entpin "latchkey.dev/ent/pin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock/slot"
)

// pinRetention is how long the PIN of a stay outlives its window. A guest who extends the stay after check-out time keeps the
// PIN.
const pinRetention = 24 * time.Hour

// applyRight opens, changes or ends the grant, as the right demands.
func (w *grantRun) applyRight() error {
	switch {
	case w.right.Open && isLive(w.grant):
		return w.updateGrant()
	case w.right.Open && w.canReopen():
		return w.reopenGrant()
	case w.right.Open:
		return w.openGrant()
	case isLive(w.grant):
		return w.endGrant()
	case endedByTime(w.grant) && w.right.Reason != fault.WindowPast:
		return w.setEndReason()
	}
	return nil
}

// endedByTime reports whether a grant ended because its window did, not because the PMS ended the stay.
func endedByTime(g *ent.Grant) bool {
	return g != nil && g.EndedAt != nil && g.EndReason == string(fault.WindowPast)
}

func (w *grantRun) canReopen() bool {
	return endedByTime(w.grant) && w.tx.Now().Sub(*w.grant.EndedAt) < pinRetention
}

// openGrant makes a new grant. storeGrant inserts its row once its PIN is generated.
func (w *grantRun) openGrant() error {
	if w.grant != nil && w.grant.ReleasedAt == nil {
		w.olderGrants = append(w.olderGrants, w.grant)
	}
	w.opened, w.isNew = true, true
	w.grant = &ent.Grant{
		ID: id.New("grt"), PropertyID: w.propertyID, ReservationID: w.reservationID, SpaceID: w.spaceID(),
		NotBefore: w.right.Window.From, NotAfter: w.right.Window.To, KeyGeneration: 1, PlacedAt: w.tx.Now(), CreatedAt: w.tx.Now(),
	}
	return nil
}

// storeGrant stores the PIN of a grant, and inserts a new grant.
func (w *grantRun) storeGrant(pinID string) (err error) {
	g := w.grant
	switch {
	case w.isNew:
		g.PinID = pinID
		err = w.tx.Grant.Create().SetID(g.ID).SetPropertyID(g.PropertyID).SetReservationID(g.ReservationID).SetSpaceID(g.SpaceID).
			SetNotBefore(g.NotBefore).SetNotAfter(g.NotAfter).SetPinID(g.PinID).SetKeyGeneration(g.KeyGeneration).
			SetOpenKey(g.ReservationID).SetPlacedAt(g.PlacedAt).SetCreatedAt(g.CreatedAt).Exec(w.ctx())
	case g.PinID != pinID:
		w.grant, err = w.tx.Grant.UpdateOne(g).SetPinID(pinID).Save(w.ctx())
	}
	if err != nil {
		return fmt.Errorf("store a grant: %w", err)
	}
	return nil
}

// reopenGrant reopens a grant whose window had ended.
func (w *grantRun) reopenGrant() (err error) {
	w.opened = true
	u := w.tx.Grant.UpdateOne(w.grant).ClearEndedAt().SetEndReason("").ClearReleasedAt().SetOpenKey(w.reservationID).
		SetNotBefore(w.right.Window.From).SetNotAfter(w.right.Window.To).AddKeyGeneration(1)
	w.setSpace(u)
	u.SetPlacedAt(w.tx.Now()) // the stay had left its space
	if w.grant, err = u.Save(w.ctx()); err != nil {
		return fmt.Errorf("open a grant again: %w", err)
	}
	return nil
}

// updateGrant stores a new window or space. The PIN stays; SmartKeys of the old window become invalid. A stay that lost its place
// keeps its doors and SmartKeys.
func (w *grantRun) updateGrant() (err error) {
	same := Window{w.grant.NotBefore, w.grant.NotAfter}.Same(w.right.Window)
	if same && w.grant.SpaceID == w.spaceID() {
		return nil
	}
	w.changed, w.changedSpace = true, w.grant.SpaceID != w.spaceID()
	u := w.tx.Grant.UpdateOne(w.grant).SetNotBefore(w.right.Window.From).SetNotAfter(w.right.Window.To)
	w.setSpace(u)
	if !same || w.place.Space != nil {
		u.AddKeyGeneration(1)
	}
	if w.grant, err = u.Save(w.ctx()); err != nil {
		return fmt.Errorf("change a grant: %w", err)
	}
	return nil
}

// setSpace stores the new space of a grant, since when, and which space it had before. The previous space of a stay that had none
// for a while is the last one it had.
func (w *grantRun) setSpace(u *ent.GrantUpdateOne) {
	g := w.grant
	if g.SpaceID == w.spaceID() {
		return
	}
	u.SetSpaceID(w.spaceID()).SetPlacedAt(w.tx.Now())
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

func (w *grantRun) endGrant() (err error) {
	w.grant, err = w.tx.Grant.UpdateOne(w.grant).SetEndedAt(w.tx.Now()).SetEndReason(string(w.right.Reason)).
		ClearOpenKey().AddKeyGeneration(1).Save(w.ctx())
	if err != nil {
		return fmt.Errorf("end a grant: %w", err)
	}
	return nil
}

// setEndReason stores that the PMS has ended a stay whose window had ended before.
func (w *grantRun) setEndReason() (err error) {
	w.grant, err = w.tx.Grant.UpdateOne(w.grant).SetEndReason(string(w.right.Reason)).Save(w.ctx())
	if err != nil {
		return fmt.Errorf("end a grant for good: %w", err)
	}
	return nil
}

// releaseIfRemoved releases PINs that no lock can hold any more: replaced ones, and those of an ended grant.
func (w *grantRun) releaseIfRemoved(held []installedSlot) error {
	if isLive(w.grant) {
		return w.releaseRetiredPINs(held)
	}
	for _, h := range held {
		if h.Present || h.Evidence != slot.Removed {
			return nil
		}
	}
	u := w.tx.Grant.UpdateOne(w.grant)
	if w.grant.ReleasedAt == nil {
		w.released = true
		u.SetReleasedAt(w.tx.Now())
	}
	forget := !w.canReopen() && (w.released || w.grant.PinID != "")
	if forget {
		if err := w.deletePINs(entpin.GrantID(w.grant.ID)); err != nil {
			return err
		}
		u.SetPinID("")
	}
	if !w.released && !forget {
		return nil
	}
	g, err := u.Save(w.ctx())
	if err != nil {
		return fmt.Errorf("release a grant: %w", err)
	}
	w.grant = g
	return nil
}

// releaseRetiredPINs deletes replaced PINs once every lock has confirmed the new one.
func (w *grantRun) releaseRetiredPINs(held []installedSlot) error {
	if w.pins == nil || !w.pins.hasRetired {
		return nil
	}
	for _, h := range held {
		if h.Present && !h.isProven() || !h.Present && h.Evidence != slot.Removed {
			return nil
		}
	}
	return w.deletePINs(entpin.GrantID(w.grant.ID), entpin.Retired(true))
}

// otherGrants returns the other grants of the stay that are open or whose codes may still be on a lock.
func (w *grantRun) otherGrants() ([]*ent.Grant, error) {
	found, err := w.tx.Grant.Query().Where(entgrant.PropertyID(w.propertyID), entgrant.ReservationID(w.reservationID),
		entgrant.IDNEQ(w.grant.ID), entgrant.ReleasedAtIsNil()).Limit(maxGrants).All(w.ctx())
	if err != nil {
		return nil, fmt.Errorf("load the other grants of a stay: %w", err)
	}
	return found, nil
}

// reconcileOpenGrants reconciles the open grant of a stay after the codes of an earlier one are removed: its plan no longer lists
// them, and its notice about them may be sent again.
func (w *grantRun) reconcileOpenGrants(others []*ent.Grant) error {
	for _, g := range others {
		if !isLive(g) {
			continue
		}
		run := &grantRun{tx: w.tx, keys: w.keys, rules: w.rules, propertyID: g.PropertyID, reservationID: g.ReservationID, grant: g, newEvidence: true}
		if _, err := run.reconcileGrant(); err != nil {
			return err
		}
	}
	return nil
}
