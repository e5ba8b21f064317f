package lock

import (
	"encoding/json"
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock/slot"
)

// The statements of this file are SQL because a person waits at the door, or because each check-in runs them for each lock: ent takes
// several times as long and as much memory.

const commandTargetSQL = `SELECT l.address, l.capabilities, b.id, b.node, b.epoch, b.online, b.offline_reason, b.last_seen_at, b.link_at, b.revoked_at
	FROM locks l JOIN bridges b ON b.id = l.bridge_id AND b.property_id = l.property_id WHERE l.id = $1 AND l.property_id = $2`

// commandTarget is a lock and its bridge, as far as a command needs them.
type commandTarget struct {
	address, bridgeID, node string
	capabilities            slot.Capabilities
	epoch                   int64
	link                    bridge.Link
}

// loadCommandTarget loads what a command needs to know about a lock and its bridge. It returns a not-found fault if the property has no
// such lock, or the lock's bridge no longer exists.
func loadCommandTarget(tx *db.Tx, propertyID, lockID string) (commandTarget, error) {
	var t commandTarget
	var capabilities []byte
	found, err := tx.ReadOne(commandTargetSQL, []any{lockID, propertyID}, &t.address, &capabilities,
		&t.bridgeID, &t.node, &t.epoch, &t.link.Online, &t.link.OfflineReason, &t.link.LastSeenAt, &t.link.LinkAt, &t.link.RevokedAt)
	if err == nil && found {
		err = json.Unmarshal(capabilities, &t.capabilities)
	}
	if err != nil {
		return t, fmt.Errorf("read lock %s: %w", lockID, err)
	}
	if !found {
		return t, lockNotFound(lockID)
	}
	return t, nil
}

// command is a row of the table acts, without the columns of the outcome.
type command struct {
	id, propertyID, lockID, operation, actor, grantID, state string
	deadline, createdAt                                      time.Time
}

// doorOf is a lock with the door that it is on.
type doorOf struct {
	lockID, propertyID string
	doorID             *string
	since              *time.Time // since is when the lock was put on the door, or taken off its last; nil if it never had one
}

// doorOfLock returns a lock with the door that it is on now.
func doorOfLock(lk *ent.Lock) doorOf { return doorOf{lk.ID, lk.PropertyID, lk.DoorID, lk.DoorSince} }

const commandOnBridgeSQL = `SELECT a.property_id, a.lock_id, a.operation, a.actor, a.grant_id, a.deadline, a.created_at, l.address, l.door_id, l.door_since
	FROM acts a JOIN locks l ON l.id = a.lock_id AND l.property_id = a.property_id
	JOIN bridges b ON b.id = l.bridge_id AND b.property_id = l.property_id
	WHERE a.id = $1 AND b.id = $2 AND b.revoked_at IS NULL`

// errCommandUnknown rejects one report, not the session: a bridge may report a command that a restored database no
// longer has.
var errCommandUnknown = fault.New(fault.NotFound, fault.NotFoundReason, "this bridge has no command with that id")

// commandOnBridge loads a command on a lock of the bridge, with the lock's address and door. It returns
// errCommandUnknown if the bridge has no such command or is revoked.
func commandOnBridge(tx *db.Tx, bridgeID, commandID string) (c command, address string, at doorOf, err error) {
	c.id = commandID
	found, err := tx.ReadOne(commandOnBridgeSQL, []any{commandID, bridgeID},
		&c.propertyID, &c.lockID, &c.operation, &c.actor, &c.grantID, &c.deadline, &c.createdAt, &address, &at.doorID, &at.since)
	if err == nil && !found {
		return c, "", at, errCommandUnknown
	}
	if err != nil {
		return c, "", at, fmt.Errorf("load command %s: %w", commandID, err)
	}
	at.lockID, at.propertyID = c.lockID, c.propertyID
	return c, address, at, nil
}

// Statements about the readings of a lock. No deletion touches the newest one of a kind, because it is valid until the next.
const (
	selectLastSample    = `SELECT value FROM lock_samples WHERE lock_id = $1 AND kind = $2 AND property_id = $3 ORDER BY id DESC LIMIT 1`
	deleteOldestSamples = `DELETE FROM lock_samples WHERE property_id = $1 AND lock_id = $2 AND kind = $3 AND id <=
		(SELECT id FROM lock_samples WHERE lock_id = $4 AND kind = $5 AND property_id = $6 ORDER BY id DESC LIMIT 1 OFFSET $7)`
	selectReplacedSamples = `SELECT s.id FROM lock_samples AS s WHERE s.at < $1 AND EXISTS (SELECT 1 FROM lock_samples AS newer
		WHERE newer.lock_id = s.lock_id AND newer.kind = s.kind AND newer.property_id = s.property_id AND newer.id > s.id) ORDER BY s.at LIMIT $2`
)

