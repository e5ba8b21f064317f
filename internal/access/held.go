package access

import (
	"fmt"

	"latchkey.dev/ent"
	entgate "latchkey.dev/ent/gate"
	entgrant "latchkey.dev/ent/grant"
	entlock "latchkey.dev/ent/lock"
	entpin "latchkey.dev/ent/pin"
	entslot "latchkey.dev/ent/slot"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// occupied is a held code with its row.
type occupied struct {
	Held
	row *ent.Slot
}

func view(held []occupied) []Held {
	out := make([]Held, len(held))
	for i, h := range held {
		out[i] = h.Held
	}
	return out
}

func find(held []occupied, slotID string) occupied {
	for _, h := range held {
		if h.SlotID == slotID {
			return h
		}
	}
	return occupied{}
}

// held lists the slots of the grant and says of doors that are left whether another stay has them.
func (w *work) held(doors []Door) ([]occupied, error) {
	if w.issued && w.codes == nil {
		return nil, nil
	}
	rows, err := lock.OfGrant(w.tx, w.property, w.grant.ID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	readBack, err := w.readBack(rows, doors)
	if err != nil {
		return nil, err
	}
	out := make([]occupied, 0, len(rows))
	for _, s := range rows {
		h := occupied{row: s, Held: Held{
			SlotID: s.ID, LockID: s.LockID, DoorID: s.DoorID, Present: s.Present, PIN: s.PinID,
			Evidence: slot.Evidence(s.Evidence), Result: s.Result, ReadBack: readBack[s.LockID],
		}}
		if s.NotBefore != nil && s.NotAfter != nil {
			h.Window = Window{*s.NotBefore, *s.NotAfter}
		}
		if s.Present && !inDoors(doors, s.DoorID) {
			if h.TakenOver, err = w.takenOver(s.DoorID); err != nil {
				return nil, err
			}
		}
		out = append(out, h)
	}
	return out, nil
}

func inDoors(doors []Door, id string) bool {
	for _, d := range doors {
		if d.ID == id {
			return true
		}
	}
	return false
}

// readBack says of each lock whether what it holds can be read.
func (w *work) readBack(rows []*ent.Slot, doors []Door) (map[string]bool, error) {
	out := map[string]bool{}
	var missing []string
	for _, s := range rows {
		known := false
		for _, d := range doors {
			if d.Lock != nil && d.Lock.ID == s.LockID {
				out[s.LockID], known = d.Lock.ReadBack, true
			}
		}
		if !known {
			missing = append(missing, s.LockID)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	locks, err := w.tx.Lock.Query().Where(entlock.PropertyID(w.property), entlock.IDIn(missing...)).All(w.tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the locks a stay leaves: %w", err)
	}
	for _, l := range locks {
		out[l.ID] = l.Capabilities.ReadBack
	}
	return out, nil
}

// takenOver says whether a private door that is left belongs to another stay by now.
func (w *work) takenOver(doorID string) (bool, error) {
	ctx := w.tx.Context()
	private, err := w.tx.Space.Query().Where(entspace.PropertyID(w.property), entspace.ID(doorID),
		entspace.Or(entspace.IsPrivate(true), entspace.Type("Bed"))).Exist(ctx)
	if err != nil || !private {
		return false, err
	}
	return w.tx.Grant.Query().Where(entgrant.PropertyID(w.property), entgrant.SpaceID(doorID),
		entgrant.EndedAtIsNil(), entgrant.IDNEQ(w.grant.ID)).Exist(ctx)
}

// leavers lists the grants that still hold a private door which this one has now been given.
func (w *work) leavers() ([]*ent.Grant, error) {
	ctx := w.tx.Context()
	ids, err := w.tx.Slot.Query().Where(entslot.PropertyID(w.property), entslot.DoorID(w.spaceID()), entslot.Present(true),
		entslot.GrantIDNEQ(w.grant.ID)).Select(entslot.FieldGrantID).Strings(ctx)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return w.tx.Grant.Query().Where(entgrant.PropertyID(w.property), entgrant.IDIn(ids...), entgrant.EndedAtIsNil(),
		entgrant.SpaceIDNEQ(w.spaceID())).All(ctx)
}

// names finds what doors are called that are no longer the stay's.
func (w *work) names(held []occupied, doors []Door) (map[string]Door, error) {
	out := map[string]Door{}
	ctx := w.tx.Context()
	for _, h := range held {
		if inDoors(doors, h.DoorID) {
			continue
		}
		s, err := w.tx.Space.Query().Where(entspace.PropertyID(w.property), entspace.ID(h.DoorID)).Only(ctx)
		if err == nil {
			out[h.DoorID] = ownDoor(s, true)
			continue
		}
		if !ent.IsNotFound(err) {
			return nil, err
		}
		g, err := w.tx.Gate.Query().Where(entgate.PropertyID(w.property), entgate.ID(h.DoorID)).Only(ctx)
		if err == nil {
			out[h.DoorID] = Door{ID: g.ID, Name: g.Name, Kind: Gate}
		} else if !ent.IsNotFound(err) {
			return nil, err
		}
	}
	return out, nil
}

// release frees the digits of PINs that no lock can hold any more.
func (w *work) release(held []occupied) error {
	ctx := w.tx.Context()
	if live(w.grant) {
		for _, h := range held {
			if h.Present && !h.known() || !h.Present && h.Evidence != slot.Removed {
				return nil
			}
		}
		_, err := w.tx.Pin.Delete().Where(entpin.PropertyID(w.property), entpin.GrantID(w.grant.ID), entpin.Retired(true)).Exec(ctx)
		return err
	}
	if w.grant.ReleasedAt != nil {
		return nil
	}
	for _, h := range held {
		if h.Present || h.Evidence != slot.Removed {
			return nil
		}
	}
	if _, err := w.tx.Pin.Delete().Where(entpin.PropertyID(w.property), entpin.GrantID(w.grant.ID)).Exec(ctx); err != nil {
		return fmt.Errorf("release the PINs of a grant: %w", err)
	}
	g, err := w.tx.Grant.UpdateOne(w.grant).SetReleasedAt(w.tx.Now()).SetPinID("").Save(ctx)
	if err != nil {
		return fmt.Errorf("release a grant: %w", err)
	}
	w.grant = g
	return nil
}
