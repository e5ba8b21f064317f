package code

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entcode "latchkey.dev/ent/code"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/notice"
)

// Spec describes a code to create.
type Spec struct {
	Kind      Kind
	Holder    string   // Holder is the name of the person who gets the code; it is stored encrypted
	LockID    string   // LockID is set for a backup code only
	DoorIDs   []string // DoorIDs are spaces and gates
	AllRooms  bool     // AllRooms adds all rooms, dorms and beds, but no gates
	Hours     []Hours
	NotBefore time.Time // NotBefore is now if it is zero
	NotAfter  time.Time // NotAfter is zero if the code has no end
	By        string    // By is the creator, as events name it
}

const (
	// maxDoors limits the doors of a code, maxCodes the active codes of a property.
	maxDoors = 200
	maxCodes = 2000
)

// Create creates a code with its PINs, records an event, and sets the code on the locks of its doors. A full lock is no error. It returns a
// fault if n is invalid (see validate) or the property has maxCodes codes that have not ended.
func Create(rec access.Reconciler, propertyID string, n Spec) (*ent.Code, error) {
	if n.NotBefore.IsZero() {
		n.NotBefore = rec.Tx.Now()
	}
	if err := validate(rec.Tx, propertyID, n); err != nil {
		return nil, err
	}
	live, err := rec.Tx.Code.Query().Where(entcode.PropertyID(propertyID), entcode.EndedAtIsNil()).Count(rec.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("count codes: %w", err)
	}
	if live >= maxCodes {
		return nil, fault.New(fault.Exhausted, fault.TooMany, "a property has at most %d codes; revoke some that are no longer needed", maxCodes)
	}
	doors := slices.Compact(slices.Sorted(slices.Values(n.DoorIDs)))
	if doors == nil {
		doors = []string{}
	}
	if n.Hours == nil {
		n.Hours = []Hours{}
	}
	codeID := id.New(id.Code)
	holder, err := sealHolder(rec, propertyID, codeID, n.Holder)
	if err != nil {
		return nil, err
	}
	create := rec.Tx.Code.Create().SetID(codeID).SetPropertyID(propertyID).SetKind(string(n.Kind)).SetSealedHolder(holder).
		SetLockID(n.LockID).SetDoors(doors).SetAllRooms(n.AllRooms).SetHours(n.Hours).SetNotBefore(n.NotBefore.UTC().Truncate(time.Microsecond)).
		SetCreatedBy(n.By).SetCreatedAt(rec.Tx.Now())
	if !n.NotAfter.IsZero() {
		create.SetNotAfter(n.NotAfter.UTC().Truncate(time.Microsecond))
	}
	c, err := create.Save(rec.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("store a code: %w", err)
	}
	if err := appendEvent(rec.Tx, c, event.CodeCreated, map[string]any{"by": n.By}); err != nil {
		return nil, err
	}
	return Reconcile(rec, c)
}

// validate returns a fault with the invalid fields of a code to create, or a not-found fault for an unknown door. It does not check the
// kind, the holder and the lock.
func validate(tx *db.Tx, propertyID string, n Spec) error {
	wrong := checkHours(n.Hours)
	add := func(path string, r fault.Reason, message string) {
		wrong = append(wrong, fault.Field{Path: path, Reason: r, Message: message})
	}
	switch {
	case n.Kind == Backup:
	case len(n.DoorIDs) > maxDoors:
		add("doorIds", fault.OutOfRange, fmt.Sprintf("at most %d doors; allRooms means every room", maxDoors))
	case len(n.DoorIDs) == 0 && !n.AllRooms:
		add("doorIds", fault.Required, "is required unless allRooms is true")
	}
	if !n.NotAfter.IsZero() && !n.NotBefore.Before(n.NotAfter) {
		add("notAfter", fault.DatesNotValid, "must be after notBefore")
	}
	if !n.NotAfter.IsZero() && !n.NotAfter.After(tx.Now()) {
		add("notAfter", fault.DatesNotValid, "must lie ahead")
	}
	if len(wrong) > 0 {
		return fault.Fields(wrong...)
	}
	return checkDoorsExist(tx, propertyID, n.DoorIDs)
}