const insertCommandSQL = `INSERT INTO acts (id, property_id, lock_id, operation, actor, grant_id, state, deadline, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

// insertCommand stores a new command.
func insertCommand(tx *db.Tx, c command) error {
	_, err := tx.ExecContext(tx.Context(), insertCommandSQL, c.id, c.propertyID, c.lockID, c.operation, c.actor, c.grantID, c.state, c.deadline, c.createdAt)
	if err != nil {
		return fmt.Errorf("store a command: %w", err)
	}
	return nil
}

const endCommandSQL = `UPDATE acts SET state = $1, result = $2, finished_at = $3 WHERE id = $4 AND property_id = $5 AND (state = $6 OR state = $7 AND state <> $1)`

// endCommand stores the outcome of a command that is claimed or whose outcome was unknown. It returns false for a command in another state,
// and if unknown stays unknown.
func endCommand(tx *db.Tx, c command, outcome, result string, at time.Time) (bool, error) {
	done, err := tx.ExecContext(tx.Context(), endCommandSQL, outcome, result, at, c.id, c.propertyID, CommandClaimed, CommandUnknown)
	if err != nil {
		return false, fmt.Errorf("end command %s: %w", c.id, err)
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

// slotUsage lists the slots of a lock that have a row, in the order of their last report or, without one, their last change: the first free
// slot has been empty longest. Each check-in reads all slots of its locks, and ent scans them several times slower than this SQL.
func slotUsage(tx *db.Tx, lk *ent.Lock) ([]slotUse, error) {
	uses, err := db.ReadList(tx, func(s *slotUse) []any { return []any{&s.id, &s.number, &s.free} }, slotUsageSQL, string(slot.Removed), lk.ID, lk.PropertyID)
	if err != nil {
		return nil, fmt.Errorf("list the slots of lock %s: %w", lk.ID, err)
	}
	return uses, nil
}

const slotUsageSQL = `SELECT id, number, NOT present AND evidence = $1 AND NOT "foreign" FROM slots WHERE lock_id = $2 AND property_id = $3
	ORDER BY COALESCE(seen_at, changed_at), number`

// nextGeneration increases the lock's generation, also in lk, and returns it: at least to the present time in milliseconds and to least. By
// the time, a database that was restored to an older state does not issue the generations of the lost changes again, for other codes. Call
// it before reading the slots: on PostgreSQL the row lock of this update serializes concurrent changes of one lock.
func nextGeneration(tx *db.Tx, lk *ent.Lock, least int64) (int64, error) {
	least = max(least, tx.Now().UnixMilli())
	found, err := tx.ReadOne(nextGenerationSQL, []any{least, lk.ID, lk.PropertyID}, &lk.Generation)
	if err == nil && !found {
		err = lockNotFound(lk.ID)
	}
	if err != nil {
		return 0, fmt.Errorf("increase the generation of lock %s: %w", lk.ID, err)
	}
	return lk.Generation, nil
}

const nextGenerationSQL = `UPDATE locks SET generation = CASE WHEN generation < $1 THEN $1 ELSE generation + 1 END
	WHERE id = $2 AND property_id = $3 RETURNING generation`

// updateSlotRow stores a slot's row with its changed desired state, always with a code desired and without result and use. was is the row
// as it was loaded: if its generation has changed since, the result is errSlotMoved.
func updateSlotRow(tx *db.Tx, was, row *ent.Slot) error {
	later, err := encodeWindows(row.Later)
	if err != nil {
		return err
	}
	done, err := tx.ExecContext(tx.Context(), updateSlotSQL, row.Generation, row.GrantID, row.PinID, row.DoorID, row.StaySpaceID,
		row.Pin, row.NotBefore, row.NotAfter, row.Claimant, row.Inherited, row.Evidence, row.ChangedAt, later, row.Once, row.Since, row.Former,
		was.ID, was.PropertyID, was.Generation)
	if err != nil {
		return fmt.Errorf("store the code of lock %s slot %d: %w", row.LockID, row.Number, err)
	}
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		return errSlotMoved
	}
	return err
}

// updateSlotSQL does without the SELECT that follows ent's update: a check-in updates a slot for each door.
const updateSlotSQL = `UPDATE slots SET generation = $1, present = TRUE, grant_id = $2, pin_id = $3, door_id = $4, stay_space_id = $5,
	pin = $6, not_before = $7, not_after = $8, claimant = $9, inherited = $10, evidence = $11, result = '', rule = '', used_at = NULL,
	changed_at = $12, later = $13, once = $14, since = $15, former = $16 WHERE id = $17 AND property_id = $18 AND generation = $19`

// encodeWindows encodes windows as JSON for their column, or as NULL if there are none.
func encodeWindows(all []schema.SlotWindow) (any, error) {
	if len(all) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(all)
	return string(raw), err
}
