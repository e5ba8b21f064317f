package space

import (
	"fmt"
	"strings"

	"latchkey.dev/ent"
	"latchkey.dev/ent/gate"
	"latchkey.dev/ent/lock"
	"latchkey.dev/ent/mapping"
	"latchkey.dev/ent/predicate"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/text"
	"latchkey.dev/internal/watch"
)

// The maximum numbers of spaces and gates of a property. maxGates also limits the spaces that one gate names.
const (
	maxSpaces = 10_000
	maxGates  = 1_000
)

// Row is a stored space.
type Row = ent.Space

// Page selects a page of a list. Limit is 1 to 200, and 0 means 50. Number counts from 0.
type Page struct{ Limit, Number int }

// limitAndOffset returns the page for a query. It cuts values that are out of range to the nearest allowed ones. A Limit of 0 or below
// means 50.
func (p Page) limitAndOffset() (limit, offset int) {
	limit = min(max(p.Limit, 0), 200)
	if limit == 0 {
		limit = 50
	}
	return limit, limit * min(max(p.Number, 0), 1_000_000)
}

// Draft is a space to create.
type Draft struct {
	Type      string // Type is Room, Bed or Dorm
	Name      string
	Floor     string
	ParentID  string // ParentID is the dorm of a bed; empty for other types
	IsPrivate *bool  // IsPrivate, if nil, means true for a room and false for a bed or dorm
}

// Change is a change of a space; nil leaves a field unchanged. A bed cannot become another type, nor another type a bed.
type Change struct {
	Type      *string
	Name      *string
	Floor     *string
	ParentID  *string
	IsPrivate *bool
	IsActive  *bool
}

// Filter filters a list of spaces; an empty field matches all.
type Filter struct {
	Type, Floor, ParentID string
	Page
}

// Create creates a space, which is active. It refuses invalid fields, a bed without a dorm of the property, a name that another room or
// dorm, or another bed of the same dorm, already has, and more than maxSpaces spaces.
func Create(tx *db.Tx, propertyID string, d Draft) (*ent.Space, error) {
	d.Name, d.Floor = strings.TrimSpace(d.Name), strings.TrimSpace(d.Floor)
	wrong := checkTexts(d.Name, d.Floor)
	if !ValidType(d.Type) {
		wrong = append(wrong, fault.Field{Path: "type", Reason: fault.WrongValue, Message: "must be Room, Bed or Dorm"})
	}
	if d.Type == Bed && d.ParentID == "" {
		wrong = append(wrong, fault.Field{Path: "parentSpaceId", Reason: fault.Required, Message: "is required for a bed: the id of its dorm"})
	}
	if d.Type != Bed && d.ParentID != "" {
		wrong = append(wrong, fault.Field{Path: "parentSpaceId", Reason: fault.Conflicting, Message: "is allowed for a bed only"})
	}
	if len(wrong) > 0 {
		return nil, fault.Fields(wrong...)
	}
	n, err := tx.Space.Query().Where(entspace.PropertyID(propertyID)).Aggregate(ent.Count()).Int(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("count spaces: %w", err)
	}
	if n >= maxSpaces {
		return nil, fault.New(fault.Exhausted, fault.TooMany, "the property already has %d spaces, which is the maximum", n)
	}
	if err := checkParent(tx, propertyID, d.ParentID); err != nil {
		return nil, err
	}
	if err := checkName(tx, propertyID, d.Name, d.ParentID, ""); err != nil {
		return nil, err
	}
	private := d.Type == Room
	if d.IsPrivate != nil {
		private = *d.IsPrivate
	}
	s, err := tx.Space.Create().SetID(id.New(id.Space)).SetPropertyID(propertyID).SetType(d.Type).SetName(d.Name).SetFloor(d.Floor).
		SetParentID(d.ParentID).SetIsPrivate(private).SetIsActive(true).SetCreatedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("store a space: %w", err)
	}
	watch.Notify(tx, propertyID, watch.Spaces, s.ID)
	return s, nil
}

