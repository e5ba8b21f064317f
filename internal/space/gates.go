package space

import (
	"fmt"
	"slices"
	"strings"

	"latchkey.dev/ent"
	"latchkey.dev/ent/gate"
	"latchkey.dev/ent/predicate"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/watch"
)

// GateDraft is a gate to create. A gate is a door that several spaces share, such as the front door.
type GateDraft struct {
	Name     string
	Floor    string
	SpaceIDs []string // SpaceIDs are the spaces whose guests may pass the gate; empty means all spaces
}

// GateChange is a change of a gate, a door that several spaces share. Nil leaves a field unchanged. An empty list of spaces means all
// spaces.
type GateChange struct {
	Name     *string
	Floor    *string
	SpaceIDs *[]string
}

// GateFilter selects gates; an empty Floor selects those of all floors.
type GateFilter struct {
	Floor string
	Page
}

// GateRow is a stored gate.
type GateRow = ent.Gate

// CreateGate creates a gate, a door that several spaces share. Without spaces in d, all spaces share it. It returns the reservations whose
// access the caller must plan again. It refuses an invalid name or floor, a name that another gate of the property has, unknown spaces,
// more than maxGates spaces, and more than maxGates gates.
func CreateGate(tx *db.Tx, propertyID string, d GateDraft) (*ent.Gate, AffectedStays, error) {
	d.Name, d.Floor, d.SpaceIDs = strings.TrimSpace(d.Name), strings.TrimSpace(d.Floor), unique(d.SpaceIDs)
	if err := checkGate(tx, propertyID, "", d); err != nil {
		return nil, AffectedStays{}, err
	}
	n, err := tx.Gate.Query().Where(gate.PropertyID(propertyID)).Aggregate(ent.Count()).Int(tx.Context())
	if err != nil {
		return nil, AffectedStays{}, fmt.Errorf("count gates: %w", err)
	}
	if n >= maxGates {
		return nil, AffectedStays{}, fault.New(fault.Exhausted, fault.TooMany, "the property already has %d gates, which is the maximum", n)
	}
	g, err := tx.Gate.Create().SetID(id.New(id.Gate)).SetPropertyID(propertyID).SetName(d.Name).SetFloor(d.Floor).
		SetSpaceIds(d.SpaceIDs).SetCreatedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return nil, AffectedStays{}, fmt.Errorf("store a gate: %w", err)
	}
	watch.Notify(tx, propertyID, watch.Spaces, g.ID)
	touched, err := staysAtGate(tx, propertyID, g.SpaceIds)
	return g, touched, err
}

// UpdateGate changes a gate (a shared door). It returns the reservations of its former and new spaces, whose access the caller must plan
// again. It refuses an unknown gate, invalid texts, a name that another gate has, unknown spaces, and more than maxGates of them.
func UpdateGate(tx *db.Tx, propertyID, gateID string, c GateChange) (*ent.Gate, AffectedStays, error) {
	g, err := GetGate(tx, propertyID, gateID)
	if err != nil {
		return nil, AffectedStays{}, err
	}
	d := GateDraft{
		Name: strings.TrimSpace(valueOr(c.Name, g.Name)), Floor: strings.TrimSpace(valueOr(c.Floor, g.Floor)), SpaceIDs: unique(valueOr(c.SpaceIDs, g.SpaceIds)),
	}
	if err := checkGate(tx, propertyID, g.ID, d); err != nil {
		return nil, AffectedStays{}, err
	}
	before, err := staysAtGate(tx, propertyID, g.SpaceIds)
	if err != nil {
		return nil, AffectedStays{}, err
	}
	g, err = tx.Gate.UpdateOneID(g.ID).SetName(d.Name).SetFloor(d.Floor).SetSpaceIds(d.SpaceIDs).Save(tx.Context())
	if err != nil {
		return nil, AffectedStays{}, fmt.Errorf("store a gate: %w", err)
	}
	watch.Notify(tx, propertyID, watch.Spaces, g.ID)
	now, err := staysAtGate(tx, propertyID, g.SpaceIds)
	return g, before.Union(now), err
}

