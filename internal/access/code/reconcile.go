package code

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entcode "latchkey.dev/ent/code"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/notice"
)

// newRun returns an [access.Run] for a code, before anything is loaded.
func newRun(rec access.Reconciler, c *ent.Code, rules access.Rules) *access.Run {
	run := &access.Run{Reconciler: rec, Holder: access.Holder{ID: c.ID, PropertyID: c.PropertyID, IsCode: true, Redraws: c.Redraws}, Rules: rules}
	if c.Kind == string(OneTime) {
		run.OneTimeID = c.ID
	}
	return run
}

// retryAfter is the wait before a retry to set a code on a lock that is full or accepts none of its PINs, and to reconcile a code after a
// failure.
const retryAfter = time.Minute

// Reconcile changes the slots of the locks to match a code, and returns the code's new row. It generates missing PINs, ends a code whose
// time is over, and sends or resolves notices about it. It is idempotent.
func Reconcile(rec access.Reconciler, c *ent.Code) (*ent.Code, error) {
	rules, err := rec.RulesFor(c.PropertyID)
	if err != nil {
		return nil, err
	}
	run, status := newRun(rec, c, rules), Evaluate(termsOf(c), rules.Zone, rec.Tx.Now())
	run.Right = status.Right
	if run.Right.Open {
		locks, err := locksOf(rec.Tx, c)
		if err != nil {
			return nil, err
		}
		run.SetDoors(locks)
	}
	if err := run.LoadCodes(); err != nil {
		return nil, err
	}
	if err := ensurePINs(run, c); err != nil {
		return nil, err
	}
	if err := run.Apply(); err != nil {
		return nil, err
	}
	if err := run.RefreshEvidence(); err != nil {
		return nil, err
	}
	return storeStatus(run, c, status)
}

// ensurePINs generates the missing PINs of a code that has not ended, and replaces PINs that a lock refused as duplicates. It notifies
// staff of a replaced PIN.
func ensurePINs(run *access.Run, c *ent.Code) error {
	if !run.Right.Open {
		return nil
	}
	if err := run.EnsurePINs(); err != nil || run.Redraws == c.Redraws {
		return err
	}
	return notifyPINReplaced(run.Tx, c)
}

// storeStatus stores the status of a code and the time of its next evaluation, and marks a code that s says has ended. It deletes PINs that
// no lock needs any more. It notifies staff if a lock cannot store the code, and otherwise resolves that notice. The end also resolves the
// notice of a replaced PIN.
func storeStatus(run *access.Run, c *ent.Code, s Status) (*ent.Code, error) {
	u, missing := run.Tx.Code.UpdateOne(c).SetRedraws(run.Redraws), false
	if s.End == "" {
		missing = run.LacksUsableSlot()
		next := s.Next
		if retry := run.Tx.Now().Add(retryAfter); missing && (next.IsZero() || next.After(retry)) {
			next = retry
		}
		if next.IsZero() {
			u.ClearNextAt()
		} else {
			u.SetNextAt(next)
		}
		if err := run.ReleaseRetiredPINs(); err != nil {
			return nil, err
		}
	} else {
		u.ClearNextAt()
		if c.EndedAt == nil {
			u.SetEndedAt(run.Tx.Now()).SetEndReason(s.End)
			if err := notice.Resolve(run.Tx, c.PropertyID, pinReplacedKey(c.ID)); err != nil { // the PIN of an ended code cannot be read
				return nil, err
			}
		}
		if c.ReleasedAt == nil && run.IsRemoved() {
			u.SetReleasedAt(run.Tx.Now())
			if err := run.DeletePINs(); err != nil {
				return nil, err
			}
		}
	}
	if err := notifyMissing(run.Tx, c, missing); err != nil {
		return nil, err
	}
	c, err := u.Save(run.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("store the status of a code: %w", err)
	}
	return c, nil
}

