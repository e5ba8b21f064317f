package access

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/space"
)

// RulesOf reads the rules of access from a property.
func RulesOf(p *ent.Property) (Rules, error) {
	zone, err := clock.Zone(p.TimeZone)
	if err != nil {
		return Rules{}, fmt.Errorf("property %s: %w", p.ID, err)
	}
	return Rules{
		Zone:       zone,
		EarlyIn:    time.Duration(p.EarlyInMinutes) * time.Minute,
		LateOut:    time.Duration(p.LateOutMinutes) * time.Minute,
		PINLength:  p.PinLength,
		GatesAlone: p.GatesAlone,
	}, nil
}

// Apply has the locks of a stay come to hold what its state, dates and space ask for, and says what that is. It may run
// as often as one likes: what is as it shall be is left alone.
func Apply(tx *db.Tx, keys *keyring.Ring, s Stay, r Rules) (Plan, error) {
	w, err := loadRun(tx, keys, s, r)
	if err != nil {
		return Plan{}, err
	}
	if err := w.applyRight(); err != nil {
		return Plan{}, err
	}
	return w.reconcileSlots()
}

// Show says what the access of a stay is, and changes nothing.
func Show(tx *db.Tx, keys *keyring.Ring, s Stay, r Rules) (Plan, error) {
	w, err := loadRun(tx, keys, s, r)
	if err != nil {
		return Plan{}, err
	}
	if w.right.Open && isLive(w.grant) {
		w.right = rightOf(w.grant, tx.Now())
	}
	f, err := w.loadFacts()
	if err != nil || w.grant == nil {
		return Describe(f), err
	}
	held, err := w.loadHeld(f.Doors)
	if err != nil {
		return Plan{}, err
	}
	if w.right.Open {
		if w.pins, err = loadPINs(tx, keys, w.grant, r.PINLength); err != nil {
			return Plan{}, err
		}
	}
	return w.describe(f, held)
}

// load finds what is known of a stay and decides on its right.
func loadRun(tx *db.Tx, keys *keyring.Ring, s Stay, r Rules) (*grantRun, error) {
	w := &grantRun{tx: tx, keys: keys, rules: r, propertyID: s.Space.PropertyID, reservationID: s.ReservationID, fromPMS: true}
	var err error
	if w.place, w.noPlaceReason, err = resolvePlace(tx, s.Space); err != nil {
		return nil, err
	}
	if !s.Fresh {
		if w.grant, w.olderGrants, err = loadGrants(tx, w.propertyID, s.ReservationID); err != nil {
			return nil, err
		}
	}
	var opened time.Time
	if isLive(w.grant) {
		opened = w.grant.NotBefore
	}
	w.right = Decide(s, r, tx.Now(), opened)
	return w, nil
}

// Settle does for one grant what Apply does for a stay, from what the grant itself holds: after evidence came in, a door
// was given to another stay, or its window ended.
func ReconcileGrant(tx *db.Tx, keys *keyring.Ring, g *ent.Grant, r Rules) (Plan, error) {
	w := &grantRun{tx: tx, keys: keys, rules: r, propertyID: g.PropertyID, reservationID: g.ReservationID, grant: g}
	return w.reconcileGrant()
}

func (w *grantRun) reconcileGrant() (Plan, error) {
	g := w.grant
	if err := w.loadOlderGrants(); err != nil {
		return Plan{}, err
	}
	w.right = rightOf(g, w.tx.Now())
	if w.right.Open && g.SpaceID != "" {
		place, _, err := resolvePlace(w.tx, space.Request{PropertyID: g.PropertyID, OwnID: g.SpaceID})
		if err != nil {
			return Plan{}, err
		}
		w.place = place
	}
	if err := w.applyRight(); err != nil {
		return Plan{}, err
	}
	return w.reconcileSlots()
}

// findOlder loads the earlier grants of a stay that has access, of which some lock may still hold a code.
func (w *grantRun) loadOlderGrants() (err error) {
	if isLive(w.grant) {
		w.olderGrants, err = w.otherGrants()
	}
	return err
}

// standing is the right that a grant stands for.
func rightOf(g *ent.Grant, now time.Time) Right {
	switch {
	case !isLive(g):
		return Right{Reason: fault.Reason(g.EndReason)}
	case !g.NotAfter.After(now):
		return Right{Reason: fault.WindowPast}
	}
	r := Right{Open: true, Window: Window{From: g.NotBefore, To: g.NotAfter}}
	if g.NotBefore.After(now) {
		r.HeldBack, r.Reason = true, fault.WindowInFuture
	}
	return r
}

func isLive(g *ent.Grant) bool { return g != nil && g.EndedAt == nil }

// mostGrants bounds the grants of a stay that are looked at: far more than locks have places for codes of one stay.
const maxGrants = 1000

