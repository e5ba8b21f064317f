package lock

import (
	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock/slot"
)

// Lacks is what the software of a bridge cannot do, since it is older: it is not handed a code that needs it. One that knows
// nothing of later windows would never open again after the first, and one that knows nothing of codes for one use would
// leave them on the lock.
type Lacks struct{ LaterWindows, OneTimeCodes bool }

// of says whether a slot shall hold a code that the bridge cannot keep as it is wanted.
func (l Lacks) of(s *ent.Slot) bool {
	return s.Present && ((l.LaterWindows && len(s.Later) > 0) || (l.OneTimeCodes && s.Once != ""))
}

// intentOf is what the bridge is told: where it lacks something, what sat in the slot before comes off all the same.
func (l Lacks) intentOf(s *ent.Slot) slot.Intent {
	if s.Present && !l.of(s) {
		return slot.Present
	}
	return slot.Absent
}

// judge has a slot that is known to be empty, because its code was not handed over, say so.
func (l Lacks) judge(s *ent.Slot, o slot.Observed) slot.Observed {
	if l.of(s) && o.Generation == uint64(s.Generation) && !o.Present && o.Evidence.Settled() {
		o.Evidence, o.Result = slot.Failed, slot.Unsupported
	}
	return o
}

// offerAnew draws new generations for codes of a lock that were not handed to its bridge, whose software has been updated
// since: of the old ones it knows that the slot is empty. Rows are the lock's slots, and are changed.
func offerAnew(tx *db.Tx, keys *keyring.Ring, lk *ent.Lock, rows []*ent.Slot, lacks Lacks) error {
	for i, row := range rows {
		if needs := (Lacks{true, true}); row.SeenResult != string(slot.Unsupported) || !needs.of(row) || lacks.of(row) {
			continue
		}
		pin, err := OpenPIN(tx.Context(), keys, row)
		if err != nil {
			return err
		}
		rows[i], err = Change(tx, keys, lk, row, Place{
			GrantID: row.GrantID, DoorID: row.DoorID, StaySpaceID: row.StaySpaceID, PIN: string(pin), PINID: row.PinID,
			NotBefore: value(row.NotBefore), NotAfter: value(row.NotAfter), Later: LaterOf(row), Once: row.Once,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
