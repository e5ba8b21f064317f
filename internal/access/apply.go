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
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/space"
)

// RulesOf returns the access rules of a property.
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

// Apply reconciles the locks of a stay with its state, dates and space, and returns the resulting plan. It is idempotent.
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

// Show returns the plan of a stay without changing anything.
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

// loadRun loads the place and the grants of a stay and decides its right.
func loadRun(tx *db.Tx, keys *keyring.Ring, s Stay, r Rules) (*grantRun, error) {
	run := &grantRun{tx: tx, keys: keys, rules: r, propertyID: s.Space.PropertyID, reservationID: s.ReservationID, fromPMS: true}
	var err error
	if run.place, run.noPlaceReason, err = resolvePlace(tx, s.Space); err != nil {
		return nil, err
	}
	if !s.Fresh {
		if run.grant, run.olderGrants, err = loadGrants(tx, run.propertyID, s.ReservationID); err != nil {
			return nil, err
		}
	}
	var opened time.Time
	if isLive(run.grant) {
		opened = run.grant.NotBefore
	}
	run.right = Decide(s, r, tx.Now(), opened)
	return run, nil
}

// ReconcileGrant does for one grant what Apply does for a stay, from what the grant itself stores. It runs after new evidence,
// after another stay takes over a door, and at the end of the window.
func ReconcileGrant(tx *db.Tx, keys *keyring.Ring, g *ent.Grant, r Rules) (Plan, error) {
	run := &grantRun{tx: tx, keys: keys, rules: r, propertyID: g.PropertyID, reservationID: g.ReservationID, grant: g}
	return run.reconcileGrant()
}

func (run *grantRun) reconcileGrant() (Plan, error) {
	g := run.grant
	if err := run.loadOlderGrants(); err != nil {
		return Plan{}, err
	}
	run.right = rightOf(g, run.tx.Now())
	if run.right.Open && g.SpaceID != "" {
		place, _, err := resolvePlace(run.tx, space.Request{PropertyID: g.PropertyID, OwnID: g.SpaceID})
		if err != nil {
			return Plan{}, err
		}
		run.place = place
	}
	if err := run.applyRight(); err != nil {
		return Plan{}, err
	}
	return run.reconcileSlots()
}

// loadOlderGrants loads the earlier grants of a stay with access whose codes may still be on a lock.
func (run *grantRun) loadOlderGrants() (err error) {
	if isLive(run.grant) {
		run.olderGrants, err = run.otherGrants()
	}
	return err
}

// rightOf returns the right that a grant gives now.
func rightOf(g *ent.Grant, now time.Time) Right {
	switch {
	case !isLive(g):
		return Right{Reason: g.EndReason}
	case !g.NotAfter.After(now):
		return Right{Reason: WindowPast}
	}
	r := Right{Open: true, Window: Window{From: g.NotBefore, To: g.NotAfter}}
	if g.NotBefore.After(now) {
		r.HeldBack, r.Reason = true, WindowInFuture
	}
	return r
}

func isLive(g *ent.Grant) bool { return g != nil && g.EndedAt == nil }

// maxGrants bounds the grants that one run loads. It is far more than locks have slots for the codes of one stay.
const maxGrants = 1000

// loadGrants returns the latest grant of a stay, or nil, and the earlier grants whose codes may still be on a lock. The open
// grant is the latest, even if the clock of another server gave it an earlier time.
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

// compareGrants orders the grants of a stay by time, with the open grant last.
func compareGrants(a, b *ent.Grant) int {
	switch {
	case isLive(a) != isLive(b) && isLive(a):
		return 1
	case isLive(a) != isLive(b):
		return -1
	}
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// grantRun is one run of Apply, ReconcileGrant, ReconcileCode or Show. For a code, grant has only the id of the code.
type grantRun struct {
	tx            *db.Tx
	keys          *keyring.Ring
	rules         Rules
	propertyID    string
	reservationID string
	right         Right
	singleUseID   string // the id of a one-time code
	place         space.Place
	fromPMS       bool // place is what the reservation names now, not what the grant stored
	noPlaceReason string
	grant         *ent.Grant
	olderGrants   []*ent.Grant // of the same stay, whose codes may still be on a lock
	pins          *pinSet
	lockAtDoor    map[string]*ent.Lock     // by door
	bridges       map[string]*ent.Bridge   // of lockAtDoor, by id
	freedSlots    map[string]int           // slots freed without evidence to come, by lock
	lockByID      map[string]installedLock // locks of the doors and of the held codes

	drewPIN      bool // a PIN was generated before this run
	isNew        bool // the grant is not stored yet
	opened       bool // the grant is new or was reopened
	changed      bool // the window, space or PIN of an existing grant changed
	changedSpace bool // the space of an existing grant changed
	hadCode      bool // a lock had a desired code before this run
	changedSlots bool // the run changed the desired state of a slot
	released     bool // the last code of the grant was removed
	newlyFailed  bool // a lock has just refused a code
	newEvidence  bool // a lock has just confirmed a code
}

// ctx is the context for statements that find a few rows by an index.
func (run *grantRun) ctx() context.Context { return run.tx.Brief() }

func (run *grantRun) spaceID() string {
	if run.place.Space == nil {
		return ""
	}
	return run.place.Space.ID
}

// loadFacts loads the doors: the part of the facts that does not depend on codes.
func (run *grantRun) loadFacts() (Facts, error) {
	doors, found, err := loadDoors(run.tx, run.propertyID, run.place, run.rules.GatesAlone, run.tx.Now())
	if run.grant != nil {
		run.lockAtDoor, run.bridges = locksByDoor(found), map[string]*ent.Bridge{}
		for _, f := range found {
			if f.bridge != nil {
				run.bridges[f.bridge.ID] = f.bridge
			}
		}
	}
	return Facts{Right: run.right, Unplaced: run.noPlaceReason, Doubt: run.place.Doubt, Doors: doors, Had: run.grant != nil}, err
}

// reconcileSlots reconciles the slots with the grant and describes the result.
func (run *grantRun) reconcileSlots() (Plan, error) {
	f, err := run.loadFacts()
	if err != nil || run.grant == nil {
		return Describe(f), err
	}
	held, err := run.loadHeld(f.Doors)
	if err != nil {
		return Plan{}, err
	}
	for _, h := range held {
		run.hadCode = run.hadCode || h.Present
	}
	if run.right.Open {
		if err := run.ensureStayPINs(f.Doors, held); err != nil {
			return Plan{}, err
		}
	}
	steps := Reconcile(Task{Right: run.right, Placed: run.place.Space != nil, Doors: f.Doors, Held: heldCodes(held), PINAt: run.pinIDAt})
	if held, err = run.execute(steps, f.Doors, held); err != nil {
		return Plan{}, err
	}
	return run.publish(f, held)
}

func (run *grantRun) pinIDAt(doorID string) string {
	if run.pins == nil {
		return ""
	}
	return run.pins.pinIDAt(doorID)
}

// lockOfSlot returns the lock of a held code, which may be at none of the doors of the stay.
func (run *grantRun) lockOfSlot(h Held) (*ent.Lock, error) {
	if f := run.lockByID[h.LockID]; f.lock != nil {
		return f.lock, nil
	}
	return lock.Get(run.ctx(), run.tx.Client, run.propertyID, h.LockID)
}
