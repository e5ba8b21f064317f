package access

import (
	"slices"
	"strings"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
)

// DoorAccess is a door that a grant (the access of one stay) opens, with the row of its lock.
type DoorAccess struct {
	Door
	Row *ent.Lock
}

// AccessibleDoors lists the doors with locks that a grant opens, without doors of inactive spaces: the room or bed, its dorm, then gates.
// The gates are missing if no other door is listed, unless the property's setting gatesAlone is on. A grant has its doors already before
// its window begins, and after it until the grant ends; an ended grant, or nil, has none. A grant without a space keeps the doors that have
// its codes, ordered by id. A listed lock may be offline. SmartKeys of the grant open those of the doors whose locks support them.
func AccessibleDoors(tx *db.Tx, g *ent.Grant) ([]DoorAccess, error) {
	if !isLive(g) {
		return nil, nil
	}
	rec := Reconciler{Tx: tx}
	run := rec.newStayRun(g.PropertyID, g.ReservationID, Rules{})
	run.startFrom(g)
	if g.SpaceID == "" {
		return run.retainedDoors()
	}
	var err error
	if run.Rules, err = rec.RulesFor(g.PropertyID); err != nil {
		return nil, err
	}
	if err := run.loadPlace(); err != nil {
		return nil, err
	}
	doors, found, err := loadDoors(tx, g.PropertyID, run.place, run.Rules.GatesAlone)
	if err != nil {
		return nil, err
	}
	run.setDoors(doors, found)
	var out []DoorAccess
	for _, d := range doors {
		if d.takesCode() {
			out = append(out, DoorAccess{d, run.locks[d.Lock.ID].lock})
		}
	}
	return out, nil
}

// retainedDoors lists the doors, with their locks, that a grant keeps while its reservation has no space: the doors with a desired code,
// ordered by id. It omits inactive doors, doors that another reservation took over, and doors whose lock was moved.
func (run *stayRun) retainedDoors() ([]DoorAccess, error) {
	if err := run.LoadCodes(); err != nil {
		return nil, err
	}
	if err := run.markTakenOver(); err != nil {
		return nil, err
	}
	names, err := run.loadFormerDoors(slotCodes(run.codes), nil)
	if err != nil {
		return nil, err
	}
	var out []DoorAccess
	for _, h := range run.codes {
		l := run.locks[h.LockID].lock
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

// Changed is the topic of notifications that access may have changed or phones were revoked, so that SmartKeys may have to be revoked. The
// key is the property's id.
const Changed db.Topic = "access.changed"
