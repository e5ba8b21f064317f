package lock

import (
	"cmp"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/bridge"
)

// Reasons why a lock is offline or takes no code.
const (
	NoBridge      = "noBridge"
	BridgeRevoked = "bridgeRevoked"
	LockOffline   = "lockOffline"
	SlotsFull     = "slotsFull"
)

// offlineReason returns why a lock is offline: the lock has no bridge, the bridge is revoked or offline, or the bridge does not reach the
// lock. It returns "" if the lock is online.
func offlineReason(lk *ent.Lock, br *ent.Bridge, now time.Time) string {
	switch {
	case br == nil:
		return NoBridge
	case br.RevokedAt != nil:
		return BridgeRevoked
	case !bridge.IsOnline(br, now) && br.OfflineReason != "":
		return br.OfflineReason
	case !bridge.IsOnline(br, now):
		return string(bridge.NodeLost) // the stored state is online, but the last heartbeat is too old
	case !lk.Status.Online:
		return cmp.Or(lk.Status.OfflineCause, LockOffline)
	}
	return ""
}
