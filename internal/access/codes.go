package access

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent"
	entcode "latchkey.dev/ent/code"
	entgate "latchkey.dev/ent/gate"
	entlock "latchkey.dev/ent/lock"
	entpin "latchkey.dev/ent/pin"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/staff"
)

// NewCode is a code to make.
type NewCode struct {
	Kind      CodeKind
	Holder    string
	LockID    string   // of a backup code
	DoorIDs   []string // spaces and gates
	AllRooms  bool
	Hours     []Hours
	NotBefore time.Time // zero: now
	NotAfter  time.Time // zero: no end
	By        string    // who makes it
}

// mostDoors bounds the doors that a code names, mostCodes the codes of a property that are not over.
const (
	mostDoors = 200
	mostCodes = 2000
)

// CreateCode makes a code and has the locks of its doors take it.
func (w Settler) CreateCode(propertyID string, n NewCode) (*ent.Code, error) {
	if n.NotBefore.IsZero() {
		n.NotBefore = w.Tx.Now()
	}
	if err := w.checkCode(propertyID, n); err != nil {
		return nil, err
	}
	live, err := w.Tx.Code.Query().Where(entcode.PropertyID(propertyID), entcode.EndedAtIsNil()).Count(w.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("count codes: %w", err)
	}
	if live >= mostCodes {
		return nil, fault.New(fault.Exhausted, fault.TooMany, "a property has at most %d codes; revoke some that nobody needs", mostCodes)
	}
	doors := slices.Compact(slices.Sorted(slices.Values(n.DoorIDs)))
	if doors == nil {
		doors = []string{}
	}
	if n.Hours == nil {
		n.Hours = []Hours{}
	}
	create := w.Tx.Code.Create().SetID(id.New(CodePrefix)).SetPropertyID(propertyID).SetKind(string(n.Kind)).SetHolder(n.Holder).
		SetLockID(n.LockID).SetDoors(doors).SetAllRooms(n.AllRooms).SetHours(n.Hours).SetNotBefore(n.NotBefore.UTC().Truncate(time.Microsecond)).
		SetCreatedBy(n.By).SetCreatedAt(w.Tx.Now())
	if !n.NotAfter.IsZero() {
		create.SetNotAfter(n.NotAfter.UTC().Truncate(time.Microsecond))
	}
	c, err := create.Save(w.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("store a code: %w", err)
	}
	if err := w.tellCode(c, event.CodeCreated, map[string]any{"by": n.By}); err != nil {
		return nil, err
	}
	return w.SettleCode(c)
}

// checkCode names what is wrong with a code to make.
func (w Settler) checkCode(propertyID string, n NewCode) error {
	wrong := checkHours(n.Hours)
	add := func(path string, r fault.Reason, message string) {
		wrong = append(wrong, fault.Field{Path: path, Reason: r, Message: message})
	}
	switch {
	case n.Kind == BackupCode:
	case len(n.DoorIDs) > mostDoors:
		add("doorIds", fault.OutOfRange, fmt.Sprintf("at most %d doors; allRooms means every room", mostDoors))
	case len(n.DoorIDs) == 0 && !n.AllRooms:
		add("doorIds", fault.Required, "name some doors, or say allRooms")
	}
	if !n.NotAfter.IsZero() && !n.NotBefore.Before(n.NotAfter) {
		add("notAfter", fault.DatesNotValid, "must be after notBefore")
	}
	if !n.NotAfter.IsZero() && !n.NotAfter.After(w.Tx.Now()) {
		add("notAfter", fault.DatesNotValid, "must lie ahead")
	}
	if len(wrong) > 0 {
		return fault.Fields(wrong...)
	}
	return w.doorsExist(propertyID, n.DoorIDs)
}

func (w Settler) doorsExist(propertyID string, doors []string) error {
	names, err := DoorNames(w.Tx, propertyID, doors)
	if err != nil {
		return err
	}
	for _, d := range doors {
		if _, ok := names[d]; !ok {
			return fault.New(fault.NotFound, fault.SpaceNotFound, "no space or gate %s at this property", d)
		}
	}
	return nil
}

