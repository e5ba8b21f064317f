package access

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/watch"
)

// pinRetention is how long a PIN is kept after its grant ended because its window was over. A guest who extends the booking after check-out
// time keeps the PIN. Any other ended grant loses its PIN as soon as no lock holds its codes.
const pinRetention = 24 * time.Hour

// applyRight opens, reopens, changes or ends the grant to match what the reservation may open. A new grant is not stored yet: see newGrant.
// It leaves a grant that has ended unchanged if the reservation has no access. Only the EndReason of a grant that ended by time is
// replaced, once the reservation has another reason, such as CheckedOut.
func (run *stayRun) applyRight() error {
	switch {
	case run.Right.Open && isLive(run.grant):
		return run.updateGrant()
	case run.Right.Open && run.canReopen():
		return run.reopenGrant()
	case run.Right.Open:
		run.newGrant()
	case isLive(run.grant):
		return run.endGrant()
	case endedByTime(run.grant) && run.Right.Reason != WindowPast:
		return run.setEndReason()
	}
	return nil
}

// isLive reports whether a grant exists and has not ended. Its window may be over, or not have begun.
func isLive(g *ent.Grant) bool { return g != nil && g.EndedAt == nil }

// rightOf returns what a grant, which must not be nil, allows now, from its stored row alone, without the state of the reservation. The
// Right is closed, without a Window, if the grant has ended or its window is over. It is open and HeldBack if the window has not begun.
func rightOf(g *ent.Grant, now time.Time) Right {
	switch {
	case !isLive(g):
		return Right{Reason: Reason(g.EndReason)}
	case !g.NotAfter.After(now):
		return Right{Reason: WindowPast}
	}
	r := Right{Open: true, Window: Window{From: g.NotBefore, To: g.NotAfter}}
	if g.NotBefore.After(now) {
		r.HeldBack, r.Reason = true, WindowInFuture
	}
	return r
}

// snapshotOf returns the part of a [Snapshot] that the grant stores; g may be nil. The codes and PINs are added when they are loaded.
func snapshotOf(g *ent.Grant) Snapshot {
	if g == nil {
		return Snapshot{}
	}
	return Snapshot{
		ID: g.ID, Live: isLive(g), SpaceID: g.SpaceID, Window: Window{g.NotBefore, g.NotAfter}, Redraws: g.Redraws, Released: g.ReleasedAt != nil,
	}
}

// endedByTime reports whether a grant (the access of a stay) ended because its window ended, not because the PMS ended the reservation.
func endedByTime(g *ent.Grant) bool {
	return g != nil && g.EndedAt != nil && Reason(g.EndReason) == WindowPast
}

// canReopen reports whether the grant ended by time so recently, within pinRetention, that its PIN still exists and it can be opened again.
func (run *stayRun) canReopen() bool {
	return endedByTime(run.grant) && run.Tx.Now().Sub(*run.grant.EndedAt) < pinRetention
}

// newGrant makes a new grant, in memory only, the grant of the run. insertGrant inserts its row once the doors are loaded. The former
// grant joins run.olderGrants if its codes may still be on a lock.
func (run *stayRun) newGrant() {
	if run.grant != nil && run.grant.ReleasedAt == nil {
		run.olderGrants = append(run.olderGrants, run.grant)
	}
	run.setGrant(&ent.Grant{
		ID: id.New("grt"), PropertyID: run.PropertyID, ReservationID: run.reservationID, SpaceID: run.spaceID(),
		NotBefore: run.Right.Window.From, NotAfter: run.Right.Window.To, KeyGeneration: 1, OpenKey: &run.reservationID, PlacedAt: run.Tx.Now(), CreatedAt: run.Tx.Now(),
	})
}

