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
	w, err := load(tx, keys, s, r)
	if err != nil {
		return Plan{}, err
	}
	if err := w.grantFor(); err != nil {
		return Plan{}, err
	}
	return w.run()
}

// Show says what the access of a stay is, and changes nothing.
func Show(tx *db.Tx, keys *keyring.Ring, s Stay, r Rules) (Plan, error) {
	w, err := load(tx, keys, s, r)
	if err != nil {
		return Plan{}, err
	}
	if w.right.Open && live(w.grant) {
		w.right = standing(w.grant, tx.Now())
	}
	f, err := w.facts()
	if err != nil || w.grant == nil {
		return Describe(f), err
	}
	held, err := w.held(f.Doors)
	if err != nil {
		return Plan{}, err
	}
	if w.right.Open {
		if w.codes, err = codesOf(tx, keys, w.grant, r.PINLength); err != nil {
			return Plan{}, err
		}
	}
	return w.describe(f, held)
}

// load finds what is known of a stay and decides on its right.
func load(tx *db.Tx, keys *keyring.Ring, s Stay, r Rules) (*work, error) {
	w := &work{tx: tx, keys: keys, rules: r, property: s.Space.PropertyID, reservation: s.ReservationID, named: true}
	var err error
	if w.place, w.unplaced, err = placeOf(tx, s.Space); err != nil {
		return nil, err
	}
	if !s.Fresh {
		if w.grant, w.older, err = grantsOf(tx, w.property, s.ReservationID); err != nil {
			return nil, err
		}
	}
	var opened time.Time
	if live(w.grant) {
		opened = w.grant.NotBefore
	}
	w.right = Decide(s, r, tx.Now(), opened)
	return w, nil
}

// Settle does for one grant what Apply does for a stay, from what the grant itself holds: after evidence came in, a door
// was given to another stay, or its window ended.
func Settle(tx *db.Tx, keys *keyring.Ring, g *ent.Grant, r Rules) (Plan, error) {
	w := &work{tx: tx, keys: keys, rules: r, property: g.PropertyID, reservation: g.ReservationID, grant: g}
	return w.settle()
}

func (w *work) settle() (Plan, error) {
	g := w.grant
	if err := w.findOlder(); err != nil {
		return Plan{}, err
	}
	w.right = standing(g, w.tx.Now())
	if w.right.Open && g.SpaceID != "" {
		place, _, err := placeOf(w.tx, space.Request{PropertyID: g.PropertyID, OwnID: g.SpaceID})
		if err != nil {
			return Plan{}, err
		}
		w.place = place
	}
	if err := w.grantFor(); err != nil {
		return Plan{}, err
	}
	return w.run()
}

// findOlder loads the earlier grants of a stay that has access, of which some lock may still hold a code.
func (w *work) findOlder() (err error) {
	if live(w.grant) {
		w.older, err = w.others()
	}
	return err
}

