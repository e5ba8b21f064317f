package lock

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"latchkey.dev/ent"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/health"
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

// CloseSession marks a bridge offline and its locks disconnected, unless a newer session has begun. If the node shuts down, it leaves the
// locks alone, because the bridge should soon connect to another node: [MarkDrainedBridgesLost] handles bridges that do not.
func CloseSession(tx *db.Tx, bridgeID string, epoch int64, reason bridge.OfflineReason) error {
	ended, err := bridge.EndSession(tx, bridgeID, epoch, reason)
	if err != nil || !ended || reason == bridge.ShuttingDown {
		return err
	}
	return MarkLinksLost(tx, bridgeID, reason)
}

// MarkLinksLost marks a bridge, and the locks on doors that it reached, as disconnected. It records the events that package health decides
// on, none for a connection that flaps. It does not change whether the bridge's row says online.
func MarkLinksLost(tx *db.Tx, bridgeID string, reason bridge.OfflineReason) error {
	br, err := tx.Bridge.Get(tx.Context(), bridgeID)
	if err != nil {
		return err
	}
	if err := bridge.UpdateHealth(tx, br, health.Link.Lost, reason); err != nil {
		return err
	}
	locks, err := tx.Lock.Query().Where(entlock.BridgeID(bridgeID), entlock.DoorIDNotNil()).All(tx.Context())
	if err != nil {
		return err
	}
	for _, lk := range locks {
		if !lk.Status.Online {
			continue // the lock is already marked as disconnected
		}
		if err := updateLockLink(tx, lk, health.Link.Lost, string(reason)); err != nil {
			return err
		}
	}
	return nil
}

// markBridgeOnline records that a bridge that was disconnected is online again, with those of its locks that the reports describe as
// online. was is its row before the new session. Without a disconnection in it, nothing happens.
func markBridgeOnline(tx *db.Tx, was *ent.Bridge, reports []LockReport) error {
	if was.UnreachedAt == nil {
		return nil
	}
	if err := bridge.UpdateHealth(tx, was, health.Link.Restored, ""); err != nil {
		return err
	}
	reached := make(map[string]bool, len(reports))
	for _, h := range reports {
		reached[h.Address] = h.Status != nil && h.Status.Online
	}
	return markLocksOnline(tx, was, func(lk *ent.Lock) bool { return reached[lk.Address] })
}

// RecordHeartbeats stores a heartbeat for the sessions of a node, given as epochs by bridge. It marks a bridge online
// again that [MarkSilentBridgesOffline] marked offline, if its session is still current.
func RecordHeartbeats(tx *db.Tx, node string, epochs map[string]int64) error {
	now, err := tx.DatabaseNow()
	if err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	for ids := range chunks(slices.Sorted(maps.Keys(epochs))) {
		silent, err := bridge.RecordHeartbeat(tx, node, ids, now)
		if err != nil {
			return err
		}
		for _, br := range silent {
			if br.Epoch != epochs[br.ID] {
				continue // the bridge has a newer session
			}
			if err := restoreBridge(tx, br, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// restoreBridge marks a bridge online that was marked offline for its silence, with the locks that it reached.
func restoreBridge(tx *db.Tx, was *ent.Bridge, now time.Time) error {
	online, err := bridge.MarkOnline(tx, was, now)
	if err != nil || !online || was.UnreachedAt == nil {
		return err
	}
	if err := bridge.UpdateHealth(tx, was, health.Link.Restored, ""); err != nil {
		return err
	}
	return markLocksOnline(tx, was, func(*ent.Lock) bool { return true })
}

// MarkSilentBridgesOffline marks bridges offline whose node has stored no heartbeat for bridge.MaxSilence, with their
// locks, at most chunkSize bridges in one call. The caller must make sure that the database accepted heartbeats in that
// time.
func MarkSilentBridgesOffline(tx *db.Tx) error {
	ids, err := bridge.MarkSilent(tx, chunkSize)
	if err != nil {
		return err
	}
	return markAllLinksLost(tx, ids, bridge.NodeLost)
}

// MarkDrainedBridgesLost marks bridges as disconnected that have not connected to any node since their node shut down,
// with their locks, at most chunkSize bridges in one call: see [bridge.MarkDrained].
func MarkDrainedBridgesLost(tx *db.Tx) error {
	ids, err := bridge.MarkDrained(tx, chunkSize)
	if err != nil {
		return err
	}
	return markAllLinksLost(tx, ids, bridge.Disconnected)
}

// markAllLinksLost calls [MarkLinksLost] for several bridges.
func markAllLinksLost(tx *db.Tx, bridgeIDs []string, reason bridge.OfflineReason) error {
	for _, id := range bridgeIDs {
		if err := MarkLinksLost(tx, id, reason); err != nil {
			return err
		}
	}
	return nil
}