// ensureStayPINs generates a PIN for every door that needs one, replaces PINs that a lock refused as duplicates, and stores in the grant
// its shared PIN. It inserts a new grant. A door for which no PIN is possible gets none, without an error.
func (run *stayRun) ensureStayPINs() error {
	if run.isNew() {
		if err := run.insertGrant(); err != nil {
			return err
		}
	}
	if err := run.EnsurePINs(); err != nil {
		return err
	}
	if err := run.ensureKeptPINs(); err != nil {
		return err
	}
	pinID := ""
	if run.pins.shared != nil {
		pinID = run.pins.shared.ID
	}
	return run.storeGrantPIN(pinID)
}

// insertGrant inserts a new grant, and begins its set of PINs. PINs refer to their grant, so its row comes first. If a door takes a
// code, the row names the shared PIN that is generated next, so that storeGrantPIN changes it only if none is possible.
func (run *stayRun) insertGrant() error {
	g := run.grant
	run.pins = run.newPINSet()
	if slices.ContainsFunc(run.doors, Door.takesCode) {
		g.PinID = id.New("pin")
		run.pins.sharedID = g.PinID
	}
	err := run.Tx.Grant.Create().SetID(g.ID).SetPropertyID(g.PropertyID).SetReservationID(g.ReservationID).SetSpaceID(g.SpaceID).
		SetNotBefore(g.NotBefore).SetNotAfter(g.NotAfter).SetPinID(g.PinID).SetKeyGeneration(g.KeyGeneration).
		SetNillableOpenKey(g.OpenKey).SetPlacedAt(g.PlacedAt).SetCreatedAt(g.CreatedAt).Exec(run.Tx.Context())
	if err != nil {
		return fmt.Errorf("store a grant: %w", err)
	}
	return nil
}

// storeGrantPIN stores in the grant pinID, the id of its shared PIN, and run.Redraws, how many of its PINs were replaced so far because a
// lock refused them. It does nothing if both are unchanged.
func (run *stayRun) storeGrantPIN(pinID string) error {
	g := run.grant
	if g.PinID == pinID && g.Redraws == run.Redraws {
		return nil
	}
	return run.save(run.Tx.Grant.UpdateOne(g).SetPinID(pinID).SetRedraws(run.Redraws))
}

// save stores an update of the grant, notifies the streams of staff, and makes the result the grant of the run.
func (run *stayRun) save(u *ent.GrantUpdateOne) error {
	g, err := u.Save(run.Tx.Context())
	if err != nil {
		return fmt.Errorf("store a grant: %w", err)
	}
	watch.Notify(run.Tx, run.PropertyID, watch.Reservations, run.reservationID)
	run.setGrant(g)
	return nil
}

// reopenGrant reopens a grant whose window had ended, with the present window and space. The PIN stays; earlier SmartKeys stay invalid.
func (run *stayRun) reopenGrant() error {
	u := run.Tx.Grant.UpdateOne(run.grant).ClearEndedAt().SetEndReason("").ClearReleasedAt().SetOpenKey(run.reservationID).
		SetNotBefore(run.Right.Window.From).SetNotAfter(run.Right.Window.To).AddKeyGeneration(1)
	run.setSpace(u)
	// The grant counts as placed now, so that it takes over the door from a reservation that got the space meanwhile and now leaves it.
	return run.save(u.SetPlacedAt(run.Tx.Now()))
}

// updateGrant stores a new window or space, and does nothing if both are unchanged. The PIN stays; earlier SmartKeys become invalid. A
// reservation that only lost its space keeps its doors and SmartKeys.
func (run *stayRun) updateGrant() error {
	same := Window{run.grant.NotBefore, run.grant.NotAfter}.Same(run.Right.Window)
	if same && run.grant.SpaceID == run.spaceID() {
		return nil
	}
	u := run.Tx.Grant.UpdateOne(run.grant).SetNotBefore(run.Right.Window.From).SetNotAfter(run.Right.Window.To)
	run.setSpace(u)
	if !same || run.place.Space != nil {
		u.AddKeyGeneration(1)
	}
	return run.save(u)
}