// locksOf loads the locks on which a code belongs: those on its doors, or the lock of a backup code. AllRooms adds all rooms, dorms and
// beds, but no gates. It includes locks of inactive spaces.
func locksOf(tx *db.Tx, c *ent.Code) ([]*ent.Lock, error) {
	q := tx.Lock.Query().Where(entlock.PropertyID(c.PropertyID), entlock.DoorIDNotNil())
	switch {
	case c.Kind == string(Backup):
		q.Where(entlock.ID(c.LockID))
	case c.AllRooms:
		q.Where(entlock.Or(entlock.Not(entlock.DoorIDHasPrefix(id.Gate+"_")), entlock.DoorIDIn(c.Doors...)))
	default:
		q.Where(entlock.DoorIDIn(c.Doors...))
	}
	locks, err := q.Order(entlock.ByID()).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the locks of a code: %w", err)
	}
	return locks, nil
}

// ApplyEvidence handles the slot changes in a report of a bridge. It is [access.ApplyEvidence] for slots of stays and of staff, one-time
// and backup codes.
func ApplyEvidence(rec access.Reconciler, changed []lock.EvidenceChange) error {
	return access.ApplyEvidence(rec, changed, func(c lock.EvidenceChange) error { return reconcileEvidence(rec, c) })
}

// reconcileEvidence reconciles a code after new evidence about one of its slots, and does nothing if the code is deleted. A one-time code
// that was used ends.
func reconcileEvidence(rec access.Reconciler, c lock.EvidenceChange) error {
	row, err := rec.Tx.Code.Query().Where(entcode.PropertyID(c.Slot.PropertyID), entcode.ID(c.Slot.GrantID)).Only(rec.Tx.Context())
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load the code of a slot: %w", err)
	}
	if row, err = recordUse(rec.Tx, row, c); err != nil {
		return err
	}
	_, err = Reconcile(rec, row)
	return err
}

// recordUse stores when a code was first used, and returns the code's new row. It does nothing if c has no use. The first report of a use
// also records an event, and notifies staff if it is a backup code. Bridges may report uses in another order, so an earlier use replaces a
// later one.
func recordUse(tx *db.Tx, row *ent.Code, c lock.EvidenceChange) (*ent.Code, error) {
	known, at := row.UsedAt != nil, c.UsedAt
	if !at.IsZero() && at.Before(row.CreatedAt) {
		at = row.CreatedAt // the bridge's clock is slow
	}
	if at.IsZero() || known && !at.Before(*row.UsedAt) {
		return row, nil
	}
	row, err := tx.Code.UpdateOne(row).SetUsedAt(at).Save(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("record the use of a code: %w", err)
	}
	if known {
		return row, nil
	}
	e := eventOf(row, event.CodeUsed, map[string]any{})
	e.OccurredAt = at
	if c.AtThisLock {
		e.Body["doorId"], e.Body["lockId"] = c.Slot.DoorID, c.Slot.LockID
	}
	if err := event.Append(tx, e); err != nil || row.Kind != string(Backup) {
		return row, err
	}
	return row, notifyBackupUsed(tx, row, c.Slot.LockID)
}

// ReconcileDue reconciles up to limit due codes and returns their number, with those that failed. If it returns limit, more may be due. A
// code that fails is logged, retried a minute later and does not block the others.
func ReconcileDue(rec access.Reconciler, limit int) (int, error) {
	due, err := rec.Tx.Code.Query().Where(entcode.NextAtLTE(rec.Tx.Now())).Order(entcode.ByNextAt()).Limit(limit).All(rec.Tx.Context())
	if err != nil {
		return 0, fmt.Errorf("find codes that are due: %w", err)
	}
	for _, c := range due {
		done, err := rec.Isolate("code", c.ID, c.PropertyID, func() error { _, err := Reconcile(rec, c); return err })
		if err != nil {
			return 0, err
		}
		if done {
			continue
		}
		if err := rec.Tx.Code.UpdateOneID(c.ID).SetNextAt(rec.Tx.Now().Add(retryAfter)).Exec(rec.Tx.Context()); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// MarkDue makes all codes of a property due for [ReconcileDue], except ended ones, after its spaces, gates, locks or settings changed.
func MarkDue(tx *db.Tx, propertyID string) error {
	err := tx.Code.Update().Where(entcode.PropertyID(propertyID), entcode.EndedAtIsNil()).SetNextAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("mark codes as due: %w", err)
	}
	return nil
}
