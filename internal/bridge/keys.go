package bridge

import (
	"context"

	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/db"
)

// Waker notifies the node that has a bridge's session that the bridge's state of a lock is out of date. An empty lock means that the row
// of the bridge changed. Notifications carry no authority and no PIN, and may be lost: the digest at reconnect and a slow periodic
// check find what was missed.
type Waker func(bridgeID, lockID string)

type wakerKey struct{}

// WithWaker returns a context whose transactions call the waker after their commit. A caller of db.Write derives its context from it.
// bridgelink.Node.Waker is such a waker.
func WithWaker(ctx context.Context, w Waker) context.Context {
	return context.WithValue(ctx, wakerKey{}, w)
}

// Notify calls the waker after the commit.
func Notify(tx *db.Tx, bridgeID, lockID string) {
	if w, ok := tx.Context().Value(wakerKey{}).(Waker); ok && w != nil {
		tx.After(func() { w(bridgeID, lockID) })
	}
}

// KeysChanged takes the place of a lock's id in a [Waker] call: the property's issuer keys, status list or door rules have changed.
const KeysChanged = "keys"

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
		Notify(tx, id, KeysChanged)
	}
	return err
}
