package access

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entgrant "latchkey.dev/ent/grant"
	entlock "latchkey.dev/ent/lock"
	entslot "latchkey.dev/ent/slot"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/space"
)

// loadStay loads the space and the grants of a reservation, and decides what it may open. It loads neither doors nor codes: see loadFacts.
func (rec Reconciler) loadStay(s Stay, r Rules) (*stayRun, error) {
	run := rec.newStayRun(s.Space.PropertyID, s.ReservationID, r)
	run.fromPMS = true
	var err error
	if run.place, run.unplaced, err = resolvePlace(rec.Tx, s.Space); err != nil {
		return nil, err
	}
	if !s.Fresh {
		var g *ent.Grant
		if g, run.olderGrants, err = loadGrants(rec.Tx, run.PropertyID, s.ReservationID); err != nil {
			return nil, err
		}
		run.startFrom(g)
	}
	var opened time.Time
	if isLive(run.grant) {
		opened = run.grant.NotBefore
	}
	run.Right = Decide(s, r, rec.Tx.Now(), opened)
	return run, nil
}

// loadGrant loads for a grant what loadStay loads for a reservation, but takes the right and the space from the row of the grant, without
// the reservation. It loads the space only if the grant is open and its window is not over.
func (rec Reconciler) loadGrant(g *ent.Grant) (*stayRun, error) {
	others, err := rec.otherGrants(g)
	if err != nil {
		return nil, err
	}
	return rec.loadGrantWith(g, others)
}

// loadGrantWith loads what the reconciliation of a grant needs from the row of the grant, like [Reconciler.loadGrant]. The caller has
// loaded others, the other grants of the reservation.
func (rec Reconciler) loadGrantWith(g *ent.Grant, others []*ent.Grant) (*stayRun, error) {
	rules, err := rec.RulesFor(g.PropertyID)
	if err != nil {
		return nil, err
	}
	run := rec.newStayRun(g.PropertyID, g.ReservationID, rules)
	run.startFrom(g)
	run.olderGrants = others
	if run.Right = rightOf(g, rec.Tx.Now()); run.Right.Open {
		err = run.loadPlace()
	}
	return run, err
}

// startFrom sets the grant of the run, or nil, and remembers its present state for the comparison at the end of the run.
func (run *stayRun) startFrom(g *ent.Grant) {
	run.before = snapshotOf(g)
	run.setGrant(g)
}

// loadPlace loads the space that is stored in the grant, if there is one, with its dorm; the run must have a grant. It does not set
// run.unplaced: such a run does not know why there is no space, or that the space is inactive.
func (run *stayRun) loadPlace() (err error) {
	if run.grant.SpaceID != "" {
		run.place, _, err = resolvePlace(run.Tx, space.Request{PropertyID: run.PropertyID, OwnID: run.grant.SpaceID})
		run.setGrant(run.grant)
	}
	return err
}

// SettingsOf returns the stored settings of a property on which access depends.
func SettingsOf(p *ent.Property) Settings {
	return Settings{p.ID, p.TimeZone, p.EarlyInMinutes, p.LateOutMinutes, p.PinLength, p.GatesAlone}
}

// RulesFor returns the access rules of a property, from a cache that is never stale. It fails if the property or its time zone is unknown.
func (rec Reconciler) RulesFor(propertyID string) (Rules, error) {
	type rulesOf string
	return db.Cached(rec.Tx, []string{"properties"}, rulesOf(propertyID), func() (Rules, error) {
		p, err := rec.Tx.Property.Get(rec.Tx.Context(), propertyID)
		if err != nil {
			return Rules{}, fmt.Errorf("load the property: %w", err)
		}
		return SettingsOf(p).Rules()
	})
}

// maxGrants limits the grants that one run loads. Locks have slots for far fewer grants of one reservation.
const maxGrants = 1000

