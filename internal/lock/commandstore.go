package lock

import (
	"encoding/json"
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// These statements are SQL because a person waits at the door: ent takes several times as long and as much memory.

const commandTargetSQL = `SELECT l.address, l.capabilities, b.id, b.node, b.epoch, b.online, b.offline_reason, b.last_seen_at, b.link_at, b.revoked_at
	FROM locks l JOIN bridges b ON b.id = l.bridge_id AND b.property_id = l.property_id WHERE l.id = $1 AND l.property_id = $2`

// commandTarget loads only the columns of a lock and its bridge that a command needs.
func commandTarget(tx *db.Tx, propertyID, lockID string) (*ent.Lock, *ent.Bridge, error) {
	lk, br := &ent.Lock{ID: lockID, PropertyID: propertyID}, &ent.Bridge{PropertyID: propertyID}
	var capabilities []byte
	found, err := tx.ReadOne(commandTargetSQL, []any{lockID, propertyID}, &lk.Address, &capabilities,
		&br.ID, &br.Node, &br.Epoch, &br.Online, &br.OfflineReason, &br.LastSeenAt, &br.LinkAt, &br.RevokedAt)
	if err == nil && found {
		err = json.Unmarshal(capabilities, &lk.Capabilities)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read lock %s: %w", lockID, err)
	}
	if !found {
		return nil, nil, lockNotFound(lockID)
	}
	lk.BridgeID = br.ID
	return lk, br, nil
}

const commandOnBridgeSQL = `SELECT a.property_id, a.lock_id, a.operation, a.actor, a.grant_id, a.deadline, a.created_at, l.address, l.door_id, l.door_since
	FROM acts a JOIN locks l ON l.id = a.lock_id AND l.property_id = a.property_id
	JOIN bridges b ON b.id = l.bridge_id AND b.property_id = l.property_id
	WHERE a.id = $1 AND b.id = $2 AND b.revoked_at IS NULL`

// errCommandUnknown rejects one report, not the session: a bridge may report a command that a restored database no
// longer has.
var errCommandUnknown = fault.New(fault.NotFound, fault.NotFoundReason, "this bridge has no command with that id")

// commandOnBridge loads a command with its lock. It fails if the bridge is revoked.
func commandOnBridge(tx *db.Tx, bridgeID, actID string) (*ent.Act, *ent.Lock, error) {
	a, lk := &ent.Act{ID: actID}, &ent.Lock{BridgeID: bridgeID}
	found, err := tx.ReadOne(commandOnBridgeSQL, []any{actID, bridgeID},
		&a.PropertyID, &a.LockID, &a.Operation, &a.Actor, &a.GrantID, &a.Deadline, &a.CreatedAt, &lk.Address, &lk.DoorID, &lk.DoorSince)
	if err != nil {
		return nil, nil, fmt.Errorf("load command %s: %w", actID, err)
	}
	if !found {
		return nil, nil, errCommandUnknown
	}
	lk.ID, lk.PropertyID = a.LockID, a.PropertyID
	return a, lk, nil
}

const insertCommandSQL = `INSERT INTO acts (id, property_id, lock_id, operation, actor, grant_id, state, deadline, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

func insertCommand(tx *db.Tx, a *ent.Act) error {
	_, err := tx.ExecContext(tx.Context(), insertCommandSQL, a.ID, a.PropertyID, a.LockID, a.Operation, a.Actor, a.GrantID, a.State, a.Deadline, a.CreatedAt)
	if err != nil {
		return fmt.Errorf("store a command: %w", err)
	}
	return nil
}

const endCommandSQL = `UPDATE acts SET state = $1, result = $2, finished_at = $3 WHERE id = $4 AND property_id = $5 AND (state = $6 OR state = $7 AND state <> $1)`

// endCommand stores the outcome of a command that is claimed or whose outcome was unknown. It returns false if the
// command has another final outcome.
func endCommand(tx *db.Tx, a *ent.Act, outcome, result string, at time.Time) (bool, error) {
	done, err := tx.ExecContext(tx.Context(), endCommandSQL, outcome, result, at, a.ID, a.PropertyID, CommandClaimed, CommandUnknown)
	if err != nil {
		return false, fmt.Errorf("end command %s: %w", a.ID, err)
	}
	n, err := done.RowsAffected()
	return n > 0, err
}
