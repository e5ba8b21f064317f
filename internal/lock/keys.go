package lock

import (
	"time"

	"latchkey.dev/ent"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// Operations of a command that carries a SmartKey. The bridge verifies the SmartKey and decides.
const (
	SmartKeyUnlock = "smartkeyUnlock"
	SmartKeyCheck  = "smartkeyCheck" // only verifies the SmartKey and does not unlock
)

// RefusedKeyPrefix begins the result of a command whose SmartKey the bridge refused, and the reason of the denial. A
// reason of docs/smartkey.md follows the prefix. OpenedBySmartKey is the reason of an opening with a SmartKey at the
// door itself.
const (
	RefusedKeyPrefix = "smartkey:"
	OpenedBySmartKey = "smartkey"
)

// PhoneActorPrefix begins the actor of events that a guest's phone caused. The phone's id follows.
const PhoneActorPrefix = "phone:"

// GetByAddress returns the lock with an address on a bridge, or a not-found fault.
func GetByAddress(tx *db.Tx, propertyID, bridgeID, address string) (*ent.Lock, error) {
	lk, err := tx.Lock.Query().Where(entlock.PropertyID(propertyID), entlock.BridgeID(bridgeID), entlock.Address(address)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.LockNotFound, "no such lock at this property")
	}
	return lk, err
}

// StoreSmartKeyCommand does for a command with a SmartKey what [StoreCommand] does for one of staff. actor names the phone (see
// [PhoneActorPrefix]), operation is SmartKeyUnlock or SmartKeyCheck. The SmartKey's proof is not stored, because it is valid for seconds
// and travels with the command. grantID is the grant of the phone's guest; empty if it is not known.
func StoreSmartKeyCommand(tx *db.Tx, here Node, propertyID, lockID, actor, grantID, operation string, until time.Time) (UnlockCommand, error) {
	return storeCommand(tx, here, propertyID, lockID, actor, grantID, operation, until)
}
