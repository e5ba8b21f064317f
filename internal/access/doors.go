package access

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent"
	entgate "latchkey.dev/ent/gate"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/access/pin"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// planTables are the tables that determine the doors of a reservation. They change seldom and each change of a reservation reads them, so
// their results are cached.
var planTables = []string{"spaces", "mappings", "partner_spaces", "gates", "locks", "bridges"}

// resolvePlace returns the space that a reservation names, and why it has none, or SpaceInactive if the space is inactive; the text is ""
// otherwise. The result comes from a cache, so the caller must not change the space.
func resolvePlace(tx *db.Tx, r space.Request) (space.Place, string, error) {
	type answer struct {
		place    space.Place
		unplaced string
	}
	a, err := db.Cached(tx, planTables, r, func() (a answer, err error) {
		a.place, a.unplaced, err = space.Resolve(tx, r)
		return a, err
	})
	return a.place, a.unplaced, err
}

// cachedLocks lists, from a cache, the locks on the own doors of a place, which must have a space, and on all gates of its property. Each
// change of a reservation needs these locks. The caller must not change them.
func cachedLocks(tx *db.Tx, propertyID string, p space.Place) ([]lockOnDoor, error) {
	type cacheKey struct{ property, space, parent string }
	key := cacheKey{property: propertyID, space: p.Space.ID}
	if p.Parent != nil {
		key.parent = p.Parent.ID
	}
	return db.Cached(tx, planTables, key, func() ([]lockOnDoor, error) { return loadLocks(tx, propertyID, p) })
}

// isPrivate reports whether a space is for one reservation at a time. A bed is private even in a shared dorm. No space (nil) is not
// private.
func isPrivate(s *ent.Space) bool { return s != nil && (s.IsPrivate || s.Type == space.Bed) }

// loadDoors returns those doors of a space that a plan mentions: of the room or bed, the dorm of a bed, and the gates (shared doors) for
// its guests, those with a lock; and the room or bed without one if neither it nor the dorm has a lock. It also returns all locks that it
// found on them and on other gates. Without gatesAlone it omits the gates unless the room, bed or dorm has a lock and is active. Without a
// space it returns nothing.
func loadDoors(tx *db.Tx, propertyID string, p space.Place, gatesAlone bool) ([]Door, []lockOnDoor, error) {
	if p.Space == nil {
		return nil, nil, nil
	}
	found, err := cachedLocks(tx, propertyID, p)
	if err != nil {
		return nil, nil, err
	}
	doors := []Door{spaceDoor(p.Space)}
	if p.Parent != nil {
		doors = append(doors, spaceDoor(p.Parent))
		doors[0].Inactive, doors[0].Parent = doors[0].Inactive || doors[1].Inactive, p.ParentName()
	}
	for _, f := range found {
		id := *f.lock.DoorID
		i := slices.IndexFunc(doors, func(d Door) bool { return d.ID == id })
		switch {
		case i >= 0:
			doors[i].Lock = f.toLock(tx.Now())
		case f.gate.id != "" && serves(f.gate, p):
			doors = append(doors, Door{ID: id, Name: f.gate.name, Kind: Gate, Lock: f.toLock(tx.Now())})
		}
	}
	return filterPlannedDoors(doors, gatesAlone), found, nil
}

// kindOfDoor returns the kind of a door by its id: a gate, or else a room, also for a bed.
func kindOfDoor(doorID string) Kind {
	if strings.HasPrefix(doorID, id.Gate+"_") {
		return Gate
	}
	return Room
}

// maxDoors limits the doors in one query.
const maxDoors = 200

// doorsByID loads doors of a property by id, without their locks. It omits unknown ids.
func doorsByID(tx *db.Tx, propertyID string, ids []string) (map[string]Door, error) {
	out := map[string]Door{}
	for part := range slices.Chunk(ids, maxDoors) {
		spaces, err := tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.IDIn(part...)).All(tx.Context())
		if err != nil {
			return nil, fmt.Errorf("load spaces: %w", err)
		}
		if err := addSpaces(tx, propertyID, spaces, out); err != nil {
			return nil, err
		}
		gates, err := tx.Gate.Query().Where(entgate.PropertyID(propertyID), entgate.IDIn(part...)).All(tx.Context())
		if err != nil {
			return nil, fmt.Errorf("load gates: %w", err)
		}
		for _, g := range gates {
			out[g.ID] = Door{ID: g.ID, Name: g.Name, Kind: Gate}
		}
	}
	return out, nil
}