// Update changes a space and returns the reservations whose access the caller must plan again. It refuses an unknown space, invalid fields,
// a bed without a dorm of the property, a name that is taken, as [Create] does, to make a dorm with beds a room, and to make a bed another
// type or the reverse.
func Update(tx *db.Tx, propertyID, spaceID string, c Change) (*ent.Space, AffectedStays, error) {
	s, err := Get(tx, propertyID, spaceID)
	if err != nil {
		return nil, AffectedStays{}, err
	}
	name, floor, parent, kind := strings.TrimSpace(valueOr(c.Name, s.Name)), strings.TrimSpace(valueOr(c.Floor, s.Floor)), valueOr(c.ParentID, s.ParentID), valueOr(c.Type, s.Type)
	wrong := checkTexts(name, floor)
	if !ValidType(kind) || (kind == Bed) != (s.Type == Bed) {
		wrong = append(wrong, fault.Field{Path: "type", Reason: fault.WrongValue, Message: "must be Room or Dorm for a room or dorm, and Bed for a bed"})
	}
	if (s.Type == Bed) == (parent == "") {
		wrong = append(wrong, fault.Field{Path: "parentSpaceId", Reason: fault.Conflicting, Message: "is required for a bed and not allowed for other types"})
	}
	if len(wrong) > 0 {
		return nil, AffectedStays{}, fault.Fields(wrong...)
	}
	if kind == Room && s.Type == Dorm {
		if err := refuseIfBeds(tx, propertyID, s); err != nil {
			return nil, AffectedStays{}, err
		}
	}
	if parent != s.ParentID {
		if err := checkParent(tx, propertyID, parent); err != nil {
			return nil, AffectedStays{}, err
		}
	}
	if name != s.Name || parent != s.ParentID {
		if err := checkName(tx, propertyID, name, parent, s.ID); err != nil {
			return nil, AffectedStays{}, err
		}
	}
	s, err = tx.Space.UpdateOneID(s.ID).SetType(kind).SetName(name).SetFloor(floor).SetParentID(parent).
		SetIsPrivate(valueOr(c.IsPrivate, s.IsPrivate)).SetIsActive(valueOr(c.IsActive, s.IsActive)).Save(tx.Context())
	if err != nil {
		return nil, AffectedStays{}, fmt.Errorf("store a space: %w", err)
	}
	watch.Notify(tx, propertyID, watch.Spaces, s.ID)
	touched, err := staysInSpaces(tx, propertyID, s.ID)
	return s, touched, err
}

// Delete deletes a space, removes it from the gates (shared doors) that list it, and returns the reservations whose access the caller must
// plan again. It returns a fault if the space is unknown, has beds, a lock or a mapping, or is the only one of a gate.
func Delete(tx *db.Tx, propertyID, spaceID string) (AffectedStays, error) {
	s, err := Get(tx, propertyID, spaceID)
	if err != nil {
		return AffectedStays{}, err
	}
	if err := refuseIfBeds(tx, propertyID, s); err != nil {
		return AffectedStays{}, err
	}
	if err := refuseIfLocked(tx, propertyID, s.ID, s.Name); err != nil {
		return AffectedStays{}, err
	}
	mapped, err := tx.Mapping.Query().Where(mapping.PropertyID(propertyID), mapping.SpaceID(s.ID)).Exist(tx.Context())
	if err != nil {
		return AffectedStays{}, fmt.Errorf("check for mappings: %w", err)
	}
	if mapped {
		return AffectedStays{}, fault.New(fault.Precondition, fault.InUse, "%q is mapped to a partner's space; unmap it first", s.Name)
	}
	touched, err := removeFromGates(tx, propertyID, s.ID)
	if err != nil {
		return AffectedStays{}, err
	}
	if err := tx.Space.DeleteOneID(s.ID).Exec(tx.Context()); err != nil {
		return AffectedStays{}, fmt.Errorf("delete a space: %w", err)
	}
	watch.Notify(tx, propertyID, watch.Spaces, s.ID)
	return touched, nil
}

// removeFromGates removes a space from the gates (shared doors) that list it, and selects the reservations of the space. It returns a fault
// if a gate lists only this space, because an empty list would mean all spaces.
func removeFromGates(tx *db.Tx, propertyID, spaceID string) (AffectedStays, error) {
	gates, err := tx.Gate.Query().Where(gate.PropertyID(propertyID)).All(tx.Context())
	if err != nil {
		return AffectedStays{}, fmt.Errorf("list gates: %w", err)
	}
	for _, g := range gates {
		rest := without(g.SpaceIds, spaceID)
		if len(rest) == len(g.SpaceIds) {
			continue
		}
		if len(rest) == 0 {
			return AffectedStays{}, fault.New(fault.Precondition, fault.InUse, "the gate %q serves only this space, and would serve all without it; change the gate first", g.Name)
		}
		if err := tx.Gate.UpdateOneID(g.ID).SetSpaceIds(rest).Exec(tx.Context()); err != nil {
			return AffectedStays{}, fmt.Errorf("store a gate: %w", err)
		}
		watch.Notify(tx, propertyID, watch.Spaces, g.ID)
	}
	return AffectedStays{SpaceIDs: []string{spaceID}}, nil
}