// checkDoorsExist returns a not-found fault if a door is not a space or gate of the property.
func checkDoorsExist(tx *db.Tx, propertyID string, doors []string) error {
	names, err := access.DoorNames(tx, propertyID, doors)
	if err != nil {
		return err
	}
	for i, d := range doors {
		if _, ok := names[d]; !ok { // the error does not repeat the value, which may be a PIN in the wrong field
			return fault.New(fault.NotFound, fault.SpaceNotFound, "doorIds[%d] is not a space or gate of this property", i)
		}
	}
	return nil
}

type Row = ent.Code

// Filter selects the codes that [List] returns: without Ended only those that have not ended.
type Filter struct {
	Kind, LockID string // Kind and LockID are empty for any
	Ended        bool   // Ended includes ended codes
	After        string // After is the last id of the previous page; empty for the first
	Limit        int
}

// List returns up to f.Limit codes of a property, oldest first.
func List(tx *db.Tx, propertyID string, f Filter) ([]*Row, error) {
	q := tx.Code.Query().Where(entcode.PropertyID(propertyID))
	if f.Kind != "" {
		q.Where(entcode.Kind(f.Kind))
	}
	if f.LockID != "" {
		q.Where(entcode.LockID(f.LockID))
	}
	if !f.Ended {
		q.Where(entcode.EndedAtIsNil())
	}
	if f.After != "" {
		q.Where(entcode.IDGT(f.After))
	}
	return q.Order(entcode.ByID()).Limit(f.Limit).All(tx.Context())
}

// Get returns a code of a property, or a not-found fault.
func Get(tx *db.Tx, propertyID, codeID string) (*ent.Code, error) {
	c, err := tx.Code.Query().Where(entcode.ID(codeID), entcode.PropertyID(propertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.CodeNotFound, "no such code at this property")
	}
	return c, err
}

// End ends a code, records an event, and removes the code from its locks. It returns the code's new row. reason is one of the End
// constants; by is the person who ends the code. End does nothing if the code has ended already.
func End(rec access.Reconciler, c *ent.Code, reason, by string) (*ent.Code, error) {
	if c.EndedAt != nil || c.RevokedAt != nil {
		return c, nil
	}
	c, err := rec.Tx.Code.UpdateOne(c).SetRevokedAt(rec.Tx.Now()).SetEndReason(reason).Save(rec.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("end a code: %w", err)
	}
	if err := appendEvent(rec.Tx, c, event.CodeEnded, map[string]any{"reason": reason, "by": by}); err != nil {
		return nil, err
	}
	return Reconcile(rec, c)
}

// Reveal decrypts the PINs of a code, and records that the person by has read them. It also resolves the notice of a replaced PIN. shared
// is the PIN for most doors, or ""; own has, by door id, the PINs of doors whose locks do not accept it. A code that has ended is refused
// with a fault.
func Reveal(rec access.Reconciler, c *ent.Code, by string) (shared string, own map[string]string, err error) {
	if c.EndedAt != nil {
		return "", nil, fault.New(fault.Precondition, fault.Reason(access.WindowPast), "this code has ended: it opens no door")
	}
	if shared, own, err = newRun(rec, c, access.Rules{}).RevealPINs(); err != nil {
		return "", nil, err
	}
	if err := rec.Tx.Code.UpdateOne(c).SetReadAt(rec.Tx.Now()).SetReadBy(by).Exec(rec.Tx.Context()); err != nil {
		return "", nil, fmt.Errorf("record who read a code: %w", err)
	}
	if err := notice.Resolve(rec.Tx, c.PropertyID, pinReplacedKey(c.ID)); err != nil {
		return "", nil, err
	}
	return shared, own, appendEvent(rec.Tx, c, event.CodeRead, map[string]any{"by": by})
}

// appendEvent stores an event about a code. It adds the code's id, kind and lock to body.
func appendEvent(tx *db.Tx, c *ent.Code, kind event.Kind, body map[string]any) error {
	return event.Append(tx, eventOf(c, kind, body))
}

// eventOf returns an internal event about a code, which no partner receives. It adds the code's id, kind and lock to body.
func eventOf(c *ent.Code, kind event.Kind, body map[string]any) event.Event {
	body["codeId"], body["kind"] = c.ID, c.Kind
	if c.LockID != "" {
		body["lockId"] = c.LockID
	}
	return event.Event{PropertyID: c.PropertyID, Subject: event.InternalSubject(c.ID), Kind: kind, Body: body}
}
