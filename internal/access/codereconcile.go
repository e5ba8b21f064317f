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
	"latchkey.dev/internal/notice"
)

// newCodeRun prepares a run for a code. It takes the same steps as one for a stay.
func (rec Reconciler) newCodeRun(c *ent.Code) (*grantRun, error) {
	p, err := rec.Tx.Property.Get(rec.Tx.Context(), c.PropertyID)
	if err != nil {
		return nil, fmt.Errorf("load the property of a code: %w", err)
	}
	rules, err := RulesOf(p)
	if err != nil {
		return nil, err
	}
	run := &grantRun{tx: rec.Tx, keys: rec.Keys, rules: rules, propertyID: c.PropertyID, reservationID: c.ID, grant: &ent.Grant{ID: c.ID, PropertyID: c.PropertyID}}
	run.pins, err = loadPINs(rec.Tx, rec.Keys, run.grant, rules.PINLength)
	return run, err
}

// codeRetry is the wait before the next attempt to set a code that a lock has no slot for, or takes no PIN of.
const codeRetry = time.Minute

// ReconcileCode reconciles the locks with what a code asks for now. It is idempotent.
func (rec Reconciler) ReconcileCode(c *ent.Code) (*ent.Code, error) {
	run, err := rec.newCodeRun(c)
	if err != nil {
		return nil, err
	}
	status := EvaluateCode(termsOf(c), run.rules.Zone, rec.Tx.Now())
	run.right = status.Right
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
	return run.storeCodeStatus(c, status, doors, held)
}

// refreshEvidence updates the evidence of slots whose windows begin or end without a report.
func (run *grantRun) refreshEvidence(held []installedSlot) error {
	for i := range held {
		if !held[i].Present {
			continue
		}
		lk, err := run.lockOfSlot(held[i].Held)
		if err != nil {
			return err
		}
		row, err := lock.RefreshEvidence(run.tx, lk, held[i].row)
		if err != nil {
			return err
		}
		held[i].set(row)
	}
	return nil
}

// ensureCodePINs makes a PIN for each door, and replaces one that a lock refused as a duplicate.
func (run *grantRun) ensureCodePINs(c *ent.Code, doors []Door, held []installedSlot) (*ent.Code, error) {
	for _, h := range held {
		p := run.pins.pinAt(h.DoorID)
		if c.Redraws >= maxRedraws || !h.Present || p == nil || h.PIN != p.ID || h.Evidence != slot.Failed || h.Result != string(slot.Duplicate) {
			continue
		}
		if err := run.pins.retire(p); err != nil {
			return nil, err
		}
		var err error
		if c, err = run.tx.Code.UpdateOne(c).AddRedraws(1).Save(run.ctx()); err != nil {
			return nil, fmt.Errorf("count a redraw: %w", err)
		}
		if err := run.notifyPINReplaced(c); err != nil {
			return nil, err
		}
	}
	return c, run.pins.ensure(doors)
}

// storeCodeStatus stores the status of a code, and when to evaluate it again.
func (run *grantRun) storeCodeStatus(c *ent.Code, s CodeStatus, doors []Door, held []installedSlot) (*ent.Code, error) {
	u := run.tx.Code.UpdateOne(c)
	if s.End == "" {
		missing := run.missesADoor(doors, held)
		next := s.Next
		if again := run.tx.Now().Add(codeRetry); missing && (next.IsZero() || next.After(again)) {
			next = again
		}
		if next.IsZero() {
			u.ClearNextAt()
		} else {
			u.SetNextAt(next)
		}
		if err := run.releaseRetiredPINs(held); err != nil {
			return nil, err
		}
		if err := run.notifyCodeMissing(c, missing); err != nil {
			return nil, err
		}
	} else {
		u.ClearNextAt()
		if c.EndedAt == nil {
			u.SetEndedAt(run.tx.Now()).SetEndReason(s.End)
		}
		if c.ReleasedAt == nil && fullyRemoved(held) {
			u.SetReleasedAt(run.tx.Now())
			if err := run.deletePINs(entpin.GrantID(c.ID)); err != nil {
				return nil, err
			}
		}
		if err := run.notifyCodeMissing(c, false); err != nil {
			return nil, err
		}
	}
	c, err := u.Save(run.ctx())
	if err != nil {
		return nil, fmt.Errorf("store the status of a code: %w", err)
	}
	return c, nil
}

// missesADoor reports whether a door of a code has no slot for it.
func (run *grantRun) missesADoor(doors []Door, held []installedSlot) bool {
	return slices.ContainsFunc(doors, func(d Door) bool {
		return d.takesCode() && !slices.ContainsFunc(held, func(h installedSlot) bool {
			return h.Present && h.LockID == d.Lock.ID && !h.holdsForeignCode() && h.Result != string(slot.Unsupported)
		})
	})
}

// notifyCodeMissing notifies staff once while a lock cannot take a code.
func (run *grantRun) notifyCodeMissing(c *ent.Code, lacking bool) error {
	key := c.ID + "/codeNotPlaced"
	if !lacking {
		return notice.Settle(run.tx, key)
	}
	return notice.Add(run.tx, notice.Notice{
		PropertyID: c.PropertyID, Kind: "codeNotPlaced", Subject: c.ID, OnceKey: key,
		Text: "A staff, one-time or backup code is missing on a lock: the lock has no free slot, takes no PIN that the property's rules allow, or does not support such a code. Latchkey retries each minute.",
	})
}