// DeleteGate deletes a gate (a shared door), and returns the reservations whose access the caller must plan again. It returns a fault if
// the gate is unknown or has a lock.
func DeleteGate(tx *db.Tx, propertyID, gateID string) (AffectedStays, error) {
	g, err := GetGate(tx, propertyID, gateID)
	if err != nil {
		return AffectedStays{}, err
	}
	if err := refuseIfLocked(tx, propertyID, g.ID, g.Name); err != nil {
		return AffectedStays{}, err
	}
	touched, err := staysAtGate(tx, propertyID, g.SpaceIds)
	if err != nil {
		return AffectedStays{}, err
	}
	if err := tx.Gate.DeleteOneID(g.ID).Exec(tx.Context()); err != nil {
		return AffectedStays{}, fmt.Errorf("delete a gate: %w", err)
	}
	watch.Notify(tx, propertyID, watch.Spaces, g.ID)
	return touched, nil
}

// GetGate returns one gate (a shared door) of a property, or a not-found fault.
func GetGate(tx *db.Tx, propertyID, gateID string) (*ent.Gate, error) {
	g, err := tx.Gate.Query().Where(gate.PropertyID(propertyID), gate.ID(gateID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.GateNotFound, "no such gate at this property")
	}
	if err != nil {
		return nil, fmt.Errorf("load a gate: %w", err)
	}
	return g, nil
}

// ListGates returns one page of the gates (shared doors) of a property, ordered by name, and the total number that f selects.
func ListGates(tx *db.Tx, propertyID string, f GateFilter) ([]*ent.Gate, int, error) {
	where := []predicate.Gate{gate.PropertyID(propertyID)}
	if f.Floor != "" {
		where = append(where, gate.Floor(f.Floor))
	}
	total, err := tx.Gate.Query().Where(where...).Aggregate(ent.Count()).Int(tx.Context())
	if err != nil {
		return nil, 0, fmt.Errorf("count gates: %w", err)
	}
	limit, offset := f.limitAndOffset()
	list, err := tx.Gate.Query().Where(where...).Order(gate.ByName(), gate.ByID()).Limit(limit).Offset(offset).All(tx.Context())
	if err != nil {
		return nil, 0, fmt.Errorf("list gates: %w", err)
	}
	return list, total, nil
}

// checkGate returns a fault if the fields of a gate are invalid, a space is unknown, the gate has more than maxGates spaces, or another
// gate has its name. exceptID is the id of the gate that is changed, or empty for a new one.
func checkGate(tx *db.Tx, propertyID, exceptID string, d GateDraft) error {
	wrong := checkTexts(d.Name, d.Floor)
	if len(d.SpaceIDs) > maxGates {
		wrong = append(wrong, fault.Field{Path: "spaceIds", Reason: fault.TooMany, Message: fmt.Sprintf("must not have more than %d entries; leave it empty for all spaces", maxGates)})
	}
	if len(wrong) > 0 {
		return fault.Fields(wrong...)
	}
	known, err := tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.IDIn(d.SpaceIDs...)).IDs(tx.Context())
	if err != nil {
		return fmt.Errorf("load the spaces of a gate: %w", err)
	}
	for i, s := range d.SpaceIDs {
		if !slices.Contains(known, s) {
			wrong = append(wrong, fault.Field{Path: fmt.Sprintf("spaceIds[%d]", i), Reason: fault.SpaceNotFound, Message: "no space of this property has this id"})
		}
	}
	if len(wrong) > 0 {
		return fault.Fields(wrong...)
	}
	taken, err := tx.Gate.Query().Where(gate.PropertyID(propertyID), gate.Name(d.Name), gate.IDNEQ(exceptID)).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("check for a gate of the same name: %w", err)
	}
	if taken {
		return fault.New(fault.Exists, fault.AlreadyExists, "another gate is already called %q; choose another name", d.Name)
	}
	return nil
}

// unique removes duplicates and keeps the order. It never returns nil, because the column must not be null.
func unique(list []string) []string {
	seen, all := make(map[string]bool, len(list)), make([]string, 0, len(list))
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			all = append(all, s)
		}
	}
	return all
}
