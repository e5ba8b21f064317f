package bridge

import (
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/db"
)

// EndSession stores that a session of a bridge ended, and marks the bridge offline. ended is false if the bridge was offline before, or if
// a newer session has begun. If the bridge was only marked offline for its silence, EndSession also replaces the reason, because a late
// heartbeat of the ended session would otherwise mark the bridge online.
func EndSession(tx *db.Tx, bridgeID string, epoch int64, reason OfflineReason) (ended bool, err error) {
	n, err := tx.Bridge.Update().Where(entbridge.ID(bridgeID), entbridge.Epoch(epoch), entbridge.Online(true)).
		SetOnline(false).SetOfflineReason(string(reason)).SetLastSeenAt(tx.Now()).SetLinkAt(tx.Now()).Save(tx.Context())
	ended = n > 0
	if err == nil && !ended {
		n, err = tx.Bridge.Update().
			Where(entbridge.ID(bridgeID), entbridge.Epoch(epoch), entbridge.Online(false), entbridge.OfflineReason(string(NodeLost))).
			SetOfflineReason(string(reason)).SetLinkAt(tx.Now()).Save(tx.Context())
	}
	if err != nil || n == 0 {
		return false, err
	}
	br, err := tx.Bridge.Get(tx.Context(), bridgeID)
	if err != nil {
		return false, err
	}
	NotifyLink(tx, br)
	return ended, nil
}

// RecordHeartbeat stores a heartbeat, at the time now of the database, for those of the given bridges that are online at the node. It
// returns those that [MarkSilent] marked offline since their last heartbeat; it does not mark them online, which the caller may do by
// [MarkOnline].
func RecordHeartbeat(tx *db.Tx, node string, ids []string, now time.Time) (silent []*ent.Bridge, err error) {
	err = tx.Bridge.Update().Where(entbridge.IDIn(ids...), entbridge.Node(node), entbridge.Online(true)).SetLastSeenAt(now).Exec(tx.Context())
	if err != nil {
		return nil, err
	}
	return tx.Bridge.Query().Where(entbridge.IDIn(ids...), entbridge.Node(node), entbridge.Online(false),
		entbridge.OfflineReason(string(NodeLost)), entbridge.RevokedAtIsNil()).All(tx.Context())
}

// MarkOnline marks a bridge online that was marked offline for its silence, with a heartbeat at the time now of the database. It returns
// false if the bridge is online already or has a newer session. The caller makes sure that the session of was has not ended: MarkOnline
// does not check why the bridge is offline.
func MarkOnline(tx *db.Tx, was *ent.Bridge, now time.Time) (bool, error) {
	n, err := tx.Bridge.Update().
		Where(entbridge.ID(was.ID), entbridge.PropertyID(was.PropertyID), entbridge.Epoch(was.Epoch), entbridge.Online(false)).
		SetOnline(true).SetOfflineReason("").SetLastSeenAt(now).SetLinkAt(tx.Now()).Save(tx.Context())
	if err != nil || n == 0 {
		return false, err
	}
	NotifyLink(tx, was)
	return true, nil
}

// MarkSilent marks bridges offline whose node has stored no heartbeat for MaxSilence, at most limit. It returns the ids of those that it
// marked. The caller calls lock.MarkLinksLost for them.
func MarkSilent(tx *db.Tx, limit int) ([]string, error) {
	now, err := tx.DatabaseNow()
	if err != nil {
		return nil, err
	}
	silent, err := tx.Bridge.Query().Where(entbridge.Online(true), entbridge.LastSeenAtLT(now.Add(-MaxSilence))).Limit(limit).All(tx.Context())
	if err != nil {
		return nil, err
	}
	return markEach(tx, silent, func(br *ent.Bridge) *ent.BridgeUpdate {
		return tx.Bridge.Update().
			Where(entbridge.ID(br.ID), entbridge.PropertyID(br.PropertyID), entbridge.Epoch(br.Epoch), entbridge.Online(true)).
			SetOnline(false).SetOfflineReason(string(NodeLost)).SetLinkAt(tx.Now())
	})
}

// MarkDrained marks bridges as disconnected whose node shut down more than MaxSilence ago, if they have not connected to any node since, at
// most limit. The wait gives them time to connect to another node. It returns the ids of those that it marked. The caller calls
// lock.MarkLinksLost for them.
func MarkDrained(tx *db.Tx, limit int) ([]string, error) {
	left, err := tx.Bridge.Query().Where(entbridge.Online(false), entbridge.OfflineReason(string(ShuttingDown)), entbridge.RevokedAtIsNil(),
		entbridge.LinkAtLT(tx.Now().Add(-MaxSilence))).Limit(limit).All(tx.Context())
	if err != nil {
		return nil, err
	}
	return markEach(tx, left, func(br *ent.Bridge) *ent.BridgeUpdate {
		return tx.Bridge.Update().
			Where(entbridge.ID(br.ID), entbridge.PropertyID(br.PropertyID), entbridge.Epoch(br.Epoch), entbridge.Online(false)).
			SetOfflineReason(string(Disconnected))
	})
}

// markEach saves an update for each bridge, and returns the ids of the bridges whose row it changed, for which it also calls [NotifyLink].
// An update changes no row if a new session has begun.
func markEach(tx *db.Tx, bridges []*ent.Bridge, update func(*ent.Bridge) *ent.BridgeUpdate) (ids []string, err error) {
	for _, br := range bridges {
		n, err := update(br).Save(tx.Context())
		if err != nil {
			return nil, err
		}
		if n > 0 {
			NotifyLink(tx, br)
			ids = append(ids, br.ID)
		}
	}
	return ids, nil
}

// MarkAllOffline marks all bridges offline that a crashed server process left online. Only a process that uses the database exclusively may
// call it, before it accepts the first session. Staff are not notified yet, because bridges reconnect after a restart: [MarkDrained] finds
// bridges that stay offline.
func MarkAllOffline(tx *db.Tx) error {
	return tx.Bridge.Update().Where(entbridge.Online(true)).
		SetOnline(false).SetOfflineReason(string(ShuttingDown)).SetLinkAt(tx.Now()).Exec(tx.Context())
}

// StoreEventSequence stores the sequence number of the last stored event of a bridge, in the session of the row br. If the bridge has a
// newer epoch, it stores nothing and returns nil: the caller loads br with [InSession] in the same transaction.
func StoreEventSequence(tx *db.Tx, br *ent.Bridge, sequence int64) error {
	return tx.Bridge.Update().Where(entbridge.ID(br.ID), entbridge.PropertyID(br.PropertyID), entbridge.Epoch(br.Epoch)).
		SetEventSequence(sequence).Exec(tx.Context())
}