// addSpaces adds the doors of spaces to doors, the beds with the names of their dorms.
func addSpaces(tx *db.Tx, propertyID string, spaces []*ent.Space, doors map[string]Door) error {
	var beds []string
	for _, s := range spaces {
		doors[s.ID] = spaceDoor(s)
		if s.ParentID != "" {
			beds = append(beds, s.ID)
		}
	}
	dorms, err := space.DormNames(tx, propertyID, beds)
	for _, bed := range beds {
		d := doors[bed]
		d.Parent = dorms[bed]
		doors[bed] = d
	}
	return err
}

// DoorName is the name of a door and, for a bed, the name of its dorm.
type DoorName struct{ Name, Parent string }

// DoorNames returns the names of spaces and gates of a property, by id. It omits unknown ids.
func DoorNames(tx *db.Tx, propertyID string, ids []string) (map[string]DoorName, error) {
	doors, err := doorsByID(tx, propertyID, ids)
	names := make(map[string]DoorName, len(doors))
	for id, d := range doors {
		names[id] = DoorName{d.Name, d.Parent}
	}
	return names, err
}

// spaceDoor returns the door of a space, without a lock.
func spaceDoor(s *ent.Space) Door {
	d := Door{ID: s.ID, Name: s.Name, Kind: Room, Inactive: !s.IsActive}
	if s.Type == space.Bed {
		d.Kind = Bed
	}
	return d
}

// serves reports whether the guests of a place may pass a gate. A gate without spaces serves all guests.
func serves(g gateRow, p space.Place) bool {
	return len(g.spaceIDs) == 0 || slices.Contains(g.spaceIDs, p.Space.ID) || p.Parent != nil && slices.Contains(g.spaceIDs, p.Parent.ID)
}

// filterPlannedDoors returns the doors that a plan mentions: those with a lock. If neither the room or bed nor its dorm has a lock, the
// room or bed, which must be the first of doors, is mentioned without one. Gates are omitted if no other door takes a code, unless
// gatesAlone is set.
func filterPlannedDoors(doors []Door, gatesAlone bool) []Door {
	locked, opens := false, gatesAlone
	for _, d := range doors {
		if d.Kind != Gate {
			locked, opens = locked || d.Lock != nil, opens || d.takesCode()
		}
	}
	out := make([]Door, 0, len(doors))
	for i, d := range doors {
		if d.Lock != nil && (d.Kind != Gate || opens) || d.Lock == nil && !locked && i == 0 {
			out = append(out, d)
		}
	}
	return out
}

// lockOnDoor is a lock on a door with its bridge and, at a gate, the gate.
type lockOnDoor struct {
	lock   *ent.Lock
	bridge *installedBridge // bridge is nil if the lock has none
	gate   gateRow
}

// installedBridge has the columns of a bridge that show whether it is online and which SmartKeys it knows.
type installedBridge struct {
	link          bridge.Link
	keySetVersion *int64
	keyListNumber int64
}

// gateRow is a gate, or the zero value at another door.
type gateRow struct {
	id, name string
	spaceIDs []string
}

// toLock returns what access depends on: whether the lock can be reached at now, and which PINs and SmartKeys it accepts.
func (f lockOnDoor) toLock(now time.Time) *Lock {
	c := f.lock.Capabilities
	bridgeOnline := f.bridge != nil && f.bridge.link.IsOnline(now)
	out := &Lock{
		ID: f.lock.ID, ReadBack: c.ReadBack, SmartKey: c.RemoteUnlock, Online: bridgeOnline && f.lock.Status.Online, BridgeOnline: bridgeOnline, Jammed: lock.IsJammed(f.lock),
		PIN: pinRules(c), Guessable: lock.Guessable(c, f.lock.Status),
	}
	switch {
	case f.bridge == nil:
		out.Bridge = lock.NoBridge
	case f.bridge.link.RevokedAt != nil:
		out.Bridge = lock.BridgeRevoked
	}
	return out
}

// pinRules returns which PINs a lock with these capabilities accepts: none if a forbidden pattern cannot be compiled.
func pinRules(c slot.Capabilities) pin.Rules {
	r := pin.Rules{Min: c.PINMin, Max: c.PINMax, Alphabet: c.Alphabet, Prefixes: c.ForbiddenPrefixes}
	for _, source := range c.ForbiddenPatterns {
		p, err := slot.CompilePattern(source)
		if err != nil { // patterns are checked when a bridge reports them; an invalid one forbids every PIN
			return pin.Rules{Unusable: true}
		}
		r.Forbidden = append(r.Forbidden, p)
	}
	return r
}
