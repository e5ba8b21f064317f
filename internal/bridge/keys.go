package bridge

import (
	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/db"
)

// Changed is the topic of what the node with a bridge's session must learn. Its key is the bridge's id, if the row of the bridge changed,
// or the bridge's id, a space and the id of a lock whose desired slots changed, or [KeysChanged]. A notification carries no authority and
// no PIN, and may be lost on its way to another node: the digest at reconnect and a slow periodic check find what was missed.
const Changed db.Topic = "bridge.changed"

// KeysChanged takes the place of a lock's id in a key of [Changed]: the property's issuer keys, status list or door rules have changed.
const KeysChanged = "keys"

// NotifyLock notifies a bridge of a lock whose desired slots changed.
func NotifyLock(tx *db.Tx, bridgeID, lockID string) { tx.Notify(Changed, bridgeID+" "+lockID) }

// NoSmartKeys is the version of the key set of a bridge that does not support SmartKeys.
const NoSmartKeys = -1

// InstalledKeys is what a bridge reports that it has stored: the version of its key set and the number of its status list.
type InstalledKeys struct{ Version, List int64 }

// StoreInstalledKeys stores what a bridge reports that it has.
func StoreInstalledKeys(tx *db.Tx, bridgeID string, epoch int64, k InstalledKeys) error {
	n, err := tx.Bridge.Update().Where(entbridge.ID(bridgeID), entbridge.Epoch(epoch), entbridge.RevokedAtIsNil()).
		SetKeySetVersion(k.Version).SetKeyListNumber(k.List).Save(tx.Context())
	if err != nil || n == 0 {
		return orSuperseded(err)
	}
	return nil
}

// NotifyKeysChanged notifies the connected bridges of a property of new issuer keys, lists or door rules.
func NotifyKeysChanged(tx *db.Tx, propertyID string) error {
	ids, err := tx.Bridge.Query().Where(entbridge.PropertyID(propertyID), entbridge.Online(true), entbridge.RevokedAtIsNil()).IDs(tx.Context())
	for _, id := range ids {
		NotifyLock(tx, id, KeysChanged)
	}
	return err
}
