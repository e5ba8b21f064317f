package lock

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"latchkey.dev/ent"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/ent/predicate"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock/slot"
)

// DesiredSlot is the desired state of one slot in the form that is sent to its bridge.
type DesiredSlot struct {
	LockID        string
	Number        uint32
	Generation    int64
	NeedsMarkSent bool   // NeedsMarkSent means that MarkSent must be called before the state is sent
	mayHoldOwn    bool   // mayHoldOwn means that the slot may hold a code that the bridge has no record of; see [slot.Desired]
	reported      uint64 // reported is the slot's latest generation in a bridge's report, or 0: see ReportedGeneration of [slot.Desired]
	row           *ent.Slot
}

// DesiredSlots loads the slots to send to a bridge, removals first. It neither marks nor sends them. marks has the last sent generation of
// each lock to load: slots with a later generation are loaded, and with a negative mark all. A code that was cleared before it was sent is
// left out.
func DesiredSlots(tx *db.Tx, s *Session, marks map[string]int64) ([]DesiredSlot, error) {
	above := make([]predicate.Slot, 0, len(marks))
	for lockID, mark := range marks {
		above = append(above, entslot.And(entslot.LockID(lockID), entslot.GenerationGT(mark)))
	}
	var desired []DesiredSlot
	for chunk := range slices.Chunk(above, chunkSize/4) {
		rows, err := tx.Slot.Query().Where(entslot.PropertyID(s.PropertyID), entslot.Or(chunk...)).All(tx.Context())
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if concernsBridge(row) {
				desired = append(desired, s.desiredSlot(row))
			}
		}
	}
	slices.SortFunc(desired, func(a, b DesiredSlot) int {
		if a.row.Present != b.row.Present {
			if a.row.Present {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.LockID, b.LockID), cmp.Compare(a.Number, b.Number))
	})
	return desired, nil
}

// desiredSlot converts the row of a slot into the form that is sent to the bridge of the session. The PIN stays encrypted, see Desired.
func (s *Session) desiredSlot(row *ent.Slot) DesiredSlot {
	next, d := s.markSent(row)
	return DesiredSlot{
		LockID: row.LockID, Number: uint32(row.Number), Generation: row.Generation, mayHoldOwn: d.MayHoldOwn, reported: d.ReportedGeneration, row: row,
		NeedsMarkSent: next.SentTo != row.Claimant || next.SentToOther != row.Inherited,
	}
}

// markSent returns the state to store for a row when its code is sent to the bridge of the session, and the desired state to send, of which
// only Intent, MayHoldOwn and ReportedGeneration are set. It stores nothing.
func (s *Session) markSent(row *ent.Slot) (slot.ServerSlot, slot.Desired) {
	return slot.MarkSent(slot.ServerSlot{
		Desired: slot.Desired{Intent: intentOf(row)}, Observed: observedOf(row), SentTo: row.Claimant, SentToOther: row.Inherited,
	}, s.enrolmentID)
}

// MarkSent records that codes are about to be sent to a bridge: afterwards only the lock can prove that a code is gone. It returns the
// slots to send. It returns slots without NeedsMarkSent unchecked. Of the others it omits a slot that has changed since it was loaded,
// because that change notifies the bridge again. It returns bridge.ErrSuperseded if the session is not current.
func MarkSent(tx *db.Tx, s *Session, desired []DesiredSlot) ([]DesiredSlot, error) {
	if _, err := bridge.InSession(tx, s.BridgeID, s.Epoch); err != nil {
		return nil, err
	}
	out := make([]DesiredSlot, 0, len(desired))
	for _, w := range desired {
		if !w.NeedsMarkSent {
			out = append(out, w)
			continue
		}
		next, _ := s.markSent(w.row)
		n, err := tx.Slot.Update().Where(ifUnchanged(w.row)...).SetClaimant(next.SentTo).SetInherited(next.SentToOther).Save(tx.Context())
		if err != nil {
			return nil, err
		}
		if n > 0 {
			row := *w.row
			row.Claimant, row.Inherited = next.SentTo, next.SentToOther
			out = append(out, s.desiredSlot(&row))
		}
	}
	return out, nil
}

// Desired converts the slot for package slot. It decrypts the PIN, unless the slot should be empty.
func (w DesiredSlot) Desired(ctx context.Context, keys *keyring.Ring) (slot.Desired, error) {
	d := slot.Desired{
		Generation: uint64(w.row.Generation), Intent: intentOf(w.row), MayHoldOwn: w.mayHoldOwn, ReportedGeneration: w.reported,
		NotBefore: db.OrZero(w.row.NotBefore), NotAfter: db.OrZero(w.row.NotAfter),
	}
	if d.Intent != slot.Present {
		return d, nil
	}
	d.LaterWindows, d.OneTimeID = packedLaterWindows(w.row), w.row.Once
	pin, err := DecryptPIN(ctx, keys, w.row)
	if err != nil {
		return d, fmt.Errorf("open the code of lock %s slot %d: %w", w.LockID, w.Number, err)
	}
	d.PIN = pin
	return d, nil
}

// DecryptPIN decrypts the PIN that is stored in the row of a slot. It fails for a slot without a desired code, which has no PIN.
func DecryptPIN(ctx context.Context, keys *keyring.Ring, s *ent.Slot) (slot.PIN, error) {
	raw, err := keys.Open(ctx, s.PropertyID, pinPurpose(s.LockID, s.Number, s.Generation), s.Pin)
	return slot.PIN(raw), err
}

// LatestGenerations loads the latest generation of each lock of some bridges, by bridge and lock. It omits bridges without locks. A session
// that has sent an older generation of a lock sends the lock's slots again.
func LatestGenerations(tx *db.Tx, bridgeIDs []string) (map[string]map[string]int64, error) {
	locks, err := tx.Lock.Query().Where(entlock.BridgeIDIn(bridgeIDs...)).Select(entlock.FieldID, entlock.FieldBridgeID, entlock.FieldGeneration).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("read the generations of locks: %w", err)
	}
	newest := make(map[string]map[string]int64, len(bridgeIDs))
	for _, lk := range locks {
		if newest[lk.BridgeID] == nil {
			newest[lk.BridgeID] = map[string]int64{}
		}
		newest[lk.BridgeID][lk.ID] = lk.Generation
	}
	return newest, nil
}

// UnreportedLocks returns, in no order, the ids of those given locks that have a slot whose latest generation the bridge has not reported.
func UnreportedLocks(tx *db.Tx, s *Session, lockIDs []string) ([]string, error) {
	rows, err := slotsOfLocks(tx, s.PropertyID, lockIDs)
	if err != nil {
		return nil, err
	}
	var out []string
	for lockID, slots := range rows {
		if slices.ContainsFunc(slots, func(row *ent.Slot) bool { return concernsBridge(row) && row.SeenGeneration != row.Generation }) {
			out = append(out, lockID)
		}
	}
	return out, nil
}

// intentOf returns the intent of a row for package slot: Present if the slot should hold a code, else Absent.
func intentOf(s *ent.Slot) slot.Intent {
	if s.Present {
		return slot.Present
	}
	return slot.Absent
}
