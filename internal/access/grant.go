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

// keepPIN is how long the PIN of a stay outlives its window. A guest who is given another night after the hour of
// check-out has passed goes on with the PIN they know.
const pinRetention = 24 * time.Hour

// grantFor opens, changes or ends the grant, as the right says.
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

// overstayed says that a grant ended because its window did, and not because the PMS said so.
func endedByTime(g *ent.Grant) bool {
	return g != nil && g.EndedAt != nil && g.EndReason == string(fault.WindowPast)
}

func (w *grantRun) canReopen() bool {
	return endedByTime(w.grant) && w.tx.Now().Sub(*w.grant.EndedAt) < pinRetention
}

// open makes a grant; its row is stored once its PIN is drawn.
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

// store stores the PIN of a grant, and a fresh grant with it.
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

// reopen goes on with a grant whose window had ended.
func (w *grantRun) reopenGrant() (err error) {
	w.opened = true
	u := w.tx.Grant.UpdateOne(w.grant).ClearEndedAt().SetEndReason("").ClearReleasedAt().SetOpenKey(w.reservationID).
		SetNotBefore(w.right.Window.From).SetNotAfter(w.right.Window.To).AddKeyGeneration(1)
	w.setSpace(u)
	u.SetPlacedAt(w.tx.Now()) // it had left
	if w.grant, err = u.Save(w.ctx()); err != nil {
		return fmt.Errorf("open a grant again: %w", err)
	}
	return nil
}

// change follows new dates or a new space. The PIN stays; SmartKeys of the old window no longer count. A stay that lost its
// place keeps its doors, and its SmartKeys with them.
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

// settleIn puts a grant into the space of the stay, and down when it came there and from where. A stay without a space for a
// while came from the one before.
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

// takesOver says whether a stay has its space instead of one that leaves it: because it came when that one had left, or by a
// move of its own, as in a swap, where one comes before the other leaves. Who was checked in to a space that somebody has
// shares it, and shuts nobody out who leaves later.
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

// rename says that the PMS has ended a stay by now whose window had ended before.
func (w *grantRun) setEndReason() (err error) {
	w.grant, err = w.tx.Grant.UpdateOne(w.grant).SetEndReason(string(w.right.Reason)).Save(w.ctx())
	if err != nil {
		return fmt.Errorf("end a grant for good: %w", err)
	}
	return nil
}

// release lets go what no lock can hold any more: PINs that were replaced, and all of a grant that ended.
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

// releaseRetired frees PINs that were replaced, once every code of the stay is known to be another.
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

// others lists the other grants of the stay that are open, or of which some lock may still hold a code.
func (w *grantRun) otherGrants() ([]*ent.Grant, error) {
	found, err := w.tx.Grant.Query().Where(entgrant.PropertyID(w.propertyID), entgrant.ReservationID(w.reservationID),
		entgrant.IDNEQ(w.grant.ID), entgrant.ReleasedAtIsNil()).Limit(maxGrants).All(w.ctx())
	if err != nil {
		return nil, fmt.Errorf("load the other grants of a stay: %w", err)
	}
	return found, nil
}

// settleOpen settles the open grant of a stay after an earlier one is known to be gone from all locks: the plan says less
// of former codes, and a notice of them may be sent again when they come back.
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
