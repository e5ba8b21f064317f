package lock

import (
	"latchkey.dev/ent"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
)

// tellOnline writes down that a lock on a door can be reached again.
func tellOnline(tx *db.Tx, lk *ent.Lock) error {
	if lk.DoorID == nil {
		return nil
	}
	e := lockEvent(lk, event.LockOnline, map[string]any{})
	e.Subject = event.Inside(lk.ID)
	return event.Append(tx, e)
}

// tellBack is tellOnline for the locks of a bridge that is back, of which tellOffline told when it was lost. Those that the
// bridge itself had lost before are told of by what it says of them.
func tellBack(tx *db.Tx, was *ent.Bridge, heard []Heard) error {
	switch OfflineReason(was.OfflineReason) {
	case "", NeverConnected, ShuttingDown:
		return nil
	}
	if was.Online {
		return nil
	}
	locks, err := tx.Lock.Query().Where(entlock.BridgeID(was.ID), entlock.PropertyID(was.PropertyID), entlock.DoorIDNotNil()).All(tx.Context())
	if err != nil {
		return err
	}
	reached := make(map[string]bool, len(heard))
	for _, h := range heard {
		reached[h.Address] = h.Status != nil && h.Status.Online
	}
	for _, lk := range locks {
		if lk.Status.Online && reached[lk.Address] {
			if err := tellOnline(tx, lk); err != nil {
				return err
			}
		}
	}
	return nil
}
