package lock

import (
	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/text"
)

// NoticeName returns the name of a lock for a notice. It includes the dorm if the lock is on a bed, because locks are often named after their
// beds, and beds of two dorms may have equal names.
func NoticeName(tx *db.Tx, lk *ent.Lock) (string, error) {
	if lk.DoorID == nil {
		return lk.Name, nil
	}
	dorms, err := space.DormNames(tx, lk.PropertyID, []string{*lk.DoorID})
	return text.FullName(dorms[*lk.DoorID], lk.Name), err
}
