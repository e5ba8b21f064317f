package bridge

import (
	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/watch"
)

// Changed is the topic of changes that the node with a bridge's session must send on. A key is "BRIDGE" if the row of that bridge changed,
// "BRIDGE LOCK" if the desired slots of a lock changed, or "BRIDGE keys" (see [KeysChanged]); BRIDGE and LOCK are ids. Notifications
// between nodes may be lost: the digest at the next connect and a periodic check find what was missed. They carry no PINs and no
// permissions.
const Changed db.Topic = "bridge.changed"

// KeysChanged is used in a key of [Changed] in place of a lock's id: the property's SmartKey issuer keys, status list or door rules have
// changed.
const KeysChanged = "keys"

// NotifyLock notifies a bridge's session, after the commit, that the desired slots of a lock changed. With [KeysChanged] as lockID, it
// notifies of new SmartKey data.
func NotifyLock(tx *db.Tx, bridgeID, lockID string) { tx.Notify(Changed, bridgeID+" "+lockID) }

// NotifyLink notifies the streams of staff, after the commit, that the connection of a bridge has changed, and with it the state of its
// locks.
func NotifyLink(tx *db.Tx, br *ent.Bridge) {
	watch.Notify(tx, br.PropertyID, watch.Bridges, br.ID)
	watch.Notify(tx, br.PropertyID, watch.Locks)
}

// NoSmartKeys is the stored key version of a bridge that does not support SmartKeys.
const NoSmartKeys = -1

// InstalledKeys are the versions that a bridge reports: of its SmartKey issuer keys, and of its status list of revoked SmartKeys. 0: it has
// none. Version is NoSmartKeys if it does not support SmartKeys.
type InstalledKeys struct{ Version, List int64 }

// StoreInstalledKeys stores the versions of SmartKey keys and status list that a bridge reports in its session with the epoch. It returns
// ErrSuperseded if the session has been replaced or the bridge revoked.
func StoreInstalledKeys(tx *db.Tx, bridgeID string, epoch int64, k InstalledKeys) error {
	n, err := tx.Bridge.Update().Where(entbridge.ID(bridgeID), entbridge.Epoch(epoch), entbridge.RevokedAtIsNil()).
		SetKeySetVersion(k.Version).SetKeyListNumber(k.List).Save(tx.Context())
	if err != nil || n == 0 {
		return orSuperseded(err)
	}
	return nil
}

// NotifyKeysChanged notifies the sessions of all bridges of a property that are online, after the commit, of new SmartKey issuer keys,
// status lists or door rules.
func NotifyKeysChanged(tx *db.Tx, propertyID string) error {
	ids, err := tx.Bridge.Query().Where(entbridge.PropertyID(propertyID), entbridge.Online(true), entbridge.RevokedAtIsNil()).IDs(tx.Context())
	for _, id := range ids {
		NotifyLock(tx, id, KeysChanged)
	}
	return err
}
