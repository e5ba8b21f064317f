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
func (w Reconciler) newCodeRun(c *ent.Code) (*grantRun, error) {
	p, err := w.Tx.Property.Get(w.Tx.Context(), c.PropertyID)
	if err != nil {
		return nil, fmt.Errorf("load the property of a code: %w", err)
	}
	rules, err := RulesOf(p)
	if err != nil {
		return nil, err
	}
	run := &grantRun{tx: w.Tx, keys: w.Keys, rules: rules, propertyID: c.PropertyID, reservationID: c.ID, grant: &ent.Grant{ID: c.ID, PropertyID: c.PropertyID}}
	run.pins, err = loadPINs(w.Tx, w.Keys, run.grant, rules.PINLength)
	return run, err
}

// soon is when a code is looked at again that a lock has no room for, or takes no PIN of.
const codeRetry = time.Minute

// SettleCode has the locks come to hold what a code asks for now. Like that of stays it looks at levels, and may run as
// often as one likes.
func (w Reconciler) ReconcileCode(c *ent.Code) (*ent.Code, error) {
	run, err := w.newCodeRun(c)
	if err != nil {
		return nil, err
	}
	stand := EvaluateCode(termsOf(c), run.rules.Zone, w.Tx.Now())
	run.right = stand.Right
	if c.Kind == string(OneTimeCode) {
		run.singleUseID = c.ID
	}
	var doors []Door
	if run.right.Open {
		if doors, err = run.doorsOfCode(c); err != nil {
			return nil, err
		}
	}
	held, err := run.loadHeld(doors)
	if err != nil {
		return nil, err
	}
	if run.right.Open {
		if c, err = run.ensureCodePINs(c, doors, held); err != nil {
			return nil, err
		}
	}
	steps := Reconcile(Task{Right: run.right, Placed: true, Doors: doors, Held: heldCodes(held), PINAt: run.pinIDAt})
	if held, err = run.execute(steps, doors, held); err != nil {
		return nil, err
	}
	if err := run.refreshEvidence(held); err != nil {
		return nil, err
	}
	return run.storeCodeStatus(c, stand, doors, held)
}

// review has what is said of the places of a code follow the time: windows begin and end without a report.
func (r *grantRun) refreshEvidence(held []installedSlot) error {
	for i := range held {
		if !held[i].Present {
			continue
		}
		lk, err := r.lockOfSlot(held[i].Held)
		if err != nil {
			return err
		}
		row, err := lock.RefreshEvidence(r.tx, lk, held[i].row)
		if err != nil {
			return err
		}
		held[i].set(row)
	}
	return nil
}

// ready has a PIN for each door, another one where a lock called it a duplicate.
func (r *grantRun) ensureCodePINs(c *ent.Code, doors []Door, held []installedSlot) (*ent.Code, error) {
	for _, h := range held {
		p := r.pins.pinAt(h.DoorID)
		if c.Redraws >= maxRedraws || !h.Present || p == nil || h.PIN != p.ID || h.Evidence != slot.Failed || h.Result != string(slot.Duplicate) {
			continue
		}
		if err := r.pins.retire(p); err != nil {
			return nil, err
		}
		var err error
		if c, err = r.tx.Code.UpdateOne(c).AddRedraws(1).Save(r.ctx()); err != nil {
			return nil, fmt.Errorf("count a redraw: %w", err)
		}
		if err := r.notifyPINReplaced(c); err != nil {
			return nil, err
		}
	}
	return c, r.pins.ensure(doors)
}

