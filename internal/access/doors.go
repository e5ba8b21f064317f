package access

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access/pin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// planTables are the tables that decide the doors of a stay. They change seldom, and each change of a reservation reads them, so
// answers from them are cached.
var planTables = []string{"spaces", "mappings", "partner_spaces", "gates", "locks", "bridges"}

// resolvePlace returns the space that a stay is in, or the reason why there is none.
func resolvePlace(tx *db.Tx, r space.Request) (space.Place, string, error) {
	type answer struct {
		place    space.Place
		unplaced string
	}
	a, err := db.Cached(tx, planTables, r, func() (a answer, err error) {
		a.place, a.unplaced, err = space.Resolve(tx.Brief(), tx.Client, r)
		return a, err
	})
	return a.place, a.unplaced, err
}

// cachedLocks is loadLocks with a cache.
func cachedLocks(tx *db.Tx, propertyID string, p space.Place) ([]installedLock, error) {
	type place struct{ property, space, parent string }
	key := place{property: propertyID, space: p.Space.ID}
	if p.Parent != nil {
		key.parent = p.Parent.ID
	}
	return db.Cached(tx, planTables, key, func() ([]installedLock, error) { return loadLocks(tx.Brief(), tx.Client, propertyID, p) })
}

// isPrivate reports whether one party at a time holds a space. A bed is private even if its dorm is shared.
func isPrivate(s *ent.Space) bool { return s != nil && (s.IsPrivate || s.Type == space.Bed) }

// loadDoors returns the doors of a place: the room or bed, the dorm of a bed, and the gates that let its guests in. Gates follow
// the lock of the room or bed unless the property grants gates alone. It also returns all locks it found, for locksByDoor.
func loadDoors(tx *db.Tx, propertyID string, p space.Place, gatesAlone bool, now time.Time) ([]Door, []installedLock, error) {
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
		doors[0].Inactive = doors[0].Inactive || doors[1].Inactive
	}
	for _, f := range found {
		id := *f.lock.DoorID
		i := slices.IndexFunc(doors, func(d Door) bool { return d.ID == id })
		switch {
		case i >= 0:
			doors[i].Lock = f.toLock(now)
		case f.gate.ID != "" && serves(f.gate, p):
			doors = append(doors, Door{ID: id, Name: f.gate.Name, Kind: Gate, Lock: f.toLock(now)})
		}
	}
	return plannedDoors(doors, gatesAlone), found, nil
}

// locksByDoor copies locks, by door, so that the cached ones stay unchanged.
func locksByDoor(found []installedLock) map[string]*ent.Lock {
	locks := make(map[string]*ent.Lock, len(found))
	for _, f := range found {
		own := *f.lock
		locks[*f.lock.DoorID] = &own
	}
	return locks
}

func spaceDoor(s *ent.Space) Door {
	d := Door{ID: s.ID, Name: s.Name, Kind: Room, Inactive: !s.IsActive}
	if s.Type == space.Bed {
		d.Kind = Bed
	}
	return d
}

// serves reports whether a gate lets the guests of a place in. A gate without spaces lets all guests in.
func serves(g ent.Gate, p space.Place) bool {
	return len(g.SpaceIds) == 0 || slices.Contains(g.SpaceIds, p.Space.ID) || p.Parent != nil && slices.Contains(g.SpaceIds, p.Parent.ID)
}

