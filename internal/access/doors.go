package access

import (
	"fmt"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/access/pin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/space"
)

// doorsOf lists the doors of a place with their locks: the room or bed, the dorm of a bed, and the gates that let its
// guests in. Gates follow the lock of the room or bed, unless the property grants gates alone.
func doorsOf(tx *db.Tx, propertyID string, p space.Place, gatesAlone bool) ([]Door, map[string]*ent.Lock, error) {
	if p.Space == nil {
		return nil, nil, nil
	}
	doors := []Door{ownDoor(p.Space, true)}
	if p.Parent != nil {
		doors = append(doors, ownDoor(p.Parent, false))
	}
	gates, err := space.GatesOf(tx.Context(), tx.Client, propertyID, p)
	if err != nil {
		return nil, nil, err
	}
	for _, g := range gates {
		doors = append(doors, Door{ID: g.ID, Name: g.Name, Kind: Gate})
	}
	ids := make([]string, len(doors))
	for i, d := range doors {
		ids[i] = d.ID
	}
	locks, err := lock.AtDoors(tx, propertyID, ids)
	if err != nil {
		return nil, nil, err
	}
	bridges, err := bridgesOf(tx, propertyID, locks)
	if err != nil {
		return nil, nil, err
	}
	for i, d := range doors {
		if l := locks[d.ID]; l != nil {
			doors[i].Lock = lockOf(l, bridges[l.BridgeID])
		}
	}
	return relevant(doors, gatesAlone), locks, nil
}

func ownDoor(s *ent.Space, own bool) Door {
	d := Door{ID: s.ID, Name: s.Name, Kind: Room, Private: s.IsPrivate && own, Inactive: !s.IsActive}
	if s.Type == "Bed" {
		d.Kind, d.Private = Bed, true
	}
	return d
}

// relevant leaves out what a stay is not told of: a bed without a locker lock in a dorm with a lock, and the other way
// round, gates without a lock, and all gates where no own door has a lock.
func relevant(doors []Door, gatesAlone bool) []Door {
	locked := false
	for _, d := range doors {
		locked = locked || d.Kind != Gate && d.Lock != nil
	}
	out := doors[:0]
	for i, d := range doors {
		switch {
		case d.Lock != nil && (d.Kind != Gate || locked || gatesAlone):
		case d.Lock == nil && d.Kind != Gate && !locked && i == 0:
		default:
			continue
		}
		out = append(out, d)
	}
	return out
}

func bridgesOf(tx *db.Tx, propertyID string, locks map[string]*ent.Lock) (map[string]*ent.Bridge, error) {
	if len(locks) == 0 {
		return nil, nil
	}
	ids := make([]string, 0, len(locks))
	for _, l := range locks {
		ids = append(ids, l.BridgeID)
	}
	rows, err := tx.Bridge.Query().Where(entbridge.PropertyID(propertyID), entbridge.IDIn(ids...)).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the bridges of locks: %w", err)
	}
	out := make(map[string]*ent.Bridge, len(rows))
	for _, b := range rows {
		out[b.ID] = b
	}
	return out, nil
}

func lockOf(l *ent.Lock, b *ent.Bridge) *Lock {
	c := l.Capabilities
	out := &Lock{
		ID: l.ID, ReadBack: c.ReadBack, Online: b != nil && b.Online && l.Status.Online,
		PIN: pin.Rules{
			Min: c.PINMin, Max: c.PINMax, Alphabet: c.Alphabet,
			ForbiddenPrefixes: c.ForbiddenPrefixes, ForbiddenPatterns: c.ForbiddenPatterns,
		},
	}
	switch {
	case b == nil:
		out.Bridge = fault.NoBridge
	case b.RevokedAt != nil:
		out.Bridge = fault.BridgeRevoked
	}
	return out
}