// standing is the right that a grant stands for.
func standing(g *ent.Grant, now time.Time) Right {
	switch {
	case !live(g):
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

func live(g *ent.Grant) bool { return g != nil && g.EndedAt == nil }

// mostGrants bounds the grants of a stay that are looked at: far more than locks have places for codes of one stay.
const mostGrants = 1000

// grantsOf finds the latest grant of a stay, nil if it has none, and the earlier ones of which some lock may still hold a
// code. The latest is the open one; ids and times of others may come of another clock.
func grantsOf(tx *db.Tx, propertyID, reservationID string) (latest *ent.Grant, older []*ent.Grant, err error) {
	unreleasedFirst := func(s *sql.Selector) {
		s.OrderExpr(sql.Raw("CASE WHEN " + s.C(entgrant.FieldReleasedAt) + " IS NULL THEN 0 ELSE 1 END"))
	}
	rows, err := tx.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.ReservationID(reservationID)).
		Order(unreleasedFirst, entgrant.ByCreatedAt(sql.OrderDesc()), entgrant.ByID(sql.OrderDesc())).Limit(mostGrants).All(tx.Brief())
	if err != nil {
		return nil, nil, fmt.Errorf("load the grants of a stay: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil, nil
	}
	latest = slices.MaxFunc(rows, later)
	return latest, slices.DeleteFunc(rows, func(g *ent.Grant) bool { return g == latest || g.ReleasedAt != nil }), nil
}

// later orders grants of a stay: the open one is after all others.
func later(a, b *ent.Grant) int {
	switch {
	case live(a) != live(b) && live(a):
		return 1
	case live(a) != live(b):
		return -1
	}
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// work is one run of Apply, Settle or Show.
type work struct {
	tx          *db.Tx
	keys        *keyring.Ring
	rules       Rules
	property    string
	reservation string
	right       Right
	once        string // the id of a code for one use
	place       space.Place
	named       bool // place is what the reservation names, not what the grant holds
	unplaced    fault.Reason
	grant       *ent.Grant
	older       []*ent.Grant // of the same stay, not known to be gone from all locks
	codes       *codes
	locks       map[string]*ent.Lock   // by door
	bridges     map[string]*ent.Bridge // of these
	freed       map[string]int         // places that nothing will be heard of, by lock
	byID        map[string]fitted      // locks of the doors and of what is held

	drew      bool // a PIN was drawn before this run
	fresh     bool // the grant is new, and not stored yet
	opened    bool // the grant is new, or open again
	moved     bool // window, place or PIN of a grant that was there changed
	elsewhere bool // its place did
	had       bool // a code was wanted on a lock before this run
	acted     bool // something was asked of a lock
	released  bool // the last code of the grant is known to be gone
	failed    bool // a lock has just refused a code
	heard     bool // a lock has just told of a code what it was not known to be
}

// ctx is for statements of a stay, which find a few rows by an index.
func (w *work) ctx() context.Context { return w.tx.Brief() }

func (w *work) spaceID() string {
	if w.place.Space == nil {
		return ""
	}
	return w.place.Space.ID
}

// facts are what is known before the codes are looked at.
func (w *work) facts() (Facts, error) {
	doors, found, err := doorsOf(w.tx, w.property, w.place, w.rules.GatesAlone, w.tx.Now())
	if w.grant != nil {
		w.locks, w.bridges = byDoor(found), map[string]*ent.Bridge{}
		for _, f := range found {
			if f.bridge != nil {
				w.bridges[f.bridge.ID] = f.bridge
			}
		}
	}
	return Facts{Right: w.right, Unplaced: w.unplaced, Doubt: w.place.Doubt, Doors: doors, Had: w.grant != nil}, err
}

// run reconciles the slots with the grant and describes the outcome.
func (w *work) run() (Plan, error) {
	f, err := w.facts()
	if err != nil || w.grant == nil {
		return Describe(f), err
	}
	held, err := w.held(f.Doors)
	if err != nil {
		return Plan{}, err
	}
	for _, h := range held {
		w.had = w.had || h.Present
	}
	if w.right.Open {
		if err := w.prepare(f.Doors, held); err != nil {
			return Plan{}, err
		}
	}
	steps := Reconcile(Task{Right: w.right, Placed: w.place.Space != nil, Doors: f.Doors, Held: view(held), PINAt: w.pinAt})
	if held, err = w.take(steps, f.Doors, held); err != nil {
		return Plan{}, err
	}
	return w.conclude(f, held)
}

func (w *work) pinAt(doorID string) string {
	if w.codes == nil {
		return ""
	}
	return w.codes.idAt(doorID)
}

// lockOf finds the lock of a held code: on a door that is left it is not among those of the doors.
func (w *work) lockOf(h Held) (*ent.Lock, error) {
	if f := w.byID[h.LockID]; f.lock != nil {
		return f.lock, nil
	}
	return lock.Get(w.ctx(), w.tx.Client, w.property, h.LockID)
}
