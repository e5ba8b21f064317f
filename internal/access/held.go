package access

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entgate "latchkey.dev/ent/gate"
	entgrant "latchkey.dev/ent/grant"
	entlock "latchkey.dev/ent/lock"
	entslot "latchkey.dev/ent/slot"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// occupied is a held code with its row.
type occupied struct {
	Held
	row *ent.Slot
}

func occupy(s *ent.Slot, readBack bool) occupied {
	o := occupied{Held: Held{ReadBack: readBack}}
	o.becomes(s)
	return o
}

// becomes takes the slot as it is now.
func (o *occupied) becomes(s *ent.Slot) {
	o.row = s
	o.SlotID, o.LockID, o.DoorID, o.Present, o.PIN = s.ID, s.LockID, s.DoorID, s.Present, s.PinID
	o.Evidence, o.Result, o.Window = slot.Evidence(s.Evidence), s.Result, Window{instant(s.NotBefore), instant(s.NotAfter)}
	o.Later = slot.Pack(lock.LaterOf(s)...)
	o.Handed = s.SeenGeneration != s.Generation && (s.Claimant != "" || s.Inherited)
	o.Former = o.Handed && s.Generation > s.Since
}

func instant(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func view(held []occupied) []Held {
	out := make([]Held, len(held))
	for i, h := range held {
		out[i] = h.Held
	}
	return out
}

func find(held []occupied, slotID string) *occupied {
	i := slices.IndexFunc(held, func(h occupied) bool { return h.SlotID == slotID })
	return &held[i]
}

// held lists the slots of the grant and says of doors that are left whether another stay has them.
func (w *work) held(doors []Door) ([]occupied, error) {
	if w.fresh {
		return nil, nil
	}
	rows, err := lock.OfGrant(w.tx, w.property, w.grant.ID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	locks, err := w.locksOf(rows)
	if err != nil {
		return nil, err
	}
	out := make([]occupied, 0, len(rows))
	var leaving []string
	for _, s := range rows {
		l := locks[s.LockID]
		h := occupy(s, l != nil && l.Capabilities.ReadBack)
		h.Astray = l == nil || l.DoorID == nil || *l.DoorID != s.DoorID
		if s.Present && door(doors, s.DoorID).ID == "" {
			leaving = append(leaving, s.DoorID)
		}
		out = append(out, h)
	}
	taken, err := w.takenOver(leaving)
	if err != nil {
		return nil, err
	}
	for i, h := range out {
		out[i].TakenOver = slices.Contains(taken, h.DoorID)
	}
	return out, nil
}

// locksOf finds the locks of slots, by id. Those of the doors of the stay are at hand.
func (w *work) locksOf(rows []*ent.Slot) (map[string]*ent.Lock, error) {
	out := map[string]*ent.Lock{}
	w.byID = out
	for _, l := range w.locks {
		out[l.ID] = l
	}
	var missing []string
	for _, s := range rows {
		if out[s.LockID] == nil {
			missing = append(missing, s.LockID)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	found, err := w.tx.Lock.Query().Where(entlock.PropertyID(w.property), entlock.IDIn(missing...)).All(w.ctx())
	if err != nil {
		return nil, fmt.Errorf("load the locks a stay leaves: %w", err)
	}
	for _, l := range found {
		out[l.ID] = l
	}
	return out, nil
}

// takenOver says which of the doors that are left are private and belong to another stay by now.
func (w *work) takenOver(leaving []string) ([]string, error) {
	if len(leaving) == 0 || !live(w.grant) {
		return nil, nil
	}
	others, err := w.tx.Grant.Query().Where(entgrant.PropertyID(w.property), entgrant.SpaceIDIn(leaving...),
		entgrant.EndedAtIsNil(), entgrant.IDNEQ(w.grant.ID)).All(w.ctx())
	if err != nil {
		return nil, fmt.Errorf("look for stays in a space that is left: %w", err)
	}
	var taken []string
	for _, g := range others {
		if takesOver(g, w.grant) {
			taken = append(taken, g.SpaceID)
		}
	}
	if len(taken) == 0 {
		return nil, nil
	}
	out, err := w.tx.Space.Query().Where(entspace.PropertyID(w.property), entspace.IDIn(taken...),
		entspace.Or(entspace.IsPrivate(true), entspace.Type(space.Bed))).IDs(w.ctx())
	if err != nil {
		return nil, fmt.Errorf("load the spaces a stay leaves: %w", err)
	}
	return out, nil
}

// leavers lists the grants that still hold the door which this one has now been given.
func (w *work) leavers() ([]*ent.Grant, error) {
	ids, err := w.tx.Slot.Query().Where(entslot.PropertyID(w.property), entslot.DoorID(w.spaceID()), entslot.Present(true),
		entslot.GrantIDNEQ(w.grant.ID)).Select(entslot.FieldGrantID).Strings(w.ctx())
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return w.tx.Grant.Query().Where(entgrant.PropertyID(w.property), entgrant.IDIn(ids...), entgrant.EndedAtIsNil(),
		entgrant.SpaceIDNEQ(w.spaceID())).Order(entgrant.ByID()).All(w.ctx())
}

// names finds what doors are called that are no longer the stay's.
func (w *work) names(held []Held, doors []Door) (map[string]Door, error) {
	var ids []string
	for _, h := range held {
		if door(doors, h.DoorID).ID == "" {
			ids = append(ids, h.DoorID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	out := map[string]Door{}
	spaces, err := w.tx.Space.Query().Where(entspace.PropertyID(w.property), entspace.IDIn(ids...)).All(w.ctx())
	if err != nil {
		return nil, fmt.Errorf("load the spaces a stay left: %w", err)
	}
	for _, s := range spaces {
		out[s.ID] = ownDoor(s)
	}
	gates, err := w.tx.Gate.Query().Where(entgate.PropertyID(w.property), entgate.IDIn(ids...)).All(w.ctx())
	if err != nil {
		return nil, fmt.Errorf("load the gates a stay left: %w", err)
	}
	for _, g := range gates {
		out[g.ID] = Door{ID: g.ID, Name: g.Name, Kind: Gate}
	}
	for _, h := range held {
		if d, l := out[h.DoorID], w.byID[h.LockID]; d.ID != "" && l != nil && h.Present {
			d.Lock = &Lock{ID: l.ID, SmartKey: l.Capabilities.RemoteUnlock}
			out[h.DoorID] = d
		}
	}
	return out, nil
}
