package lock

import (
	"time"

	"latchkey.dev/ent"
	entlock "latchkey.dev/ent/lock"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock/slot"
)

// Observation is what a bridge observed of one slot.
type Observation struct {
	Number   int
	Observed slot.Observed
}

// EvidenceChange is a slot whose evidence or last result changed, or whose code was used.
type EvidenceChange struct {
	Slot          *ent.Slot     // after the change
	Before, After slot.Evidence // as partners see it
	UsedAt        time.Time     // when its code was used; zero: no new use
	AtThisLock    bool          // the code was used at this lock; a one-time code ends on all of its locks
}

// lockForSession loads the lock with an address on a bridge in session, nil if there is none, and some of its slots, by number.
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

// ApplyObservations stores what a bridge observed of slots of one lock. Observations of an older generation, or of an unknown slot or
// lock, change nothing. A session that is not current gets bridge.ErrSuperseded.
func ApplyObservations(tx *db.Tx, bridgeID string, epoch int64, address string, seen []Observation) ([]EvidenceChange, error) {
	numbers := make([]int, len(seen))
	for i, s := range seen {
		numbers[i] = s.Number
	}
	lk, by, err := lockForSession(tx, bridgeID, epoch, address, numbers)
	if err != nil || lk == nil {
		return nil, err
	}
	var changes []EvidenceChange
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
		l := EvidenceChange{Slot: stored, Before: slot.Evidence(row.Evidence), After: slot.Evidence(stored.Evidence)}
		if stored.SeenUsed { // the event that says at which lock comes later, or was lost
			l.UsedAt = *stored.SeenAt
		}
		if err := appendEvidenceChange(tx, lk, l, *stored.SeenAt); err != nil {
			return nil, err
		}
		changes = append(changes, l)
		by[s.Number] = stored
	}
	return changes, nil
}

// RefreshEvidence updates the evidence of a slot with weekly hours to the present time: windows begin and end without a report.
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
	next := *row
	next.Evidence = string(now)
	return &next, appendEvidenceChange(tx, lk, EvidenceChange{Slot: &next, Before: before, After: now}, tx.Now())
}

// WindowAt returns the window of a slot at a time: the present one, else the next, else the last.
func WindowAt(s *ent.Slot, now time.Time) slot.Window {
	d := slot.Desired{NotBefore: valueOrZero(s.NotBefore), NotAfter: valueOrZero(s.NotAfter), LaterWindows: packedLaterWindows(s)}
	return d.WindowAt(now)
}

// appendEvidenceChange records that the evidence of a grant's code changed. It marks the code of a lock that has left its door since,
// because that code says nothing about the door any more.
func appendEvidenceChange(tx *db.Tx, lk *ent.Lock, l EvidenceChange, at time.Time) error {
	s := l.Slot
	if s.GrantID == "" || l.Before == l.After {
		return nil
	}
	body := map[string]any{"lockId": s.LockID, "doorId": s.DoorID, "grantId": s.GrantID, "from": string(l.Before), "to": string(l.After)}
	if s.Result != "" {
		body["result"] = s.Result
	}
	if valueOrZero(lk.DoorID) != s.DoorID {
		body["formerLock"] = true
	}
	if at.Before(s.ChangedAt) {
		at = s.ChangedAt // the bridge's clock is behind: there is no evidence of a code before it was desired
	}
	return event.Append(tx, event.Event{
		PropertyID: s.PropertyID, Subject: event.Inside(s.LockID), Kind: event.CredentialChanged, GrantID: s.GrantID, Body: body, OccurredAt: at,
	})
}

// storeObserved stores the observed state of a slot and the evidence that follows from it.
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

// publicEvidence returns the evidence of a slot as partners see it. An opening is better proof than a reading, and a slot is Removed only
// when its grant has lost it.
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
