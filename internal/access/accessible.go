package access

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"latchkey.dev/ent"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/space"
)

// DoorAccess is a door that a grant opens, with its lock. For a grant without a place, Lock does not say whether the bridge is
// connected.
type DoorAccess struct {
	Door
	Row *ent.Lock
}

// AccessibleDoors lists the doors with locks that a grant opens now, in the order of the plan, without doors of inactive spaces.
// A SmartKey of the stay may open these.
func AccessibleDoors(tx *db.Tx, g *ent.Grant) ([]DoorAccess, error) {
	switch {
	case !isLive(g):
		return nil, nil
	case g.SpaceID == "":
		return retainedDoors(tx, g)
	}
	p, err := tx.Property.Get(tx.Context(), g.PropertyID)
	if err != nil {
		return nil, fmt.Errorf("load the property of a grant: %w", err)
	}
	place, err := placeOfGrant(tx, g)
	if err != nil || place.Space == nil {
		return nil, err
	}
	doors, found, err := loadDoors(tx, g.PropertyID, place, p.GatesAlone, tx.Now())
	if err != nil {
		return nil, err
	}
	locks := locksByDoor(found)
	var out []DoorAccess
	for _, d := range doors {
		if d.takesCode() {
			out = append(out, DoorAccess{d, locks[d.ID]})
		}
	}
	return out, nil
}

// retainedDoors lists the doors that a grant without a place retains until it has one: those with a desired code.
func retainedDoors(tx *db.Tx, g *ent.Grant) ([]DoorAccess, error) {
	run := &grantRun{tx: tx, propertyID: g.PropertyID, grant: g}
	held, err := run.loadHeld(nil)
	if err != nil {
		return nil, err
	}
	names, err := run.formerDoors(heldCodes(held), nil, nil)
	if err != nil {
		return nil, err
	}
	var out []DoorAccess
	for _, h := range held {
		l := run.lockByID[h.LockID].lock
		if !h.Present || h.LockMoved || h.TakenOver || l == nil {
			continue
		}
		if d := names[h.DoorID]; d.takesCode() {
			out = append(out, DoorAccess{d, l})
		}
	}
	slices.SortFunc(out, func(a, b DoorAccess) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

func placeOfGrant(tx *db.Tx, g *ent.Grant) (space.Place, error) {
	var place space.Place
	own, err := tx.Space.Query().Where(entspace.ID(g.SpaceID), entspace.PropertyID(g.PropertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return place, nil
	}
	if err != nil {
		return place, fmt.Errorf("load the space of a grant: %w", err)
	}
	place.Space = own
	if own.ParentID == "" {
		return place, nil
	}
	place.Parent, err = tx.Space.Query().Where(entspace.ID(own.ParentID), entspace.PropertyID(g.PropertyID)).Only(tx.Context())
	if err != nil && !ent.IsNotFound(err) {
		return place, fmt.Errorf("load the room of a bed: %w", err)
	}
	return place, nil
}

type keyWaker struct{}

// WithKeyWaker returns a context in which wake is called, after the commit, with each property where access changed, because
// SmartKeys may have to be revoked. wake must not block.
func WithKeyWaker(ctx context.Context, wake func(propertyID string)) context.Context {
	return context.WithValue(ctx, keyWaker{}, wake)
}

func (run *grantRun) wakeSmartKeys() {
	if wake, ok := run.tx.Context().Value(keyWaker{}).(func(string)); ok && !run.isNew {
		run.tx.After(func() { wake(run.propertyID) })
	}
}