// storeCode notes how a code stands, and when to look again.
func (r *grantRun) storeCodeStatus(c *ent.Code, s CodeStatus, doors []Door, held []installedSlot) (*ent.Code, error) {
	u := r.tx.Code.UpdateOne(c)
	if s.End == "" {
		missing := r.missesADoor(doors, held)
		next := s.Next
		if again := r.tx.Now().Add(codeRetry); missing && (next.IsZero() || next.After(again)) {
			next = again
		}
		if next.IsZero() {
			u.ClearNextAt()
		} else {
			u.SetNextAt(next)
		}
		if err := r.releaseRetiredPINs(held); err != nil {
			return nil, err
		}
		if err := r.notifyCodeMissing(c, missing); err != nil {
			return nil, err
		}
	} else {
		u.ClearNextAt()
		if c.EndedAt == nil {
			u.SetEndedAt(r.tx.Now()).SetEndReason(s.End)
		}
		if c.ReleasedAt == nil && fullyRemoved(held) {
			u.SetReleasedAt(r.tx.Now())
			if err := r.deletePINs(entpin.GrantID(c.ID)); err != nil {
				return nil, err
			}
		}
		if err := r.notifyCodeMissing(c, false); err != nil {
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
func (r *grantRun) missesADoor(doors []Door, held []installedSlot) bool {
	return slices.ContainsFunc(doors, func(d Door) bool {
		return d.takesCode() && !slices.ContainsFunc(held, func(h installedSlot) bool {
			return h.Present && h.LockID == d.Lock.ID && !h.holdsForeignCode() && h.Result != string(slot.Unsupported)
		})
	})
}

// tellLacking tells staff of a code that some lock cannot take, once while it stands.
func (r *grantRun) notifyCodeMissing(c *ent.Code, lacking bool) error {
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
func (r *grantRun) doorsOfCode(c *ent.Code) ([]Door, error) {
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
	r.lockAtDoor = map[string]*ent.Lock{}
	var doors []Door
	for _, l := range locks {
		door := *l.DoorID
		gate := strings.HasPrefix(door, id.Gate+"_")
		if c.AllRooms && gate && !slices.Contains(c.Doors, door) {
			continue
		}
		d := Door{ID: door, Kind: Room, Lock: installedLock{lock: l}.toLock(r.tx.Now())}
		if gate {
			d.Kind = Gate
		}
		r.lockAtDoor[door] = l
		doors = append(doors, d)
	}
	return doors, nil
}

// progressCode follows new evidence about a slot of a code: one for one use ends with the first.
func (w Reconciler) reconcileCodeChange(c SlotChange) error {
	row, err := w.Tx.Code.Query().Where(entcode.PropertyID(c.PropertyID), entcode.ID(c.GrantID)).Only(w.Tx.Context())
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load the code of a slot: %w", err)
	}
	if row, err = w.recordCodeUse(row, c); err != nil {
		return err
	}
	_, err = w.ReconcileCode(row)
	return err
}

// used notes the first use of a code, also if a later one was told before it. Staff hear of that of a backup code: whoever
// knows it can come back.
func (w Reconciler) recordCodeUse(row *ent.Code, c SlotChange) (*ent.Code, error) {
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
func ReconcileDueCodes(w Reconciler, limit int) (int, error) {
	due, err := w.Tx.Code.Query().Where(entcode.NextAtLTE(w.Tx.Now())).Order(entcode.ByNextAt()).Limit(limit).All(w.Tx.Context())
	if err != nil {
		return 0, fmt.Errorf("look for codes whose time has come: %w", err)
	}
	for _, c := range due {
		err := w.Tx.Savepoint(func() error { _, err := w.ReconcileCode(c); return err })
		if err == nil {
			continue
		}
		if w.Tx.Context().Err() != nil {
			return 0, err
		}
		if w.Log != nil {
			w.Log.Error("a code does not settle", slog.String("code", c.ID), slog.String("property", c.PropertyID), slog.Any("error", err))
		}
		if err := w.Tx.Code.UpdateOneID(c.ID).SetNextAt(w.Tx.Now().Add(codeRetry)).Exec(w.Tx.Context()); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// Unsettle has all codes of a property looked at anew, soon: its spaces, gates, locks or settings changed.
func MarkCodesDue(tx *db.Tx, propertyID string) error {
	err := tx.Code.Update().Where(entcode.PropertyID(propertyID), entcode.EndedAtIsNil()).SetNextAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("look at codes anew: %w", err)
	}
	return nil
}
