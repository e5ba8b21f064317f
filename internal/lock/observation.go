package lock

import (
	"time"

	"latchkey.dev/ent"
	entlock "latchkey.dev/ent/lock"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/watch"
)

// Observation is what a bridge observed of one slot of a lock, named by the slot's number.
type Observation struct {
	Number   int
	Observed slot.Observed
}

// EvidenceChange is a slot whose evidence or last result changed, or whose code was used. The evidence of a slot is
// how sure it is that the lock holds the code.
type EvidenceChange struct {
	Slot          CodeSlot
	Before, After slot.Evidence // Before and After are the evidence that partners see; empty for the use of a former grant's code
	UsedAt        time.Time     // UsedAt is when the slot's code was used; zero if no use was reported. A use may be reported again
	AtThisLock    bool          // AtThisLock means that the code was used at this lock; false: not used, or perhaps at another lock
}

// CodeSlot names a slot, and the grant with the code that a report is about. A former grant may have had the slot then.
type CodeSlot struct {
	ID, PropertyID, LockID string
	Number                 int
	GrantID, DoorID        string
}

// codeSlotOf names the slot of a row, with the grant g that has or had the slot.
func codeSlotOf(row *ent.Slot, g slotGrant) CodeSlot {
	return CodeSlot{ID: row.ID, PropertyID: row.PropertyID, LockID: row.LockID, Number: row.Number, GrantID: g.GrantID, DoorID: g.DoorID}
}

