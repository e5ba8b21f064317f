package lock

import (
	"context"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// The acts of a SmartKey. The bridge verifies the presentation that comes with one, and decides.
const (
	SmartKeyUnlock = "smartkeyUnlock"
	SmartKeyCheck  = "smartkeyCheck" // moves nothing
)

// RefusedKey begins the result of an act whose SmartKey the bridge refused, and the reason of the denial; a word of
// docs/smartkey.md follows. OpenedByKey is the reason of an opening at the door itself.
const (
	RefusedKeyPrefix = "smartkey:"
	OpenedBySmartKey = "smartkey"
)

// PhoneActor begins the actor of what a guest's phone did; its id follows.
const PhoneActorPrefix = "phone:"

// Keys is what stands for a lock in a wake-up: the property's issuer keys, status list or door rules have changed.
const KeysChanged = "keys"

// NoSmartKeys is the version of the key set of a bridge that knows no SmartKeys.
const NoSmartKeys = -1

// HeldKeys is what a bridge says it holds, durably: the version of its key set and the number of its status list.
type InstalledKeys struct{ Version, List int64 }

// NoteKeys stores what a bridge says it holds.
func StoreInstalledKeys(tx *db.Tx, bridgeID string, epoch int64, k InstalledKeys) error {
	n, err := tx.Bridge.Update().Where(entbridge.ID(bridgeID), entbridge.Epoch(epoch), entbridge.RevokedAtIsNil()).
		SetKeySetVersion(k.Version).SetKeyListNumber(k.List).Save(tx.Context())
	if err != nil || n == 0 {
		return orSuperseded(err)
	}
	return nil
}

// WakeKeys has the bridges of a property that are connected told of newer issuer keys, lists and door rules.
func NotifyKeysChanged(tx *db.Tx, propertyID string) error {
	ids, err := tx.Bridge.Query().Where(entbridge.PropertyID(propertyID), entbridge.Online(true), entbridge.RevokedAtIsNil()).IDs(tx.Context())
	for _, id := range ids {
		notifyBridge(tx, id, KeysChanged)
	}
	return err
}

// AtAddress finds the lock that a bridge knows by an address.
func GetByAddress(ctx context.Context, c *ent.Client, propertyID, bridgeID, address string) (*ent.Lock, error) {
	lk, err := c.Lock.Query().Where(entlock.PropertyID(propertyID), entlock.BridgeID(bridgeID), entlock.Address(address)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.LockNotFound, "no such lock at this property")
	}
	return lk, err
}

// StorePresentation writes down the use of a SmartKey before anything is sent. The presentation itself is not stored: it
// serves for seconds, and travels with the order. GrantID is the access of the phone's stay; empty: it is not known.
func StoreSmartKeyCommand(tx *db.Tx, propertyID, lockID, actor, grantID, operation string, until time.Time) (UnlockCommand, error) {
	return storeCommand(tx, propertyID, lockID, actor, grantID, operation, until)
}
