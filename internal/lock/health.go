package lock

import (
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/fault"
)

// offlineReason says why a lock cannot be reached: there is no bridge to drive it, its bridge is away (for its own
// reason), or the bridge does not reach it. Empty: it can.
func offlineReason(lk *ent.Lock, br *ent.Bridge, now time.Time) string {
	switch {
	case br == nil:
		return string(fault.NoBridge)
	case br.RevokedAt != nil:
		return string(fault.BridgeRevoked)
	case !BridgeOnline(br, now) && br.OfflineReason != "":
		return br.OfflineReason
	case !BridgeOnline(br, now):
		return string(NodeLost) // its row says online, and nobody has heard it of late
	case !lk.Status.Online:
		return string(fault.LockOffline)
	}
	return ""
}
