package access

import (
	"time"

	"latchkey.dev/ent"
	entpin "latchkey.dev/ent/pin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/space"
)

// Holder is the owner of codes on locks: the grant of a reservation, or a staff, one-time or backup code.
type Holder struct {
	ID, PropertyID string
	SpaceID        string // SpaceID is the present space of a reservation; empty if it has none, and for a code
	// PlacedAt is when the reservation got its space, and so left the former one, see [takesOver]. It is zero for a code, over which every
	// reservation has priority.
	PlacedAt  time.Time
	IsCode    bool   // IsCode means that the holder is a code, not a grant
	Unplaced  bool   // Unplaced means that the reservation has no space; it keeps its doors until it has one
	OneTimeID string // OneTimeID is the id of a one-time code; else empty
	Redraws   int    // Redraws counts the replaced PINs that a lock refused as duplicates, at most maxRedraws
}

// pinColumn returns the column of the PINs that has the id of the holder.
func (h Holder) pinColumn() string {
	if h.IsCode {
		return entpin.FieldCodeID
	}
	return entpin.FieldGrantID
}

// newPIN returns a PIN of the holder without digits. doorID is the door of a separate PIN; empty for the shared PIN.
func (h Holder) newPIN(doorID string, now time.Time) *ent.Pin {
	p := &ent.Pin{ID: id.New("pin"), PropertyID: h.PropertyID, DoorID: doorID, CreatedAt: now}
	if h.IsCode {
		p.CodeID = h.ID
	} else {
		p.GrantID = h.ID
	}
	return p
}

// Run is one pass through the stages that every change of access takes. Each stage has a file of its own name:
//
//	load       the doors, the codes on their locks and the PINs of a holder → Run
//	decide     what the holder may open now                                → Right
//	reconcile  how the locks differ from that                              → []Step
//	apply      carry out the steps                                         → []SlotCode
//	describe   what each door does now                                     → Plan
//
// Events and notices follow from the Plan and from the [Delta] between the start and the end of the run. A stay takes the stages in
// stayRun, other codes take them in package access/code.
type Run struct {
	Reconciler
	Holder
	Rules Rules
	Right Right

	before Snapshot
	doors  []Door
	locks  map[string]lockOnDoor // locks has the locks of the doors and of the held codes, by id
	codes  []heldSlot
	pins   *pinSet
	freed  map[string]int // freed counts, by lock id, the slots that the run freed at once and gives to waiting stays
}

// stayRun is the run for a reservation.
type stayRun struct {
	Run
	reservationID string
	place         space.Place
	fromPMS       bool         // fromPMS means that place is from the reservation, not from the stored grant
	unplaced      string       // unplaced is why there is no space, or that the space is inactive; always "" if fromPMS is false, also without a space
	grant         *ent.Grant   // grant is nil if the reservation never had access
	olderGrants   []*ent.Grant // olderGrants are the other grants of the reservation whose codes may still be on a lock; the open one too, if grant is an earlier one
	report        Report
}

// Apply reconciles the codes of a reservation with its state, dates and space, and returns the resulting plan. It stores the grant, the
// PINs and the desired state of slots, and emits events and notices. It is idempotent.
func Apply(tx *db.Tx, keys *keyring.Ring, s Stay, r Rules) (Plan, error) {
	run, err := Reconciler{Tx: tx, Keys: keys}.loadStay(s, r)
	if err != nil {
		return Plan{}, err
	}
	return run.reconcile()
}

// Show returns the present plan of a reservation, and stores nothing. It does not say what Apply would do: the codes are the stored
// ones, and an open grant keeps its stored window, even if the reservation now allows another one.
func Show(tx *db.Tx, keys *keyring.Ring, s Stay, r Rules) (Plan, error) {
	plan, _, err := ShowPlace(tx, keys, s, r)
	return plan, err
}

// ShowPlace returns the present plan of a reservation, like [Show], and its space, whose Space is nil if the reservation has none. It
// stores nothing.
func ShowPlace(tx *db.Tx, keys *keyring.Ring, s Stay, r Rules) (Plan, space.Place, error) {
	run, err := Reconciler{Tx: tx, Keys: keys}.loadStay(s, r)
	if err != nil {
		return Plan{}, space.Place{}, err
	}
	plan, err := run.show()
	return plan, run.place, err
}

// show returns the plan of the loaded reservation without storing anything. An open grant keeps its stored window, even if the reservation
// now allows another one.
func (run *stayRun) show() (Plan, error) {
	if run.Right.Open && isLive(run.grant) {
		run.Right = rightOf(run.grant, run.Tx.Now())
	}
	facts, err := run.loadFacts()
	if err != nil || run.grant == nil {
		return Describe(facts), err
	}
	if run.Right.Open {
		if err := run.loadPINs(); err != nil {
			return Plan{}, err
		}
		if err := run.markImpossiblePINs(); err != nil {
			return Plan{}, err
		}
	}
	return run.describe(facts)
}

// newStayRun returns the run for a reservation, before anything is loaded.
func (rec Reconciler) newStayRun(propertyID, reservationID string, r Rules) *stayRun {
	return &stayRun{Run: Run{Reconciler: rec, Holder: Holder{PropertyID: propertyID}, Rules: r}, reservationID: reservationID}
}

// setGrant sets the grant of the run, or nil, and makes it the holder of codes.
func (run *stayRun) setGrant(g *ent.Grant) {
	run.grant = g
	if g != nil {
		run.Holder = Holder{
			ID: g.ID, PropertyID: g.PropertyID, SpaceID: run.spaceID(), PlacedAt: g.PlacedAt, Unplaced: run.place.Space == nil, Redraws: g.Redraws,
		}
	}
}

// spaceID returns the id of the reservation's space, or "" if it has none.
func (run *stayRun) spaceID() string {
	if run.place.Space == nil {
		return ""
	}
	return run.place.Space.ID
}

// isNew reports whether this run created the grant.
func (run *stayRun) isNew() bool { return run.grant != nil && run.grant.ID != run.before.ID }

// reconcile runs all stages that follow the decision what the reservation may open: it stores the grant, changes the slots, and publishes
// the result. A reservation that never had access, and has none now, is only described.
func (run *stayRun) reconcile() (Plan, error) {
	if err := run.applyRight(); err != nil {
		return Plan{}, err
	}
	facts, err := run.loadFacts()
	if err != nil || run.grant == nil {
		return Describe(facts), err
	}
	if run.Right.Open {
		if err := run.ensureStayPINs(); err != nil {
			return Plan{}, err
		}
	}
	if err := run.Apply(); err != nil {
		return Plan{}, err
	}
	plan, err := run.describe(facts)
	if err != nil {
		return Plan{}, err
	}
	if err := run.releaseIfRemoved(); err != nil {
		return Plan{}, err
	}
	return plan, run.publish(plan)
}

// delta returns what the run has changed since it loaded the grant.
func (run *stayRun) delta() Delta {
	after := snapshotOf(run.grant)
	after.Codes, after.PINs = slotCodes(run.codes), run.pins.inUse()
	return Diff(run.before, after, run.report)
}
