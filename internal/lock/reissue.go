package lock

import (
	"fmt"

	"latchkey.dev/ent"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/watch"
)

// maxGeneration is the highest generation that a bridge is believed to have received. Reports of higher ones are ignored, so that a bridge
// that invents generations cannot exhaust those of its locks.
const maxGeneration = 1 << 52

// reissueMissing issues the desired state of each slot again of which a bridge reports a newer generation than the database has. The
// database was then restored to an older state, or a standby without the last changes was promoted: the bridge ignores the state that the
// database has, and its lock may hold a code of which the database knows nothing. A slot without a row must become empty. by has the rows
// of the reported slots; reissueMissing replaces those that it changes. It returns the codes whose evidence changed.
func reissueMissing(tx *db.Tx, keys *keyring.Ring, bridgeID string, epoch int64, lk *ent.Lock, by map[int]*ent.Slot, seen []Observation) ([]EvidenceChange, error) {
	var changes []EvidenceChange
	for _, o := range seen {
		was := by[o.Number]
		if was == nil {
			was = &ent.Slot{LockID: lk.ID, PropertyID: lk.PropertyID, Number: o.Number, Evidence: string(slot.Removed)}
		}
		if o.Number < 1 || o.Number > lk.Capabilities.Slots || o.Observed.Generation > maxGeneration || !serverSlotOf(was, lk).IsBehind(o.Observed) {
			continue
		}
		br, err := bridge.InSession(tx, bridgeID, epoch)
		if err != nil {
			return nil, err
		}
		row, err := reissueSlot(tx, keys, br, lk, was, int64(o.Observed.Generation))
		if err != nil {
			return nil, err
		}
		if row == nil {
			continue
		}
		by[o.Number] = row
		if row.GrantID == "" {
			continue
		}
		if err := appendEvidenceChange(tx, lk, row, slot.Evidence(was.Evidence), tx.Now()); err != nil {
			return nil, err
		}
		changes = append(changes, EvidenceChange{Slot: codeSlotOf(row, grantOf(row)), Before: slot.Evidence(was.Evidence), After: slot.Evidence(row.Evidence)})
	}
	return changes, nil
}

// reissueSlot stores the desired state of a slot under a newer generation than the reported one, notifies the bridge, and returns the new
// row. A row without an id is inserted. A slot without a grant must be emptied. The grant of the former row keeps its generations, because
// the codes of the lost ones may have been another's. The result is nil if the code cannot be decrypted.
func reissueSlot(tx *db.Tx, keys *keyring.Ring, br *ent.Bridge, lk *ent.Lock, was *ent.Slot, reported int64) (*ent.Slot, error) {
	var pin slot.PIN
	if was.Present {
		var err error
		if pin, err = DecryptPIN(tx.Context(), keys, was); err != nil {
			return nil, nil // the session logs the error whenever it sends the slot
		}
	}
	generation, err := nextGeneration(tx, lk, reported+1)
	if err != nil {
		return nil, err
	}
	row := *was
	next := slot.Reissue(serverSlotOf(was, lk), bridge.EnrolmentID(br), uint64(generation))
	row.Generation, row.Since, row.ChangedAt = generation, generation, tx.Now()
	row.Claimant, row.Inherited, row.Former = next.SentTo, next.SentToOther, next.OlderMayRemain
	row.Evidence, row.Result, row.Rule = string(publicEvidence(next, false, tx.Now())), "", ""
	if was.Present {
		if row.Pin, err = keys.Seal(tx.Context(), lk.PropertyID, pinPurpose(lk.ID, row.Number, generation), []byte(pin)); err != nil {
			return nil, fmt.Errorf("seal the code of lock %s slot %d: %w", lk.ID, row.Number, err)
		}
	} else if hasNoGrant(was) {
		row.GrantID, row.PinID, row.DoorID, row.StaySpaceID, row.Once = "", "", "", "", ""
	}
	if was.ID == "" {
		err = insertSlotRow(tx, &row)
	} else if err = storeReissued(tx, was, &row); err == nil {
		err = recordEarlierCodes(tx, was)
	}
	if err != nil {
		return nil, err
	}
	bridge.NotifyLock(tx, lk.BridgeID, lk.ID)
	watch.Notify(tx, lk.PropertyID, watch.Locks, lk.ID)
	return &row, nil
}

// storeReissued stores what reissueSlot changes in a row. It returns errSlotMoved if the slot has changed since the row was loaded.
func storeReissued(tx *db.Tx, was, row *ent.Slot) error {
	n, err := tx.Slot.Update().Where(ifUnchanged(was)...).
		SetGeneration(row.Generation).SetSince(row.Since).SetChangedAt(row.ChangedAt).SetPin(row.Pin).
		SetGrantID(row.GrantID).SetPinID(row.PinID).SetDoorID(row.DoorID).SetStaySpaceID(row.StaySpaceID).SetOnce(row.Once).
		SetClaimant(row.Claimant).SetInherited(row.Inherited).SetFormer(row.Former).
		SetEvidence(row.Evidence).SetResult(row.Result).SetRule(row.Rule).Save(tx.Context())
	if err != nil {
		return fmt.Errorf("store the code of lock %s slot %d: %w", row.LockID, row.Number, err)
	}
	if n == 0 {
		return errSlotMoved
	}
	return nil
}