// DoorNames is what doors of a property are called, by id; those it does not have are left out.
func DoorNames(tx *db.Tx, propertyID string, doors []string) (map[string]string, error) {
	out := map[string]string{}
	for part := range slices.Chunk(doors, mostDoors) {
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

// GetCode finds a code of the property.
func GetCode(tx *db.Tx, propertyID, codeID string) (*ent.Code, error) {
	c, err := tx.Code.Query().Where(entcode.ID(codeID), entcode.PropertyID(propertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.CodeNotFound, "no code %s at this property", codeID)
	}
	return c, err
}

// EndCode ends a code for good, for a reason. One that is over stays as it is.
func (w Settler) EndCode(c *ent.Code, reason, by string) (*ent.Code, error) {
	if c.EndedAt != nil || c.RevokedAt != nil {
		return c, nil
	}
	c, err := w.Tx.Code.UpdateOne(c).SetRevokedAt(w.Tx.Now()).SetEndReason(reason).Save(w.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("end a code: %w", err)
	}
	if err := w.tellCode(c, event.CodeEnded, map[string]any{"reason": reason, "by": by}); err != nil {
		return nil, err
	}
	return w.SettleCode(c)
}

// RevealCode opens the PIN of a code at each door, and writes down who read it. A door whose lock takes no PIN of the
// property has none.
func (w Settler) RevealCode(c *ent.Code, by string) (all string, own map[string]string, err error) {
	if c.EndedAt != nil {
		return "", nil, fault.New(fault.Precondition, fault.WindowPast, "this code is over: it opens nothing")
	}
	run, err := w.coded(c)
	if err != nil {
		return "", nil, err
	}
	all, own, err = run.shownPINs()
	if err != nil {
		return "", nil, err
	}
	if err := w.Tx.Code.UpdateOne(c).SetReadAt(w.Tx.Now()).SetReadBy(by).Exec(w.Tx.Context()); err != nil {
		return "", nil, fmt.Errorf("note who read a code: %w", err)
	}
	return all, own, w.tellCode(c, event.CodeRead, map[string]any{"by": by})
}

func (r *work) shownPINs() (all string, own map[string]string, err error) {
	own = map[string]string{}
	if r.codes.all != nil {
		if all, err = r.codes.code(r.codes.all); err != nil {
			return "", nil, err
		}
	}
	for door, p := range r.codes.own {
		if own[door], err = r.codes.code(p); err != nil {
			return "", nil, err
		}
	}
	return all, own, nil
}

func (w Settler) tellCode(c *ent.Code, kind event.Kind, body map[string]any) error {
	body["codeId"], body["kind"] = c.ID, c.Kind
	if c.LockID != "" {
		body["lockId"] = c.LockID
	}
	return event.Append(w.Tx, event.Event{PropertyID: c.PropertyID, Subject: event.Inside(c.ID), Kind: kind, Body: body})
}

// coded makes ready what settles and shows a code: the same steps as those of a stay.
func (w Settler) coded(c *ent.Code) (*work, error) {
	p, err := w.Tx.Property.Get(w.Tx.Context(), c.PropertyID)
	if err != nil {
		return nil, fmt.Errorf("load the property of a code: %w", err)
	}
	rules, err := RulesOf(p)
	if err != nil {
		return nil, err
	}
	run := &work{tx: w.Tx, keys: w.Keys, rules: rules, property: c.PropertyID, reservation: c.ID, grant: &ent.Grant{ID: c.ID, PropertyID: c.PropertyID}}
	run.codes, err = codesOf(w.Tx, w.Keys, run.grant, rules.PINLength)
	return run, err
}

// soon is when a code is looked at again that a lock has no room for, or takes no PIN of.
const soon = time.Minute

// SettleCode has the locks come to hold what a code asks for now. Like that of stays it looks at levels, and may run as
// often as one likes.
func (w Settler) SettleCode(c *ent.Code) (*ent.Code, error) {
	run, err := w.coded(c)
	if err != nil {
		return nil, err
	}
	stand := Stand(termsOf(c), run.rules.Zone, w.Tx.Now())
	run.right = stand.Right
	var doors []Door
	if run.right.Open {
		if doors, err = run.doorsOfCode(c); err != nil {
			return nil, err
		}
	}
	held, err := run.held(doors)
	if err != nil {
		return nil, err
	}
	if run.right.Open {
		if c, err = run.ready(c, doors, held); err != nil {
			return nil, err
		}
	}
	steps := Reconcile(Task{Right: run.right, Placed: true, Doors: doors, Held: view(held), PINAt: run.pinAt})
	if held, err = run.take(steps, doors, held); err != nil {
		return nil, err
	}
	return run.storeCode(c, stand, doors, held)
}

// ready has a PIN for each door, another one where a lock called it a duplicate.
func (r *work) ready(c *ent.Code, doors []Door, held []occupied) (*ent.Code, error) {
	for _, h := range held {
		p := r.codes.at(h.DoorID)
		if c.Redraws >= mostRedraws || !h.Present || p == nil || h.PIN != p.ID || h.Evidence != slot.Failed || h.Result != string(slot.Duplicate) {
			continue
		}
		if err := r.codes.retire(p); err != nil {
			return nil, err
		}
		var err error
		if c, err = r.tx.Code.UpdateOne(c).AddRedraws(1).Save(r.ctx()); err != nil {
			return nil, fmt.Errorf("count a redraw: %w", err)
		}
	}
	return c, r.codes.cover(doors)
}

// storeCode notes how a code stands, and when to look again.
func (r *work) storeCode(c *ent.Code, s Standing, doors []Door, held []occupied) (*ent.Code, error) {
	u := r.tx.Code.UpdateOne(c)
	if s.End == "" {
		missing := r.lacking(doors, held)
		next := s.Next
		if again := r.tx.Now().Add(soon); missing && (next.IsZero() || next.After(again)) {
			next = again
		}
		if next.IsZero() {
			u.ClearNextAt()
		} else {
			u.SetNextAt(next)
		}
		if err := r.releaseRetired(held); err != nil {
			return nil, err
		}
		if err := r.tellLacking(c, missing); err != nil {
			return nil, err
		}
	} else {
		u.ClearNextAt()
		if c.EndedAt == nil {
			u.SetEndedAt(r.tx.Now()).SetEndReason(s.End)
		}
		if c.ReleasedAt == nil && lapsed(held) {
			u.SetReleasedAt(r.tx.Now())
			if err := r.forget(entpin.GrantID(c.ID)); err != nil {
				return nil, err
			}
		}
		if err := r.tellLacking(c, false); err != nil {
			return nil, err
		}
	}
	c, err := u.Save(r.ctx())
	if err != nil {
		return nil, fmt.Errorf("store how a code stands: %w", err)
	}
	return c, nil
}

// lacking says whether a door of a code has none.
func (r *work) lacking(doors []Door, held []occupied) bool {
	return slices.ContainsFunc(doors, func(d Door) bool {
		return d.wanted() && !slices.ContainsFunc(held, func(h occupied) bool { return h.Present && h.LockID == d.Lock.ID && !h.spent() })
	})
}

// tellLacking tells staff of a code that some lock cannot take, once while it stands.
func (r *work) tellLacking(c *ent.Code, lacking bool) error {
	key := c.ID + "/codeNotPlaced"
	if !lacking {
		return staff.Settle(r.tx, key)
	}
	return staff.Notify(r.tx, staff.Notice{
		PropertyID: c.PropertyID, Kind: "codeNotPlaced", Subject: c.ID, OnceKey: key,
		Text: "A code of staff, for one use or of the backup is missing on a lock: it has no free slot, or takes no PIN that the property's rules allow. It is tried again each minute.",
	})
}

// doorsOfCode lists the doors of a code that have a lock.
func (r *work) doorsOfCode(c *ent.Code) ([]Door, error) {
	q := r.tx.Lock.Query().Where(entlock.PropertyID(c.PropertyID), entlock.DoorIDNotNil())
	switch {
	case c.Kind == string(BackupCode):
		q.Where(entlock.ID(c.LockID))
	case !c.AllRooms:
		q.Where(entlock.DoorIDIn(c.Doors...))
	}
	locks, err := q.Order(entlock.ByID()).All(r.ctx())
	if err != nil {
		return nil, fmt.Errorf("list the locks of a code: %w", err)
	}
	r.locks = map[string]*ent.Lock{}
	var doors []Door
	for _, l := range locks {
		door := *l.DoorID
		gate := strings.HasPrefix(door, id.Gate+"_")
		if c.AllRooms && gate && !slices.Contains(c.Doors, door) {
			continue
		}
		d := Door{ID: door, Kind: Room, Lock: fitted{lock: l}.decided(r.tx.Now())}
		if gate {
			d.Kind = Gate
		}
		r.locks[door] = l
		doors = append(doors, d)
	}
	return doors, nil
}

// progressCode follows new evidence about a slot of a code: one for one use ends with the first.
func (w Settler) progressCode(c SlotChange) error {
	row, err := w.Tx.Code.Query().Where(entcode.PropertyID(c.PropertyID), entcode.ID(c.GrantID)).Only(w.Tx.Context())
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load the code of a slot: %w", err)
	}
	if row.UsedAt == nil && c.Used {
		if row, err = w.used(row, c); err != nil {
			return err
		}
	}
	_, err = w.SettleCode(row)
	return err
}

// used notes the first use of a code. Staff hear of that of a backup code: whoever knows it can come back.
func (w Settler) used(row *ent.Code, c SlotChange) (*ent.Code, error) {
	row, err := w.Tx.Code.UpdateOne(row).SetUsedAt(w.Tx.Now()).Save(w.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("note the use of a code: %w", err)
	}
	if err := w.tellCode(row, event.CodeUsed, map[string]any{"doorId": c.DoorID, "lockId": c.LockID}); err != nil {
		return nil, err
	}
	if row.Kind != string(BackupCode) {
		return row, nil
	}
	lk, err := lock.Get(w.Tx.Context(), w.Tx.Client, row.PropertyID, c.LockID)
	if err != nil {
		return nil, err
	}
	return row, staff.Notify(w.Tx, staff.Notice{
		PropertyID: row.PropertyID, Kind: "backupCodeUsed", Subject: row.ID, OnceKey: row.ID + "/backupCodeUsed",
		Text: fmt.Sprintf("A backup code of lock %q was used. Whoever knows it can come back: swap the lock's backup codes.", lk.Name),
	})
}

// SettleCodes looks at codes whose time has come, at most limit, and says how many: as many as limit means that there may
// be more. One that cannot be settled is tried again a minute later, and holds no other up.
func SettleCodes(w Settler, limit int) (int, error) {
	due, err := w.Tx.Code.Query().Where(entcode.NextAtLTE(w.Tx.Now())).Order(entcode.ByNextAt()).Limit(limit).All(w.Tx.Context())
	if err != nil {
		return 0, fmt.Errorf("look for codes whose time has come: %w", err)
	}
	for _, c := range due {
		err := w.Tx.Part(func() error { _, err := w.SettleCode(c); return err })
		if err == nil {
			continue
		}
		if w.Tx.Context().Err() != nil {
			return 0, err
		}
		if w.Log != nil {
			w.Log.Error("a code does not settle", slog.String("code", c.ID), slog.String("property", c.PropertyID), slog.Any("error", err))
		}
		if err := w.Tx.Code.UpdateOneID(c.ID).SetNextAt(w.Tx.Now().Add(soon)).Exec(w.Tx.Context()); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// Unsettle has all codes of a property looked at anew, soon: its spaces, gates, locks or settings changed.
func Unsettle(tx *db.Tx, propertyID string) error {
	err := tx.Code.Update().Where(entcode.PropertyID(propertyID), entcode.EndedAtIsNil()).SetNextAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("look at codes anew: %w", err)
	}
	return nil
}