// doorsOfCode lists the doors of a code that have a lock.
func (run *grantRun) doorsOfCode(c *ent.Code) ([]Door, error) {
	q := run.tx.Lock.Query().Where(entlock.PropertyID(c.PropertyID), entlock.DoorIDNotNil())
	switch {
	case c.Kind == string(BackupCode):
		q.Where(entlock.ID(c.LockID))
	case !c.AllRooms:
		q.Where(entlock.DoorIDIn(c.Doors...))
	}
	locks, err := q.Order(entlock.ByID()).All(run.ctx())
	if err != nil {
		return nil, fmt.Errorf("list the locks of a code: %w", err)
	}
	run.lockAtDoor = map[string]*ent.Lock{}
	var doors []Door
	for _, l := range locks {
		door := *l.DoorID
		gate := strings.HasPrefix(door, id.Gate+"_")
		if c.AllRooms && gate && !slices.Contains(c.Doors, door) {
			continue
		}
		d := Door{ID: door, Kind: Room, Lock: installedLock{lock: l}.toLock(run.tx.Now())}
		if gate {
			d.Kind = Gate
		}
		run.lockAtDoor[door] = l
		doors = append(doors, d)
	}
	return doors, nil
}

// reconcileCodeChange reconciles a code after new evidence about one of its slots. A one-time code ends with its first use.
func (rec Reconciler) reconcileCodeChange(c SlotChange) error {
	row, err := rec.Tx.Code.Query().Where(entcode.PropertyID(c.PropertyID), entcode.ID(c.GrantID)).Only(rec.Tx.Context())
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load the code of a slot: %w", err)
	}
	if row, err = rec.recordCodeUse(row, c); err != nil {
		return err
	}
	_, err = rec.ReconcileCode(row)
	return err
}

// recordCodeUse stores the first use of a code, even if a later use was reported before it. It notifies staff of the use of a
// backup code, because its PIN may be known to others now.
func (rec Reconciler) recordCodeUse(row *ent.Code, c SlotChange) (*ent.Code, error) {
	known, at := row.UsedAt != nil, c.UsedAt
	if !at.IsZero() && at.Before(row.CreatedAt) {
		at = row.CreatedAt // the clock of the bridge is behind
	}
	if at.IsZero() || known && !at.Before(*row.UsedAt) {
		return row, nil
	}
	row, err := rec.Tx.Code.UpdateOne(row).SetUsedAt(at).Save(rec.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("record the use of a code: %w", err)
	}
	if known {
		return row, nil
	}
	e := codeEvent(row, event.CodeUsed, map[string]any{})
	e.OccurredAt = at
	if c.Here {
		e.Body["doorId"], e.Body["lockId"] = c.DoorID, c.LockID
	}
	if err := event.Append(rec.Tx, e); err != nil || row.Kind != string(BackupCode) {
		return row, err
	}
	lk, err := lock.Get(rec.Tx.Context(), rec.Tx.Client, row.PropertyID, c.LockID)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("A backup code of lock %q was used. It still opens the door: swap the lock's backup codes.", lk.Name)
	if row.EndedAt != nil {
		text = fmt.Sprintf("A backup code of lock %q was used. The code has ended since, and opens the door no more once the lock has removed it.", lk.Name)
	}
	return row, notice.Add(rec.Tx, notice.Notice{
		PropertyID: row.PropertyID, Kind: "backupCodeUsed", Subject: row.ID, OnceKey: row.ID + "/backupCodeUsed", Text: text,
	})
}

// ReconcileDueCodes reconciles at most limit codes that are due, and returns their number: limit means that there may be more. A
// code that fails is retried a minute later and does not block the others.
func ReconcileDueCodes(rec Reconciler, limit int) (int, error) {
	due, err := rec.Tx.Code.Query().Where(entcode.NextAtLTE(rec.Tx.Now())).Order(entcode.ByNextAt()).Limit(limit).All(rec.Tx.Context())
	if err != nil {
		return 0, fmt.Errorf("find codes that are due: %w", err)
	}
	for _, c := range due {
		err := rec.Tx.Savepoint(func() error { _, err := rec.ReconcileCode(c); return err })
		if err == nil {
			continue
		}
		if rec.Tx.Context().Err() != nil {
			return 0, err
		}
		if rec.Log != nil {
			rec.Log.Error("a code could not be reconciled; retrying", slog.String("code", c.ID), slog.String("property", c.PropertyID), slog.Any("error", err))
		}
		if err := rec.Tx.Code.UpdateOneID(c.ID).SetNextAt(rec.Tx.Now().Add(codeRetry)).Exec(rec.Tx.Context()); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// MarkCodesDue makes all codes of a property due after a change of its spaces, gates, locks or settings.
func MarkCodesDue(tx *db.Tx, propertyID string) error {
	err := tx.Code.Update().Where(entcode.PropertyID(propertyID), entcode.EndedAtIsNil()).SetNextAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("mark codes as due: %w", err)
	}
	return nil
}