// setSpace sets in an update the new and the previous space of the grant, and since when it has the new space, if the space has changed. A
// grant that had no space for a while keeps its last one as the previous space.
func (run *stayRun) setSpace(u *ent.GrantUpdateOne) {
	g := run.grant
	if g.SpaceID == run.spaceID() {
		return
	}
	u.SetSpaceID(run.spaceID()).SetPlacedAt(run.Tx.Now())
	if g.SpaceID != "" {
		u.SetFromSpaceID(g.SpaceID)
	}
}

// takesOver reports whether the grant taker takes over the space that another grant had before it moved out at leftAt. The caller then
// removes the codes of the other grant at the door at once. leftAt is zero if the other grant is a code, over which every grant has
// priority. The taker takes over if it came to the old space at that time or later, or if it was moved there from another space. A grant
// that was created in the space while the other still had it only shares it: it ends no access of the other.
func takesOver(taker *ent.Grant, leftAt time.Time) bool {
	return !taker.PlacedAt.Before(leftAt) || taker.FromSpaceID != "" && taker.FromSpaceID != taker.SpaceID
}

// endGrant ends the grant, stores why the reservation has no access any more, and makes its SmartKeys invalid. Its codes stay on the locks
// until [Run.Apply] clears them.
func (run *stayRun) endGrant() error {
	return run.save(run.Tx.Grant.UpdateOne(run.grant).SetEndedAt(run.Tx.Now()).SetEndReason(string(run.Right.Reason)).
		ClearOpenKey().AddKeyGeneration(1))
}

// setEndReason stores the PMS's reason for a grant that had ended by time before the PMS ended the reservation.
func (run *stayRun) setEndReason() error {
	return run.save(run.Tx.Grant.UpdateOne(run.grant).SetEndReason(string(run.Right.Reason)))
}

// releaseIfRemoved deletes PINs that no lock can hold any more: replaced PINs, and the PINs of an ended grant. A grant that ended by time
// keeps its PINs for pinRetention. It marks an ended grant as released once all its codes are removed.
func (run *stayRun) releaseIfRemoved() error {
	if isLive(run.grant) {
		return run.ReleaseRetiredPINs()
	}
	if !run.IsRemoved() {
		return nil
	}
	release := run.grant.ReleasedAt == nil
	forget := !run.canReopen() && (release || run.grant.PinID != "")
	if !release && !forget {
		return nil
	}
	u := run.Tx.Grant.UpdateOne(run.grant)
	if release {
		u.SetReleasedAt(run.Tx.Now())
	}
	if forget {
		if err := run.DeletePINs(); err != nil {
			return err
		}
		u.SetPinID("")
	}
	return run.save(u)
}

// ForbidReopening makes sure that no grant of a reservation that ended by time is opened again, because the reservation is another guest's
// stay now: the new stay gets a PIN of its own. It is the same as if the PMS had checked the former guest out.
func ForbidReopening(tx *db.Tx, keys *keyring.Ring, propertyID, reservationID string) error {
	rec := Reconciler{Tx: tx, Keys: keys}
	ended, err := tx.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.ReservationID(reservationID), entgrant.EndReason(string(WindowPast)),
		entgrant.EndedAtGT(tx.Now().Add(-pinRetention))).All(tx.Context())
	if err != nil {
		return fmt.Errorf("find the former grants of a stay: %w", err)
	}
	for _, g := range ended {
		if g, err = tx.Grant.UpdateOne(g).SetEndReason(string(CheckedOut)).Save(tx.Context()); err != nil {
			return fmt.Errorf("store the end of a former grant: %w", err)
		}
		watch.Notify(tx, propertyID, watch.Reservations, reservationID)
		if _, err := rec.reconcileGrant(g, Report{}); err != nil {
			return err
		}
	}
	return nil
}

// ReservationsOf returns the reservation id of each of some grants (the access of stays), by grant id. It omits ids that are no grants of
// the property.
func ReservationsOf(view *db.Tx, propertyID string, grantIDs []string) (map[string]string, error) {
	grants, err := view.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.IDIn(grantIDs...)).All(view.Context())
	stays := make(map[string]string, len(grants))
	for _, g := range grants {
		stays[g.ID] = g.ReservationID
	}
	return stays, err
}
