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

// CloseSession marks a bridge offline, unless another session has begun.
func CloseSession(tx *db.Tx, bridgeID string, epoch int64, reason bridge.OfflineReason) error {
	n, err := tx.Bridge.Update().Where(entbridge.ID(bridgeID), entbridge.Epoch(epoch), entbridge.Online(true)).
		SetOnline(false).SetOfflineReason(string(reason)).SetLastSeenAt(tx.Now()).SetLinkAt(tx.Now()).Save(tx.Context())
	switch {
	case err != nil:
		return err
	case n == 0:
		return setOfflineReason(tx, bridgeID, epoch, reason)
	case reason == bridge.ShuttingDown:
		return nil
	}
	return MarkLinksLost(tx, bridgeID, string(reason))
}

// setOfflineReason stores why a session ended that was considered lost before. Otherwise a late heartbeat would mark the bridge online.
func setOfflineReason(tx *db.Tx, bridgeID string, epoch int64, reason bridge.OfflineReason) error {
	return tx.Bridge.Update().Where(entbridge.ID(bridgeID), entbridge.Epoch(epoch), entbridge.Online(false), entbridge.OfflineReason(string(bridge.NodeLost))).
		SetOfflineReason(string(reason)).SetLinkAt(tx.Now()).Exec(tx.Context())
}

// MarkLinksLost records the loss of a bridge and of the locks on doors that it reached.
func MarkLinksLost(tx *db.Tx, bridgeID, reason string) error {
	br, err := tx.Bridge.Get(tx.Context(), bridgeID)
	if err != nil {
		return err
	}
	if err := updateBridgeLink(tx, br, LinkState.Lost, reason); err != nil {
		return err
	}
	locks, err := tx.Lock.Query().Where(entlock.BridgeID(bridgeID), entlock.DoorIDNotNil()).All(tx.Context())
	if err != nil {
		return err
	}
	for _, lk := range locks {
		if !lk.Status.Online {
			continue // its loss is recorded already
		}
		if err := updateLockLink(tx, lk, LinkState.Lost, reason); err != nil {
			return err
		}
	}
	return nil
}

// markBridgeOnline records that a lost bridge is online again, and so are the locks that it reaches.
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

// RecordHeartbeats stores that a node received a heartbeat in its sessions, given as epochs by bridge. A bridge in session that
// [MarkSilentBridgesOffline] considered lost is online again.
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
				continue // an older session
			}
			if err := restoreBridge(tx, br, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// restoreBridge marks a bridge in session online again, and the locks that it reached.
func restoreBridge(tx *db.Tx, was *ent.Bridge, now time.Time) error {
	n, err := tx.Bridge.Update().Where(entbridge.ID(was.ID), entbridge.PropertyID(was.PropertyID), entbridge.Epoch(was.Epoch), entbridge.Online(false)).
		SetOnline(true).SetOfflineReason("").SetLastSeenAt(now).SetLinkAt(tx.Now()).Save(tx.Context())
	if err != nil || n == 0 || was.UnreachedAt == nil {
		return err
	}
	if err := updateBridgeLink(tx, was, LinkState.Restored, ""); err != nil {
		return err
	}
	return markLocksOnline(tx, was, func(*ent.Lock) bool { return true })
}

// MarkSilentBridgesOffline marks bridges offline whose node has stored no heartbeat for bridge.MaxSilence. The caller makes sure that nodes
// could store heartbeats.
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

// MarkAllBridgesOffline marks all bridges offline that a killed run of the server left online. Only a process that has the database to
// itself may call it, before it accepts the first session. Bridges should reconnect as after a restart, so staff are not notified yet:
// [MarkDrainedBridgesLost] does that for bridges that stay offline.
func MarkAllBridgesOffline(tx *db.Tx) error {
	return tx.Bridge.Update().Where(entbridge.Online(true)).
		SetOnline(false).SetOfflineReason(string(bridge.ShuttingDown)).SetLinkAt(tx.Now()).Exec(tx.Context())
}

// MarkDrainedBridgesLost records the loss of bridges that their node drained and that have connected to no node since. The stop of a
// node is no loss.
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