// loadGrants returns the latest grant (period of access) of a reservation, or nil, and its earlier grants whose codes can still be on a
// lock. The open grant counts as the latest, even if another server's clock gave it an earlier time.
func loadGrants(tx *db.Tx, propertyID, reservationID string) (latest *ent.Grant, older []*ent.Grant, err error) {
	rows, err := tx.Grant.Read(tx.Context(), `property_id = $1 AND reservation_id = $2
		ORDER BY CASE WHEN released_at IS NULL THEN 0 ELSE 1 END, created_at DESC, id DESC LIMIT $3`, propertyID, reservationID, maxGrants)
	if err != nil {
		return nil, nil, fmt.Errorf("load the grants of a stay: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil, nil
	}
	latest = slices.MaxFunc(rows, compareGrants)
	return latest, slices.DeleteFunc(rows, func(g *ent.Grant) bool { return g == latest || g.ReleasedAt != nil }), nil
}

// compareGrants orders the grants of a reservation by time, with the live grant last.
func compareGrants(a, b *ent.Grant) int {
	switch {
	case isLive(a) != isLive(b) && isLive(a):
		return 1
	case isLive(a) != isLive(b):
		return -1
	}
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// otherGrants returns those other grants of the same reservation that are open or whose codes may still be on a lock.
func (rec Reconciler) otherGrants(g *ent.Grant) ([]*ent.Grant, error) {
	found, err := rec.Tx.Grant.Read(rec.Tx.Context(), "property_id = $1 AND reservation_id = $2 AND id <> $3 AND released_at IS NULL LIMIT $4",
		g.PropertyID, g.ReservationID, g.ID, maxGrants)
	if err != nil {
		return nil, fmt.Errorf("load the other grants of a stay: %w", err)
	}
	return found, nil
}

// loadFacts loads the doors of the reservation and, if it has a grant, sets them in the run and loads the codes of the grant on all locks.
// It returns what the plan depends on so far; [stayRun.describe] adds the rest.
func (run *stayRun) loadFacts() (Facts, error) {
	doors, found, err := loadDoors(run.Tx, run.PropertyID, run.place, run.Rules.GatesAlone)
	facts := Facts{Right: run.Right, Unplaced: Reason(run.unplaced), Doubt: Reason(run.place.Doubt), Doors: doors, HadGrant: run.grant != nil}
	if err != nil || run.grant == nil {
		return facts, err
	}
	run.setDoors(doors, found)
	if run.isNew() {
		return facts, nil
	}
	return facts, run.LoadCodes()
}

// setDoors sets the doors that the holder may open. It replaces all locks of the run by copies of those in found, because the cache shares
// them.
func (run *Run) setDoors(doors []Door, found []lockOnDoor) {
	run.doors, run.locks = doors, make(map[string]lockOnDoor, len(found))
	for _, f := range found {
		own := *f.lock
		f.lock = &own
		run.locks[own.ID] = f
	}
}

// SetDoors sets the doors that the holder may open: the doors that the locks are on. Each lock must be on a door. The locks count as
// without a bridge, and the doors as active, also those of inactive spaces.
func (run *Run) SetDoors(locks []*ent.Lock) {
	doors, found := make([]Door, len(locks)), make([]lockOnDoor, len(locks))
	for i, l := range locks {
		found[i] = lockOnDoor{lock: l}
		doors[i] = Door{ID: *l.DoorID, Kind: kindOfDoor(*l.DoorID), Lock: found[i].toLock(run.Tx.Now())}
	}
	run.setDoors(doors, found)
}

// LoadCodes loads the holder's codes on all locks, also removed ones whose slot no other holder has got, and the locks that they are on. It
// remembers the codes for the comparison at the end of the run.
func (run *Run) LoadCodes() error {
	rows, err := lock.SlotsOfGrant(run.Tx, run.PropertyID, run.ID)
	if err == nil {
		run.codes, err = run.codesOf(rows)
	}
	run.before.Codes = slotCodes(run.codes)
	return err
}

// codesOf converts slot rows into codes on locks, and loads those locks that are not loaded yet.
func (run *Run) codesOf(rows []*ent.Slot) ([]heldSlot, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ids := make([]string, len(rows))
	for i, s := range rows {
		ids[i] = s.LockID
	}
	if err := run.loadLocks(ids); err != nil {
		return nil, err
	}
	out := make([]heldSlot, len(rows))
	for i, s := range rows {
		out[i] = newHeldSlot(s, run.locks[s.LockID], run.Tx.Now())
	}
	return out, nil
}

// loadLocks loads into the run those of the locks with these ids that are not loaded yet, with their bridges. It omits unknown locks. It
// changes the slice ids.
func (run *Run) loadLocks(ids []string) error {
	ids = slices.DeleteFunc(ids, func(id string) bool { return run.locks[id].lock != nil })
	if len(ids) == 0 {
		return nil
	}
	found, err := run.Tx.Lock.Query().Where(entlock.PropertyID(run.PropertyID), entlock.IDIn(ids...)).All(run.Tx.Context())
	if err != nil {
		return fmt.Errorf("load the locks a stay leaves: %w", err)
	}
	bridges := make([]string, len(found))
	for i, l := range found {
		bridges[i] = l.BridgeID
	}
	rows, err := run.Tx.Bridge.Query().Where(entbridge.PropertyID(run.PropertyID), entbridge.IDIn(bridges...)).All(run.Tx.Context())
	if err != nil {
		return fmt.Errorf("load the bridges of locks that a stay leaves: %w", err)
	}
	if run.locks == nil {
		run.locks = map[string]lockOnDoor{}
	}
	for _, l := range found {
		at := lockOnDoor{lock: l}
		if i := slices.IndexFunc(rows, func(b *ent.Bridge) bool { return b.ID == l.BridgeID }); i >= 0 {
			at.bridge = &installedBridge{bridge.LinkOf(rows[i]), rows[i].KeySetVersion, rows[i].KeyListNumber}
		}
		run.locks[l.ID] = at
	}
	return nil
}

// markTakenOver marks the codes on private doors that the holder is leaving and that another reservation takes over, see [takesOver]. Such
// a code is removed at once, even if the holder's new door does not open yet.
func (run *Run) markTakenOver() error {
	var leaving []string
	for _, h := range run.codes {
		if h.Present && doorByID(run.doors, h.DoorID).ID == "" {
			leaving = append(leaving, h.DoorID)
		}
	}
	if len(leaving) == 0 {
		return nil
	}
	others, err := run.Tx.Grant.Query().Where(entgrant.PropertyID(run.PropertyID), entgrant.SpaceIDIn(leaving...),
		entgrant.EndedAtIsNil(), entgrant.IDNEQ(run.ID)).All(run.Tx.Context())
	if err != nil {
		return fmt.Errorf("find the stays in a space being left: %w", err)
	}
	var taken []string
	for _, g := range others {
		if takesOver(g, run.PlacedAt) {
			taken = append(taken, g.SpaceID)
		}
	}
	if len(taken) == 0 {
		return nil
	}
	taken, err = run.Tx.Space.Query().Where(entspace.PropertyID(run.PropertyID), entspace.IDIn(taken...),
		entspace.Or(entspace.IsPrivate(true), entspace.Type(space.Bed))).IDs(run.Tx.Context())
	if err != nil {
		return fmt.Errorf("load the spaces a stay leaves: %w", err)
	}
	for i, h := range run.codes {
		run.codes[i].TakenOver = slices.Contains(taken, h.DoorID)
	}
	return nil
}

// describe adds to f what else the plan depends on, and returns the plan. The run must have a grant, and its codes must be loaded.
func (run *stayRun) describe(f Facts) (Plan, error) {
	f.Codes, f.GrantedAt = slotCodes(run.codes), run.grant.CreatedAt
	older, err := run.codesOfOlderGrants()
	if err != nil {
		return Plan{}, err
	}
	f.Older = slotCodes(older)
	if f.Tokens, f.KeyDoors, err = run.loadTokens(); err != nil {
		return Plan{}, err
	}
	if f.Names, err = run.loadFormerDoors(f.allCodes(), slices.Collect(maps.Values(f.KeyDoors))); err != nil {
		return Plan{}, err
	}
	if run.pins != nil {
		f.NoPIN, f.OwnPIN = run.pins.impossible, map[string]bool{}
		for door := range run.pins.perDoor {
			f.OwnPIN[door] = true
		}
	}
	if f.Shared, err = run.sharesSpace(); err != nil {
		return Plan{}, err
	}
	return Describe(f), nil
}

// codesOfOlderGrants loads the codes of olderGrants: for the latest grant those of the earlier ones, for an earlier grant also those of the
// open one.
func (run *stayRun) codesOfOlderGrants() ([]heldSlot, error) {
	if len(run.olderGrants) == 0 {
		return nil, nil
	}
	ids := make([]string, len(run.olderGrants))
	for i, g := range run.olderGrants {
		ids[i] = g.ID
	}
	rows, err := lock.SlotsOfGrants(run.Tx, run.PropertyID, ids...)
	if err != nil {
		return nil, fmt.Errorf("list the codes of earlier grants: %w", err)
	}
	return run.codesOf(rows)
}

// departingGrants lists the open grants of stays that are in another space, or in none, but still have a code on the door of this stay's
// space.
func (run *stayRun) departingGrants() ([]*ent.Grant, error) {
	ids, err := run.Tx.Slot.Query().Where(entslot.PropertyID(run.PropertyID), entslot.DoorID(run.SpaceID), entslot.Present(true),
		entslot.GrantIDNEQ(run.ID)).Select(entslot.FieldGrantID).Strings(run.Tx.Context())
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return run.Tx.Grant.Query().Where(entgrant.PropertyID(run.PropertyID), entgrant.IDIn(ids...), entgrant.EndedAtIsNil(),
		entgrant.SpaceIDNEQ(run.SpaceID)).Order(entgrant.ByID()).All(run.Tx.Context())
}

// loadFormerDoors loads the doors that the reservation no longer has, by id: those of the codes in held, and those whose ids are in others,
// which it may reorder. A door gets its Lock only if a code is desired on it.
func (run *stayRun) loadFormerDoors(held []SlotCode, others []string) (map[string]Door, error) {
	ids := others
	for _, h := range held {
		ids = append(ids, h.DoorID, h.currentDoorID())
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return doorByID(run.doors, id).ID != "" })
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := doorsByID(run.Tx, run.PropertyID, ids)
	if err != nil {
		return nil, err
	}
	for _, h := range held {
		if d, f := out[h.DoorID], run.locks[h.LockID]; d.ID != "" && f.lock != nil && h.Present {
			d.Lock = f.toLock(run.Tx.Now())
			out[h.DoorID] = d
		}
	}
	return out, nil
}