// Get returns one space of a property, or a not-found fault.
func Get(tx *db.Tx, propertyID, spaceID string) (*ent.Space, error) {
	s, err := tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.ID(spaceID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.SpaceNotFound, "no such space at this property")
	}
	if err != nil {
		return nil, fmt.Errorf("load a space: %w", err)
	}
	return s, nil
}

// List returns one page of the spaces of a property, by name, and the total number that f selects.
func List(tx *db.Tx, propertyID string, f Filter) ([]*ent.Space, int, error) {
	where := []predicate.Space{entspace.PropertyID(propertyID)}
	if f.Type != "" {
		where = append(where, entspace.Type(f.Type))
	}
	if f.Floor != "" {
		where = append(where, entspace.Floor(f.Floor))
	}
	if f.ParentID != "" {
		where = append(where, entspace.ParentID(f.ParentID))
	}
	total, err := tx.Space.Query().Where(where...).Aggregate(ent.Count()).Int(tx.Context())
	if err != nil {
		return nil, 0, fmt.Errorf("count spaces: %w", err)
	}
	limit, offset := f.limitAndOffset()
	list, err := tx.Space.Query().Where(where...).Order(entspace.ByName(), entspace.ByID()).Limit(limit).Offset(offset).All(tx.Context())
	if err != nil {
		return nil, 0, fmt.Errorf("list spaces: %w", err)
	}
	return list, total, nil
}

// checkParent returns a fault if the parent of a bed is not a dorm of the property. An empty parent is valid.
func checkParent(tx *db.Tx, propertyID, parentID string) error {
	if parentID == "" {
		return nil
	}
	dorm, err := tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.ID(parentID), entspace.Type(Dorm)).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("load the dorm of a bed: %w", err)
	}
	if !dorm {
		return fault.Fields(fault.Field{Path: "parentSpaceId", Reason: fault.SpaceNotFound, Message: "no dorm of this property has this id"})
	}
	return nil
}

// checkName returns a fault if another space with the same parent has the name. exceptID is the id of the space that is
// changed, or empty for a new one.
func checkName(tx *db.Tx, propertyID, name, parentID, exceptID string) error {
	taken, err := tx.Space.Query().
		Where(entspace.PropertyID(propertyID), entspace.Name(name), entspace.ParentID(parentID), entspace.IDNEQ(exceptID)).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("check for a space of the same name: %w", err)
	}
	if taken {
		return fault.New(fault.Exists, fault.AlreadyExists, "another space here is called %q; choose another name", name)
	}
	return nil
}

// refuseIfBeds returns a fault if a dorm has beds: then it must not be deleted or get another type.
func refuseIfBeds(tx *db.Tx, propertyID string, s *ent.Space) error {
	beds, err := tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.ParentID(s.ID)).Aggregate(ent.Count()).Int(tx.Context())
	if err != nil {
		return fmt.Errorf("count beds: %w", err)
	}
	if beds > 0 {
		return fault.New(fault.Precondition, fault.InUse, "%q has %d beds; delete or move them first", s.Name, beds)
	}
	return nil
}

// refuseIfLocked returns a fault if a space or gate has a lock: then it must not be deleted.
func refuseIfLocked(tx *db.Tx, propertyID, doorID, name string) error {
	locked, err := tx.Lock.Query().Where(lock.PropertyID(propertyID), lock.DoorID(doorID)).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("check for a lock: %w", err)
	}
	if locked {
		return fault.New(fault.Precondition, fault.InUse, "%q has a lock; remove the lock from it first", name)
	}
	return nil
}

// checkTexts returns the errors in the name and the floor of a space or gate.
func checkTexts(name, floor string) []fault.Field {
	var wrong []fault.Field
	if name == "" {
		wrong = append(wrong, fault.Field{Path: "name", Reason: fault.Required, Message: "must not be empty"})
	}
	for _, f := range []struct {
		path, value string
		most        int
	}{{"name", name, maxName}, {"floor", floor, maxFloor}} {
		if len(f.value) > f.most {
			wrong = append(wrong, fault.Field{Path: f.path, Reason: fault.TooLong, Message: fmt.Sprintf("must not be longer than %d bytes", f.most)})
		}
		if p := text.Problem(f.value); p != "" {
			wrong = append(wrong, fault.Field{Path: f.path, Reason: fault.NotPrintable, Message: p})
		}
	}
	return wrong
}

// valueOr returns the value of a pointer, or otherwise if it is nil.
func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// without returns a copy of list without the entries that equal gone.
func without(list []string, gone string) []string {
	rest := make([]string, 0, len(list))
	for _, s := range list {
		if s != gone {
			rest = append(rest, s)
		}
	}
	return rest
}