// lockForSession loads a lock by its address on a bridge, and the rows of the slots with the given numbers. The lock
// is nil if the bridge has none with this address. It returns bridge.ErrSuperseded if epoch is not the bridge's
// current session.
func lockForSession(tx *db.Tx, bridgeID string, epoch int64, address string, numbers []int) (*ent.Lock, map[int]*ent.Slot, error) {
	br, err := bridge.InSession(tx, bridgeID, epoch)
	if err != nil {
		return nil, nil, err
	}
	lk, err := tx.Lock.Query().Where(entlock.BridgeID(br.ID), entlock.PropertyID(br.PropertyID), entlock.Address(address)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	rows, err := tx.Slot.Query().Where(entslot.LockID(lk.ID), entslot.PropertyID(br.PropertyID), entslot.NumberIn(numbers...)).All(tx.Context())
	if err != nil {
		return nil, nil, err
	}
	by := make(map[int]*ent.Slot, len(rows))
	for _, row := range rows {
		by[row.Number] = row
	}
	return lk, by, nil
}

// ApplyObservations stores what a bridge observed of the slots of one lock, records an event for each change of evidence, and returns the
// slots that changed. It ignores observations that repeat the last one, that are of an older generation, or of an unknown lock. One of a
// generation that the database does not know makes it issue the slot again. It returns bridge.ErrSuperseded if the session is not current.
func ApplyObservations(tx *db.Tx, keys *keyring.Ring, bridgeID string, epoch int64, address string, seen []Observation) ([]EvidenceChange, error) {
	numbers := make([]int, len(seen))
	for i, s := range seen {
		numbers[i] = s.Number
	}
	lk, by, err := lockForSession(tx, bridgeID, epoch, address, numbers)
	if err != nil || lk == nil {
		return nil, err
	}
	changes, err := reissueMissing(tx, keys, bridgeID, epoch, lk, by, seen)
	if err != nil {
		return nil, err
	}
	for _, s := range seen {
		row := by[s.Number]
		if row == nil {
			continue
		}
		next, changed := slot.ApplyReport(serverSlotOf(row, lk), uint64(epoch), slot.Report{Epoch: uint64(epoch), Observed: s.Observed})
		if !changed {
			continue
		}
		stored, err := storeObserved(tx, row, next)
		if err != nil {
			return nil, err
		}
		watch.Notify(tx, lk.PropertyID, watch.Locks, lk.ID)
		l := EvidenceChange{Slot: codeSlotOf(stored, grantOf(stored)), Before: slot.Evidence(row.Evidence), After: slot.Evidence(stored.Evidence)}
		if stored.SeenUsed { // the event with the lock where the code was used arrives later, or was lost
			l.UsedAt = *stored.SeenAt
		}
		if err := appendEvidenceChange(tx, lk, stored, l.Before, *stored.SeenAt); err != nil {
			return nil, err
		}
		changes = append(changes, l)
		by[s.Number] = stored
	}
	return changes, nil
}

// RefreshEvidence recomputes the evidence of a slot with weekly hours, because windows begin and end without a report. It stores a change
// with its event, and returns the new row. It returns row itself if nothing changed, if the latest generation is not reported yet, or if
// another transaction changed the slot.
func RefreshEvidence(tx *db.Tx, lk *ent.Lock, row *ent.Slot) (*ent.Slot, error) {
	if row.SeenGeneration != row.Generation || len(row.Later) == 0 {
		return row, nil
	}
	now := publicEvidence(serverSlotOf(row, lk), row.UsedAt != nil, tx.Now())
	if string(now) == row.Evidence {
		return row, nil
	}
	before := slot.Evidence(row.Evidence)
	if n, err := tx.Slot.Update().Where(ifUnchanged(row)...).SetEvidence(string(now)).Save(tx.Context()); err != nil || n == 0 {
		return row, err
	}
	watch.Notify(tx, lk.PropertyID, watch.Locks, lk.ID)
	next := *row
	next.Evidence = string(now)
	return &next, appendEvidenceChange(tx, lk, &next, before, tx.Now())
}

// WindowAt returns the time window of a slot that contains now, else the next window, else the last.
func WindowAt(s *ent.Slot, now time.Time) slot.Window {
	d := slot.Desired{NotBefore: db.OrZero(s.NotBefore), NotAfter: db.OrZero(s.NotAfter), LaterWindows: packedLaterWindows(s)}
	return d.WindowAt(now)
}

// appendEvidenceChange records the event that the evidence of a grant's code changed from before. It does nothing if
// the evidence is the same or the slot never had a grant. The event is marked if the lock has been moved to another
// door since, because the code then no longer concerns the former door.
func appendEvidenceChange(tx *db.Tx, lk *ent.Lock, s *ent.Slot, before slot.Evidence, at time.Time) error {
	if s.GrantID == "" || string(before) == s.Evidence {
		return nil
	}
	body := map[string]any{"lockId": s.LockID, "doorId": s.DoorID, "grantId": s.GrantID, "from": string(before), "to": s.Evidence}
	if s.Result != "" {
		body["result"] = s.Result
	}
	if db.OrZero(lk.DoorID) != s.DoorID {
		body["formerLock"] = true
	}
	if at.Before(s.ChangedAt) {
		at = s.ChangedAt // the bridge's clock is slow: evidence cannot be older than the desired code
	}
	return event.Append(tx, event.Event{
		PropertyID: s.PropertyID, Subject: event.InternalSubject(s.LockID), Kind: event.CredentialChanged, GrantID: s.GrantID, Body: body, OccurredAt: at,
	})
}

// storeObserved stores what a report changed in the state of a slot, with the evidence that partners see, and returns the new row.
func storeObserved(tx *db.Tx, row *ent.Slot, next slot.ServerSlot) (*ent.Slot, error) {
	o := next.Observed
	at := o.At
	if at.IsZero() || at.After(tx.Now()) {
		at = tx.Now()
	}
	return tx.Slot.UpdateOne(row).SetSeenWindow(o.Window).SetSeenUsed(o.Used).SetSeenCleared(o.Cleared).
		SetClaimant(next.SentTo).SetInherited(next.SentToOther).SetFormer(next.OlderMayRemain).SetForeign(next.Foreign).
		SetEvidence(string(publicEvidence(next, row.UsedAt != nil, tx.Now()))).SetResult(string(o.Result)).SetRule(o.Rule).
		SetSeenGeneration(int64(o.Generation)).SetSeenPresent(o.Present).
		SetSeenEvidence(string(o.Evidence)).SetSeenResult(string(o.Result)).SetSeenAt(at).
		Save(tx.Context())
}

// publicEvidence returns the evidence of a slot that partners see. used means that the code opened a door, which is better proof than a
// reading. If the removal is desired, the code counts as Removed only when the grant has lost the slot. A desired code counts as Removed
// when the lock confirms that it is gone, such as after its window.
func publicEvidence(s slot.ServerSlot, used bool, now time.Time) slot.Evidence {
	w := s.EvidenceAt(now)
	if s.Desired.Intent == slot.Absent && s.Grant != "" {
		return slot.Removing
	}
	if used && (w == slot.Accepted || w == slot.Verified) {
		return slot.Used
	}
	return w
}
