package access

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entgate "latchkey.dev/ent/gate"
	entgrant "latchkey.dev/ent/grant"
	entlock "latchkey.dev/ent/lock"
	entslot "latchkey.dev/ent/slot"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// installedSlot is a held code with its row.
type installedSlot struct {
	Held
	row *ent.Slot
}

func newInstalledSlot(s *ent.Slot, readBack bool) installedSlot {
	o := installedSlot{Held: Held{ReadBack: readBack, LockDoorID: s.DoorID}}
	o.set(s)
	return o
}

// set copies the state of a slot.
func (o *installedSlot) set(s *ent.Slot) {
	o.row = s
	o.SlotID, o.LockID, o.DoorID, o.Present, o.PIN = s.ID, s.LockID, s.DoorID, s.Present, s.PinID
	o.Evidence, o.Result, o.Window = slot.Evidence(s.Evidence), s.Result, Window{timeOrZero(s.NotBefore), timeOrZero(s.NotAfter)}
	o.Later = slot.PackWindows(lock.LaterWindows(s)...)
	o.Changed, o.Rewritten = s.ChangedAt, s.Generation > s.Since
	o.MayBeInstalled = (s.Claimant != "" || s.Inherited) && !isInstalled(o.Evidence)
	o.Former = s.Present && s.Former && !isInstalled(o.Evidence)
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func heldCodes(held []installedSlot) []Held {
	out := make([]Held, len(held))
	for i, h := range held {
		out[i] = h.Held
	}
	return out
}

func slotByID(held []installedSlot, slotID string) *installedSlot {
	i := slices.IndexFunc(held, func(h installedSlot) bool { return h.SlotID == slotID })
	return &held[i]
}

// loadHeld lists the slots of the grant, and marks doors that another stay has taken over.
func (run *grantRun) loadHeld(doors []Door) ([]installedSlot, error) {
	if run.isNew {
		return nil, nil
	}
	rows, err := lock.SlotsOfGrant(run.tx, run.propertyID, run.grant.ID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	locks, err := run.locksOfSlots(rows)
	if err != nil {
		return nil, err
	}
	out := make([]installedSlot, 0, len(rows))
	var leaving []string
	for _, s := range rows {
		h := newInstalledSlot(s, false)
		h.setLock(locks[s.LockID], run.tx.Now())
		if s.Present && doorByID(doors, s.DoorID).ID == "" {
			leaving = append(leaving, s.DoorID)
		}
		out = append(out, h)
	}
	taken, err := run.takenOverDoors(leaving)
	if err != nil {
		return nil, err
	}
	for i, h := range out {
		out[i].TakenOver = slices.Contains(taken, h.DoorID)
	}
	return out, nil
}

// setLock sets where the lock of a slot is now, and whether it can be reached.
func (h *Held) setLock(f installedLock, now time.Time) {
	h.LockDoorID, h.LockMoved = h.DoorID, true
	if f.lock == nil {
		h.Unreachable = lock.NoBridge
		return
	}
	if f.lock.DoorID != nil {
		h.LockDoorID, h.LockMoved = *f.lock.DoorID, *f.lock.DoorID != h.DoorID
	}
	l := f.toLock(now)
	h.ReadBack, h.Unreachable = l.ReadBack, l.unreachable()
}

// locksOfSlots returns the locks of slots, by id. Those of the doors of the stay are loaded already.
func (run *grantRun) locksOfSlots(rows []*ent.Slot) (map[string]installedLock, error) {
	ids := make([]string, 0, len(rows))
	for _, s := range rows {
		ids = append(ids, s.LockID)
	}
	return run.locksByID(ids)
}

func (run *grantRun) locksByID(ids []string) (map[string]installedLock, error) {
	if run.lockByID == nil {
		run.lockByID = map[string]installedLock{}
		for _, l := range run.lockAtDoor {
			run.lockByID[l.ID] = installedLock{lock: l, bridge: run.bridges[l.BridgeID]}
		}
	}
	out := run.lockByID
	missing := slices.DeleteFunc(ids, func(id string) bool { return out[id].lock != nil })
	if len(missing) == 0 {
		return out, nil
	}
	found, err := run.tx.Lock.Query().Where(entlock.PropertyID(run.propertyID), entlock.IDIn(missing...)).All(run.ctx())
	if err != nil {
		return nil, fmt.Errorf("load the locks a stay leaves: %w", err)
	}
	bridges, err := run.bridgesOfLocks(found)
	if err != nil {
		return nil, err
	}
	for _, l := range found {
		out[l.ID] = installedLock{lock: l, bridge: bridges[l.BridgeID]}
	}
	return out, nil
}

// bridgesOfLocks returns the bridges of locks, by id. Those of the doors of the stay are loaded already.
func (run *grantRun) bridgesOfLocks(locks []*ent.Lock) (map[string]*ent.Bridge, error) {
	out := maps.Clone(run.bridges)
	if out == nil {
		out = map[string]*ent.Bridge{}
	}
	var missing []string
	for _, l := range locks {
		if out[l.BridgeID] == nil {
			missing = append(missing, l.BridgeID)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	found, err := run.tx.Bridge.Query().Where(entbridge.PropertyID(run.propertyID), entbridge.IDIn(missing...)).All(run.ctx())
	if err != nil {
		return nil, fmt.Errorf("load the bridges of locks that a stay leaves: %w", err)
	}
	for _, b := range found {
		out[b.ID] = b
	}
	return out, nil
}

// takenOverDoors returns those of the doors being left that are private and now belong to another stay.
func (run *grantRun) takenOverDoors(leaving []string) ([]string, error) {
	if len(leaving) == 0 || !isLive(run.grant) {
		return nil, nil
	}
	others, err := run.tx.Grant.Query().Where(entgrant.PropertyID(run.propertyID), entgrant.SpaceIDIn(leaving...),
		entgrant.EndedAtIsNil(), entgrant.IDNEQ(run.grant.ID)).All(run.ctx())
	if err != nil {
		return nil, fmt.Errorf("find the stays in a space being left: %w", err)
	}
	var taken []string
	for _, g := range others {
		if takesOver(g, run.grant) {
			taken = append(taken, g.SpaceID)
		}
	}
	if len(taken) == 0 {
		return nil, nil
	}
	out, err := run.tx.Space.Query().Where(entspace.PropertyID(run.propertyID), entspace.IDIn(taken...),
		entspace.Or(entspace.IsPrivate(true), entspace.Type(space.Bed))).IDs(run.ctx())
	if err != nil {
		return nil, fmt.Errorf("load the spaces a stay leaves: %w", err)
	}
	return out, nil
}

// departingGrants lists the grants that still have a code on the door of this one.
func (run *grantRun) departingGrants() ([]*ent.Grant, error) {
	ids, err := run.tx.Slot.Query().Where(entslot.PropertyID(run.propertyID), entslot.DoorID(run.spaceID()), entslot.Present(true),
		entslot.GrantIDNEQ(run.grant.ID)).Select(entslot.FieldGrantID).Strings(run.ctx())
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return run.tx.Grant.Query().Where(entgrant.PropertyID(run.propertyID), entgrant.IDIn(ids...), entgrant.EndedAtIsNil(),
		entgrant.SpaceIDNEQ(run.spaceID())).Order(entgrant.ByID()).All(run.ctx())
}

// formerDoors loads the doors, by id, that are not the stay's: those of held codes, and others.
func (run *grantRun) formerDoors(held []Held, others []string, doors []Door) (map[string]Door, error) {
	ids := others
	for _, h := range held {
		ids = append(ids, h.DoorID, h.currentDoorID())
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return doorByID(doors, id).ID != "" })
	if len(ids) == 0 {
		return nil, nil
	}
	out := map[string]Door{}
	spaces, err := run.tx.Space.Query().Where(entspace.PropertyID(run.propertyID), entspace.IDIn(ids...)).All(run.ctx())
	if err != nil {
		return nil, fmt.Errorf("load the spaces a stay left: %w", err)
	}
	for _, s := range spaces {
		out[s.ID] = spaceDoor(s)
	}
	gates, err := run.tx.Gate.Query().Where(entgate.PropertyID(run.propertyID), entgate.IDIn(ids...)).All(run.ctx())
	if err != nil {
		return nil, fmt.Errorf("load the gates a stay left: %w", err)
	}
	for _, g := range gates {
		out[g.ID] = Door{ID: g.ID, Name: g.Name, Kind: Gate}
	}
	for _, h := range held {
		if d, f := out[h.DoorID], run.lockByID[h.LockID]; d.ID != "" && f.lock != nil && h.Present {
			d.Lock = f.toLock(run.tx.Now())
			out[h.DoorID] = d
		}
	}
	return out, nil
}
