package lock

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
)

// CloseSession marks a bridge offline and its locks disconnected, unless a newer session has begun. If the node shuts
// down, it leaves the locks alone, because the bridge should soon connect to another node.
func CloseSession(tx *db.Tx, bridgeID string, epoch int64, reason bridge.OfflineReason) error {
	n, err := tx.Bridge.Update().Where(entbridge.ID(bridgeID), entbridge.Epoch(epoch), entbridge.Online(true)).
		SetOnline(false).SetOfflineReason(string(reason)).SetLastSeenAt(tx.Now()).SetLinkAt(tx.Now()).Save(tx.Context())
	switch {
	case err != nil:
		return err
	case n == 0:
		return setOfflineReason(tx, bridgeID, epoch, reason)
	case reason == bridge.ShuttingDown:
		return notifyLink(tx, bridgeID)
	}
	return MarkLinksLost(tx, bridgeID, string(reason))
}

// notifyLink notifies the streams of staff that the session of a bridge ended, or that the reason of its end changed.
func notifyLink(tx *db.Tx, bridgeID string) error {
	br, err := tx.Bridge.Get(tx.Context(), bridgeID)
	if err != nil {
		return err
	}
	bridge.NotifyLink(tx, br)
	return nil
}

// setOfflineReason stores why a session ended whose bridge was already marked offline for its silence. Otherwise a
// late heartbeat of the session would mark the bridge online.
func setOfflineReason(tx *db.Tx, bridgeID string, epoch int64, reason bridge.OfflineReason) error {
	n, err := tx.Bridge.Update().Where(entbridge.ID(bridgeID), entbridge.Epoch(epoch), entbridge.Online(false), entbridge.OfflineReason(string(bridge.NodeLost))).
		SetOfflineReason(string(reason)).SetLinkAt(tx.Now()).Save(tx.Context())
	if err != nil || n == 0 {
		return err
	}
	return notifyLink(tx, bridgeID)
}

// MarkLinksLost marks a bridge, and the locks on doors that it reached, as disconnected, and records the events. It
// does not change whether the bridge's row says online.
func MarkLinksLost(tx *db.Tx, bridgeID, reason string) error {
	br, err := tx.Bridge.Get(tx.Context(), bridgeID)
	if err != nil {
		return err
	}
	bridge.NotifyLink(tx, br)
	if err := updateBridgeLink(tx, br, LinkState.Lost, reason); err != nil {
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
		if err := updateLockLink(tx, lk, LinkState.Lost, reason); err != nil {
			return err
		}
	}
	return nil
}

// markBridgeOnline records that a bridge that was disconnected is online again, with those of its locks that the
// reports describe as online. was is its row before the new session.
func markBridgeOnline(tx *db.Tx, was *ent.Bridge, reports []LockReport) error {
	if was.UnreachedAt == nil {
		return nil
	}
	if err := updateBridgeLink(tx, was, LinkState.Restored, ""); err != nil {
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
		err := tx.Bridge.Update().Where(entbridge.IDIn(ids...), entbridge.Node(node), entbridge.Online(true)).SetLastSeenAt(now).Exec(tx.Context())
		if err != nil {
			return err
		}
		lost, err := tx.Bridge.Query().Where(entbridge.IDIn(ids...), entbridge.Node(node), entbridge.Online(false),
			entbridge.OfflineReason(string(bridge.NodeLost)), entbridge.RevokedAtIsNil()).All(tx.Context())
		if err != nil {
			return err
		}
		for _, br := range lost {
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
	n, err := tx.Bridge.Update().Where(entbridge.ID(was.ID), entbridge.PropertyID(was.PropertyID), entbridge.Epoch(was.Epoch), entbridge.Online(false)).
		SetOnline(true).SetOfflineReason("").SetLastSeenAt(now).SetLinkAt(tx.Now()).Save(tx.Context())
	if err != nil || n == 0 {
		return err
	}
	bridge.NotifyLink(tx, was)
	if was.UnreachedAt == nil {
		return nil
	}
	if err := updateBridgeLink(tx, was, LinkState.Restored, ""); err != nil {
		return err
	}
	return markLocksOnline(tx, was, func(*ent.Lock) bool { return true })
}

// MarkSilentBridgesOffline marks bridges offline whose node has stored no heartbeat for bridge.MaxSilence, at most
// chunkSize in one call. The caller must make sure that the database accepted heartbeats in that time.
func MarkSilentBridgesOffline(tx *db.Tx) error {
	now, err := tx.DatabaseNow()
	if err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	lost, err := tx.Bridge.Query().
		Where(entbridge.Online(true), entbridge.LastSeenAtLT(now.Add(-bridge.MaxSilence))).Limit(chunkSize).All(tx.Context())
	if err != nil {
		return err
	}
	for _, br := range lost {
		n, err := tx.Bridge.Update().Where(entbridge.ID(br.ID), entbridge.Epoch(br.Epoch), entbridge.Online(true)).
			SetOnline(false).SetOfflineReason(string(bridge.NodeLost)).SetLinkAt(tx.Now()).Save(tx.Context())
		if err != nil {
			return err
		}
		if n > 0 {
			if err := MarkLinksLost(tx, br.ID, string(bridge.NodeLost)); err != nil {
				return err
			}
		}
	}
	return nil
}

// MarkAllBridgesOffline marks all bridges offline that a crashed server process left online. Only a process that uses
// the database exclusively may call it, before it accepts the first session. Staff are not notified yet, because
// bridges reconnect after a restart: [MarkDrainedBridgesLost] handles bridges that stay offline.
func MarkAllBridgesOffline(tx *db.Tx) error {
	return tx.Bridge.Update().Where(entbridge.Online(true)).
		SetOnline(false).SetOfflineReason(string(bridge.ShuttingDown)).SetLinkAt(tx.Now()).Exec(tx.Context())
}

// MarkDrainedBridgesLost marks bridges as disconnected whose node shut down more than bridge.MaxSilence ago, if they
// have not connected to any node since, at most chunkSize in one call. The wait gives them time to connect to another
// node.
func MarkDrainedBridgesLost(tx *db.Tx) error {
	left, err := tx.Bridge.Query().Where(entbridge.Online(false), entbridge.OfflineReason(string(bridge.ShuttingDown)), entbridge.RevokedAtIsNil(),
		entbridge.LinkAtLT(tx.Now().Add(-bridge.MaxSilence))).Limit(chunkSize).All(tx.Context())
	if err != nil {
		return err
	}
	for _, br := range left {
		n, err := tx.Bridge.Update().Where(entbridge.ID(br.ID), entbridge.Epoch(br.Epoch), entbridge.Online(false)).
			SetOfflineReason(string(bridge.Disconnected)).Save(tx.Context())
		if err != nil {
			return err
		}
		if n > 0 {
			if err := MarkLinksLost(tx, br.ID, string(bridge.Disconnected)); err != nil {
				return err
			}
		}
	}
	return nil
}
