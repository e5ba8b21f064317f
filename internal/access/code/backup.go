package code

import (
	"fmt"
	"slices"

	"latchkey.dev/ent"
	entcode "latchkey.dev/ent/code"
	entlock "latchkey.dev/ent/lock"
	entproperty "latchkey.dev/ent/property"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/property"
)

// SwapBackups ends the backup codes of a lock and creates new ones, for example after one was used. It returns the new codes. by is the
// person who asks for it. It returns a fault if the property has switched backup codes off or has maxCodes codes, or if the lock is on no
// door or has few slots.
func SwapBackups(rec access.Reconciler, propertyID, lockID, by string) ([]*ent.Code, error) {
	lk, err := lock.Get(rec.Tx, propertyID, lockID)
	if err != nil {
		return nil, err
	}
	p, err := property.Get(rec.Tx, propertyID)
	if err != nil {
		return nil, err
	}
	if !p.BackupCodes {
		return nil, fault.New(fault.Precondition, fault.Reason(access.PINNotPossible), "backup codes are off for this property; turn on its setting backupCodes")
	}
	if lk.DoorID == nil || lk.Capabilities.Slots < minBackupSlots {
		return nil, fault.New(fault.Precondition, fault.Reason(access.PINNotPossible),
			"a lock has backup codes only if it is on a door and has at least %d slots", minBackupSlots)
	}
	old, err := rec.Tx.Code.Query().Where(entcode.PropertyID(propertyID), entcode.LockID(lockID), entcode.EndedAtIsNil()).
		Order(entcode.ByID()).All(rec.Tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the backup codes of a lock: %w", err)
	}
	for _, c := range old {
		if _, err := End(rec, c, EndSwapped, by); err != nil {
			return nil, err
		}
	}
	return createBackups(rec, propertyID, lockID, backupsPerLock, by)
}

// createBackups creates n backup codes of a lock. After an error, the codes created before it are still in the transaction.
func createBackups(rec access.Reconciler, propertyID, lockID string, n int, by string) ([]*ent.Code, error) {
	var out []*ent.Code
	for range n {
		c, err := Create(rec, propertyID, Spec{Kind: Backup, Holder: "backup", LockID: lockID, By: by})
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// BackupProperties returns the ids of the properties that must have backup codes, and of those that still have some although their setting
// is off. The sweep calls [EnsureBackups] and [EndBackups] for them.
func BackupProperties(tx *db.Tx) (keep, drop []string, err error) {
	keep, err = tx.Property.Query().Where(entproperty.BackupCodes(true)).IDs(tx.Context())
	if err != nil {
		return nil, nil, fmt.Errorf("list the properties that keep backup codes: %w", err)
	}
	has, err := tx.Code.Query().Where(entcode.LockIDNEQ(""), entcode.EndedAtIsNil()).Unique(true).
		Select(entcode.FieldPropertyID).Strings(tx.Context())
	if err != nil {
		return nil, nil, fmt.Errorf("list the properties that have backup codes: %w", err)
	}
	for _, propertyID := range has {
		if !slices.Contains(keep, propertyID) {
			drop = append(drop, propertyID)
		}
	}
	return keep, drop, nil
}

// EnsureBackups creates up to limit missing backup codes of a property and returns their number. If it returns limit, more may be missing.
// It stops without an error when the property has maxCodes codes. It does not check the property's setting.
func EnsureBackups(rec access.Reconciler, propertyID string, limit int) (int, error) {
	ctx := rec.Tx.Context()
	locks, err := rec.Tx.Lock.Query().Where(entlock.PropertyID(propertyID), entlock.DoorIDNotNil()).Order(entlock.ByID()).All(ctx)
	if err != nil {
		return 0, fmt.Errorf("list the locks that keep backup codes: %w", err)
	}
	has, err := rec.Tx.Code.Query().Where(entcode.PropertyID(propertyID), entcode.LockIDNEQ(""), entcode.EndedAtIsNil()).
		Select(entcode.FieldLockID).Strings(ctx)
	if err != nil {
		return 0, fmt.Errorf("list backup codes: %w", err)
	}
	count := map[string]int{}
	for _, lockID := range has {
		count[lockID]++
	}
	all := make([]BackupLock, len(locks))
	for i, l := range locks {
		all[i] = BackupLock{LockID: l.ID, OnDoor: true, Slots: l.Capabilities.Slots, Codes: count[l.ID]}
	}
	missing, made := MissingBackups(all), 0
	for _, l := range locks {
		n := min(missing[l.ID], limit-made)
		if n <= 0 {
			continue
		}
		_, err := createBackups(rec, propertyID, l.ID, n, "system")
		if fault.Has(err, fault.TooMany) { // the property has maxCodes codes
			return made, nil
		}
		if err != nil {
			return made, err
		}
		made += n
	}
	return made, nil
}

// EndBackups ends up to limit backup codes of a property that has switched them off, and returns their number. If it returns limit, more
// may be left. It does not check the setting. by is who ends them.
func EndBackups(rec access.Reconciler, propertyID, by string, limit int) (int, error) {
	old, err := rec.Tx.Code.Query().Where(entcode.PropertyID(propertyID), entcode.LockIDNEQ(""), entcode.EndedAtIsNil()).
		Order(entcode.ByID()).Limit(limit).All(rec.Tx.Context())
	if err != nil {
		return 0, fmt.Errorf("list backup codes: %w", err)
	}
	for _, c := range old {
		if _, err := End(rec, c, EndOff, by); err != nil {
			return 0, err
		}
	}
	return len(old), nil
}

// A lock with at least minBackupSlots slots has backupsPerLock backup codes. A smaller lock needs its slots for
// guests.
const (
	backupsPerLock = 2
	minBackupSlots = 8
)

// BackupLock has the fields of a lock that decide how many backup codes it needs.
type BackupLock struct {
	LockID string
	OnDoor bool
	Slots  int
	Codes  int // Codes is the number of the lock's backup codes that have not ended
}

// MissingBackups returns, by lock, how many backup codes are missing. It omits locks that need none or have them all.
func MissingBackups(all []BackupLock) map[string]int {
	out := map[string]int{}
	for _, k := range all {
		if k.OnDoor && k.Slots >= minBackupSlots && k.Codes < backupsPerLock {
			out[k.LockID] = backupsPerLock - k.Codes
		}
	}
	return out
}
