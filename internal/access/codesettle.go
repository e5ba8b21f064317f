package access

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent"
	entcode "latchkey.dev/ent/code"
	entlock "latchkey.dev/ent/lock"
	entpin "latchkey.dev/ent/pin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/staff"
)

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
	if c.Kind == string(OneTimeCode) {
		run.once = c.ID
	}
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
	if err := run.review(held); err != nil {
		return nil, err
	}
	return run.storeCode(c, stand, doors, held)
}

// review has what is said of the places of a code follow the time: windows begin and end without a report.
func (r *work) review(held []occupied) error {
	for i := range held {
		if !held[i].Present {
			continue
		}
		lk, err := r.lockOf(held[i].Held)
		if err != nil {
			return err
		}
		row, err := lock.RefreshEvidence(r.tx, lk, held[i].row)
		if err != nil {
			return err
		}
		held[i].becomes(row)
	}
	return nil
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
		if err := r.notifyRedrawn(c); err != nil {
			return nil, err
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
		return d.wanted() && !slices.ContainsFunc(held, func(h occupied) bool {
			return h.Present && h.LockID == d.Lock.ID && !h.spent() && h.Result != string(slot.Unsupported)
		})
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
		Text: "A code of staff, for one use or of the backup is missing on a lock: it has no free slot, takes no PIN that the property's rules allow, or cannot keep such a code. It is tried again each minute.",
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
	if row, err = w.used(row, c); err != nil {
		return err
	}
	_, err = w.SettleCode(row)
	return err
}

// used notes the first use of a code, also if a later one was told before it. Staff hear of that of a backup code: whoever
// knows it can come back.
func (w Settler) used(row *ent.Code, c SlotChange) (*ent.Code, error) {
	known, at := row.UsedAt != nil, c.UsedAt
	if !at.IsZero() && at.Before(row.CreatedAt) {
		at = row.CreatedAt // the bridge's clock is behind
	}
	if at.IsZero() || known && !at.Before(*row.UsedAt) {
		return row, nil
	}
	row, err := w.Tx.Code.UpdateOne(row).SetUsedAt(at).Save(w.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("note the use of a code: %w", err)
	}
	if known {
		return row, nil
	}
	e := codeEvent(row, event.CodeUsed, map[string]any{})
	e.OccurredAt = at
	if c.Here {
		e.Body["doorId"], e.Body["lockId"] = c.DoorID, c.LockID
	}
	if err := event.Append(w.Tx, e); err != nil || row.Kind != string(BackupCode) {
		return row, err
	}
	lk, err := lock.Get(w.Tx.Context(), w.Tx.Client, row.PropertyID, c.LockID)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("A backup code of lock %q was used. Whoever knows it can come back: swap the lock's backup codes.", lk.Name)
	if row.EndedAt != nil {
		text = fmt.Sprintf("A backup code of lock %q was used. It has ended since: nobody can come back with it once its lock is known to be rid of it.", lk.Name)
	}
	return row, staff.Notify(w.Tx, staff.Notice{
		PropertyID: row.PropertyID, Kind: "backupCodeUsed", Subject: row.ID, OnceKey: row.ID + "/backupCodeUsed", Text: text,
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
		err := w.Tx.Savepoint(func() error { _, err := w.SettleCode(c); return err })
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