// plannedDoors leaves out the doors that a plan does not mention: a bed without a lock in a dorm with one, a dorm without a lock
// around a bed with one, and all gates if no own door can be opened.
func plannedDoors(doors []Door, gatesAlone bool) []Door {
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

// installedLock is a lock on a door with its bridge and, if the door is a gate, the gate.
type installedLock struct {
	lock   *ent.Lock
	bridge *ent.Bridge // nil: none
	gate   ent.Gate
}

func (f installedLock) toLock(now time.Time) *Lock {
	c := f.lock.Capabilities
	out := &Lock{
		ID: f.lock.ID, ReadBack: c.ReadBack, SmartKey: c.RemoteUnlock, Online: lock.IsOnline(f.lock, f.bridge, now), Jammed: lock.IsJammed(f.lock),
		PIN: pinRules(c), Guessable: lock.Guessable(c, f.lock.Status),
	}
	switch {
	case f.bridge == nil:
		out.Bridge = lock.NoBridge
	case f.bridge.RevokedAt != nil:
		out.Bridge = lock.BridgeRevoked
	}
	return out
}

// pinRules returns the rules for PINs of a lock with these capabilities.
func pinRules(c slot.Capabilities) pin.Rules {
	r := pin.Rules{Min: c.PINMin, Max: c.PINMax, Alphabet: c.Alphabet, Prefixes: c.ForbiddenPrefixes}
	for _, source := range c.ForbiddenPatterns {
		p, err := slot.CompilePattern(source)
		if err != nil { // patterns are checked when a bridge reports them; an unreadable one forbids every PIN
			return pin.Rules{Unusable: true}
		}
		r.Forbidden = append(r.Forbidden, p)
	}
	return r
}

// installedLocksQuery replaces three queries of ent, because each change of a reservation runs it. With CROSS JOIN, SQLite starts
// from the doors and finds their locks by the unique index; otherwise it reads every lock of the property.
const installedLocksQuery = `WITH doors (id, gate, name, space_ids) AS (
		SELECT id, id, name, space_ids FROM gates WHERE property_id = $1
		UNION ALL SELECT CAST($2 AS VARCHAR(40)), NULL, NULL, NULL
		UNION ALL SELECT CAST($3 AS VARCHAR(40)), NULL, NULL, NULL)
	SELECT l.id, l.name, l.kind, l.bridge_id, l.address, l.door_id, l.capabilities, l.status, l.generation,
		b.id, b.online, b.last_seen_at, b.revoked_at, d.gate, d.name, d.space_ids
	FROM doors AS d CROSS JOIN locks AS l
	LEFT JOIN bridges AS b ON b.id = l.bridge_id AND b.property_id = l.property_id
	WHERE l.door_id = d.id AND l.property_id = $1`

// loadLocks lists the locks on the own doors of a place and on all gates of its property.
func loadLocks(ctx context.Context, c *ent.Client, propertyID string, p space.Place) ([]installedLock, error) {
	parent := "" // matches no lock
	if p.Parent != nil {
		parent = p.Parent.ID
	}
	rows, err := c.QueryContext(ctx, installedLocksQuery, propertyID, p.Space.ID, parent)
	if err != nil {
		return nil, fmt.Errorf("list the locks of a place: %w", err)
	}
	defer rows.Close()
	var out []installedLock
	for rows.Next() {
		f, err := scanLock(rows, propertyID)
		if err != nil {
			return nil, fmt.Errorf("list the locks of a place: %w", err)
		}
		out = append(out, f)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the locks of a place: %w", err)
	}
	slices.SortFunc(out, func(a, b installedLock) int { return strings.Compare(*a.lock.DoorID, *b.lock.DoorID) })
	return out, nil
}

func scanLock(rows *sql.Rows, propertyID string) (installedLock, error) {
	f := installedLock{lock: &ent.Lock{PropertyID: propertyID}}
	var capabilities, status, spaces []byte
	var bridge, gate, gateName sql.NullString
	var online sql.NullBool
	var seen, revoked sql.NullTime
	l := f.lock
	err := rows.Scan(&l.ID, &l.Name, &l.Kind, &l.BridgeID, &l.Address, &l.DoorID, &capabilities, &status, &l.Generation,
		&bridge, &online, &seen, &revoked, &gate, &gateName, &spaces)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(capabilities, &l.Capabilities); err != nil {
		return f, err
	}
	if err := json.Unmarshal(status, &l.Status); err != nil {
		return f, err
	}
	if bridge.Valid {
		f.bridge = &ent.Bridge{ID: bridge.String, PropertyID: propertyID, Online: online.Bool, LastSeenAt: timeOrNil(seen), RevokedAt: timeOrNil(revoked)}
	}
	if gate.Valid {
		f.gate = ent.Gate{ID: gate.String, Name: gateName.String}
		err = json.Unmarshal(spaces, &f.gate.SpaceIds)
	}
	return f, err
}

func timeOrNil(t sql.NullTime) *time.Time {
	if !t.Valid {
		return nil
	}
	return &t.Time
}