// grantsOf finds the latest grant of a stay, nil if it has none, and the earlier ones of which some lock may still hold a
// code. The latest is the open one; ids and times of others may come of another clock.
func loadGrants(tx *db.Tx, propertyID, reservationID string) (latest *ent.Grant, older []*ent.Grant, err error) {
	unreleasedFirst := func(s *sql.Selector) {
		s.OrderExpr(sql.Raw("CASE WHEN " + s.C(entgrant.FieldReleasedAt) + " IS NULL THEN 0 ELSE 1 END"))
	}
	rows, err := tx.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.ReservationID(reservationID)).
		Order(unreleasedFirst, entgrant.ByCreatedAt(sql.OrderDesc()), entgrant.ByID(sql.OrderDesc())).Limit(maxGrants).All(tx.Brief())
	if err != nil {
		return nil, nil, fmt.Errorf("load the grants of a stay: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil, nil
	}
	latest = slices.MaxFunc(rows, compareGrants)
	return latest, slices.DeleteFunc(rows, func(g *ent.Grant) bool { return g == latest || g.ReleasedAt != nil }), nil
}

// later orders grants of a stay: the open one is after all others.
func compareGrants(a, b *ent.Grant) int {
	switch {
	case isLive(a) != isLive(b) && isLive(a):
		return 1
	case isLive(a) != isLive(b):
		return -1
	}
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// work is one run of Apply, Settle or Show.
type grantRun struct {
	tx            *db.Tx
	keys          *keyring.Ring
	rules         Rules
	propertyID    string
	reservationID string
	right         Right
	singleUseID   string // the id of a code for one use
	place         space.Place
	fromPMS       bool // place is what the reservation names, not what the grant holds
	noPlaceReason fault.Reason
	grant         *ent.Grant
	olderGrants   []*ent.Grant // of the same stay, not known to be gone from all locks
	pins          *pinSet
	lockAtDoor    map[string]*ent.Lock     // by door
	bridges       map[string]*ent.Bridge   // of these
	freedSlots    map[string]int           // places that nothing will be heard of, by lock
	lockByID      map[string]installedLock // locks of the doors and of what is held

	drewPIN      bool // a PIN was drawn before this run
	isNew        bool // the grant is new, and not stored yet
	opened       bool // the grant is new, or open again
	changed      bool // window, place or PIN of a grant that was there changed
	changedSpace bool // its place did
	hadCode      bool // a code was wanted on a lock before this run
	changedSlots bool // something was asked of a lock
	released     bool // the last code of the grant is known to be gone
	newlyFailed  bool // a lock has just refused a code
	newEvidence  bool // a lock has just told of a code what it was not known to be
}

// ctx is for statements of a stay, which find a few rows by an index.
func (w *grantRun) ctx() context.Context { return w.tx.Brief() }

func (w *grantRun) spaceID() string {
	if w.place.Space == nil {
		return ""
	}
	return w.place.Space.ID
}

// facts are what is known before the codes are looked at.
func (w *grantRun) loadFacts() (Facts, error) {
	doors, found, err := loadDoors(w.tx, w.propertyID, w.place, w.rules.GatesAlone, w.tx.Now())
	if w.grant != nil {
		w.lockAtDoor, w.bridges = locksByDoor(found), map[string]*ent.Bridge{}
		for _, f := range found {
			if f.bridge != nil {
				w.bridges[f.bridge.ID] = f.bridge
			}
		}
	}
	return Facts{Right: w.right, Unplaced: w.noPlaceReason, Doubt: w.place.Doubt, Doors: doors, Had: w.grant != nil}, err
}

// run reconciles the slots with the grant and describes the outcome.
func (w *grantRun) reconcileSlots() (Plan, error) {
	f, err := w.loadFacts()
	if err != nil || w.grant == nil {
		return Describe(f), err
	}
	held, err := w.loadHeld(f.Doors)
	if err != nil {
		return Plan{}, err
	}
	for _, h := range held {
		w.hadCode = w.hadCode || h.Present
	}
	if w.right.Open {
		if err := w.ensureStayPINs(f.Doors, held); err != nil {
			return Plan{}, err
		}
	}
	steps := Reconcile(Task{Right: w.right, Placed: w.place.Space != nil, Doors: f.Doors, Held: heldCodes(held), PINAt: w.pinIDAt})
	if held, err = w.execute(steps, f.Doors, held); err != nil {
		return Plan{}, err
	}
	return w.publish(f, held)
}

func (w *grantRun) pinIDAt(doorID string) string {
	if w.pins == nil {
		return ""
	}
	return w.pins.pinIDAt(doorID)
}

// lockOf finds the lock of a held code: on a door that is left it is not among those of the doors.
func (w *grantRun) lockOfSlot(h Held) (*ent.Lock, error) {
	if f := w.lockByID[h.LockID]; f.lock != nil {
		return f.lock, nil
	}
	return lock.Get(w.ctx(), w.tx.Client, w.propertyID, h.LockID)
}
