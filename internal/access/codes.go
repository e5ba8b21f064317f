package access

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entcode "latchkey.dev/ent/code"
	entgate "latchkey.dev/ent/gate"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/notice"
)

// NewCode is a code to create.
type NewCode struct {
	Kind      CodeKind
	Holder    string
	LockID    string   // of a backup code
	DoorIDs   []string // spaces and gates
	AllRooms  bool
	Hours     []Hours
	NotBefore time.Time // zero: now
	NotAfter  time.Time // zero: no end
	By        string    // the creator
}

const (
	// maxDoors bounds the doors of a code, maxCodes the codes of a property that have not ended.
	maxDoors = 200
	maxCodes = 2000
)

// CreateCode creates a code and sets it on the locks of its doors.
func (rec Reconciler) CreateCode(propertyID string, n NewCode) (*ent.Code, error) {
	if n.NotBefore.IsZero() {
		n.NotBefore = rec.Tx.Now()
	}
	if err := rec.validateCode(propertyID, n); err != nil {
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
	create := rec.Tx.Code.Create().SetID(id.New(CodePrefix)).SetPropertyID(propertyID).SetKind(string(n.Kind)).SetHolder(n.Holder).
		SetLockID(n.LockID).SetDoors(doors).SetAllRooms(n.AllRooms).SetHours(n.Hours).SetNotBefore(n.NotBefore.UTC().Truncate(time.Microsecond)).
		SetCreatedBy(n.By).SetCreatedAt(rec.Tx.Now())
	if !n.NotAfter.IsZero() {
		create.SetNotAfter(n.NotAfter.UTC().Truncate(time.Microsecond))
	}
	c, err := create.Save(rec.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("store a code: %w", err)
	}
	if err := rec.appendCodeEvent(c, event.CodeCreated, map[string]any{"by": n.By}); err != nil {
		return nil, err
	}
	return rec.ReconcileCode(c)
}

// validateCode returns an error with all wrong fields of a new code.
func (rec Reconciler) validateCode(propertyID string, n NewCode) error {
	wrong := checkHours(n.Hours)
	add := func(path string, r fault.Reason, message string) {
		wrong = append(wrong, fault.Field{Path: path, Reason: r, Message: message})
	}
	switch {
	case n.Kind == BackupCode:
	case len(n.DoorIDs) > maxDoors:
		add("doorIds", fault.OutOfRange, fmt.Sprintf("at most %d doors; allRooms means every room", maxDoors))
	case len(n.DoorIDs) == 0 && !n.AllRooms:
		add("doorIds", fault.Required, "is required unless allRooms is true")
	}
	if !n.NotAfter.IsZero() && !n.NotBefore.Before(n.NotAfter) {
		add("notAfter", fault.DatesNotValid, "must be after notBefore")
	}
	if !n.NotAfter.IsZero() && !n.NotAfter.After(rec.Tx.Now()) {
		add("notAfter", fault.DatesNotValid, "must lie ahead")
	}
	if len(wrong) > 0 {
		return fault.Fields(wrong...)
	}
	return rec.checkDoorsExist(propertyID, n.DoorIDs)
}

func (rec Reconciler) checkDoorsExist(propertyID string, doors []string) error {
	names, err := DoorNames(rec.Tx, propertyID, doors)
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

// DoorNames returns the names of doors of a property, by id. Unknown ids are left out.
func DoorNames(tx *db.Tx, propertyID string, doors []string) (map[string]string, error) {
	out := map[string]string{}
	for part := range slices.Chunk(doors, maxDoors) {
		spaces, err := tx.Space.Query().Where(entspace.PropertyID(propertyID), entspace.IDIn(part...)).All(tx.Context())
		if err != nil {
			return nil, fmt.Errorf("load the spaces of a code: %w", err)
		}
		gates, err := tx.Gate.Query().Where(entgate.PropertyID(propertyID), entgate.IDIn(part...)).All(tx.Context())
		if err != nil {
			return nil, fmt.Errorf("load the gates of a code: %w", err)
		}
		for _, s := range spaces {
			out[s.ID] = s.Name
		}
		for _, g := range gates {
			out[g.ID] = g.Name
		}
	}
	return out, nil
}

// CodeRow is a code as stored.
type CodeRow = ent.Code

// CodeFilter narrows and pages a list of codes.
type CodeFilter struct {
	Kind, LockID string // empty: any
	Ended        bool   // include ended codes
	After        string // last id of the previous page
	Limit        int
}

// ListCodes returns the codes of a property, oldest first.
func ListCodes(tx *db.Tx, propertyID string, f CodeFilter) ([]*CodeRow, error) {
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

// GetCode returns a code of the property.
func GetCode(tx *db.Tx, propertyID, codeID string) (*ent.Code, error) {
	c, err := tx.Code.Query().Where(entcode.ID(codeID), entcode.PropertyID(propertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.CodeNotFound, "no such code at this property")
	}
	return c, err
}

// EndCode ends a code for a reason. An ended code stays unchanged.
func (rec Reconciler) EndCode(c *ent.Code, reason, by string) (*ent.Code, error) {
	if c.EndedAt != nil || c.RevokedAt != nil {
		return c, nil
	}
	c, err := rec.Tx.Code.UpdateOne(c).SetRevokedAt(rec.Tx.Now()).SetEndReason(reason).Save(rec.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("end a code: %w", err)
	}
	if err := rec.appendCodeEvent(c, event.CodeEnded, map[string]any{"reason": reason, "by": by}); err != nil {
		return nil, err
	}
	return rec.ReconcileCode(c)
}

// RevealCode decrypts the PIN of a code, and the PINs of doors that have their own, and records who read it. A door whose lock
// takes no possible PIN has none.
func (rec Reconciler) RevealCode(c *ent.Code, by string) (all string, own map[string]string, err error) {
	if c.EndedAt != nil {
		return "", nil, fault.New(fault.Precondition, WindowPast, "this code has ended: it opens no door")
	}
	run, err := rec.newCodeRun(c)
	if err != nil {
		return "", nil, err
	}
	all, own, err = run.decryptPINs()
	if err != nil {
		return "", nil, err
	}
	if err := rec.Tx.Code.UpdateOne(c).SetReadAt(rec.Tx.Now()).SetReadBy(by).Exec(rec.Tx.Context()); err != nil {
		return "", nil, fmt.Errorf("record who read a code: %w", err)
	}
	if err := notice.Settle(rec.Tx, pinReplacedKey(c.ID)); err != nil {
		return "", nil, err
	}
	return all, own, rec.appendCodeEvent(c, event.CodeRead, map[string]any{"by": by})
}

func (run *grantRun) decryptPINs() (all string, own map[string]string, err error) {
	own = map[string]string{}
	if run.pins.shared != nil {
		if all, err = run.pins.decrypt(run.pins.shared); err != nil {
			return "", nil, err
		}
	}
	for door, p := range run.pins.perDoor {
		if own[door], err = run.pins.decrypt(p); err != nil {
			return "", nil, err
		}
	}
	return all, own, nil
}

func (rec Reconciler) appendCodeEvent(c *ent.Code, kind event.Kind, body map[string]any) error {
	return event.Append(rec.Tx, codeEvent(c, kind, body))
}

func codeEvent(c *ent.Code, kind event.Kind, body map[string]any) event.Event {
	body["codeId"], body["kind"] = c.ID, c.Kind
	if c.LockID != "" {
		body["lockId"] = c.LockID
	}
	return event.Event{PropertyID: c.PropertyID, Subject: event.Inside(c.ID), Kind: kind, Body: body}
}
