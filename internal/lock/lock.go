// Package lock stores locks, whether they are connected, and the desired and observed code of each of their slots.
//
// Codes are state: each slot has a row with a generation that only grows, and package slot decides what a report
// means. Unlocking is a command: it is stored, claimed once and sent at most once. This package sends nothing itself:
// after the commit it notifies package bridgelink.
package lock

import (
	"time"

	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/sqljson"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/watch"
)

// Row is a row of the table of locks.
type Row = ent.Lock

// Get returns a lock of a property, or a not-found fault.
func Get(tx *db.Tx, propertyID, lockID string) (*ent.Lock, error) {
	lk, err := tx.Lock.Query().Where(entlock.ID(lockID), entlock.PropertyID(propertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, lockNotFound(lockID)
	}
	return lk, err
}

func lockNotFound(lockID string) error {
	return fault.New(fault.NotFound, fault.LockNotFound, "no lock %s at this property", lockID)
}

// ListFilter selects locks for [List]. Zero fields select all.
type ListFilter struct {
	BridgeID      string
	Unassigned    bool // Unassigned selects only locks without a door
	DoorIDs       []string
	BatteryAtMost *int // BatteryAtMost selects only locks whose battery is low, has at most this charge in percent, or is not known
}

// List returns a page of the property's locks that match the filter, oldest first, and the number of all that match.
// skip is the offset of the page, most its maximum size.
func List(tx *db.Tx, propertyID string, w ListFilter, skip, most int) ([]*ent.Lock, int, error) {
	q := tx.Lock.Query().Where(entlock.PropertyID(propertyID))
	if w.BridgeID != "" {
		q.Where(entlock.BridgeID(w.BridgeID))
	}
	if w.Unassigned {
		q.Where(entlock.DoorIDIsNil())
	}
	if len(w.DoorIDs) > 0 {
		q.Where(entlock.DoorIDIn(w.DoorIDs...))
	}
	if w.BatteryAtMost != nil {
		q.Where(entlock.Or(entlock.BatteryNotifiedAtNotNil(), batteryAtMost(*w.BatteryAtMost)))
	}
	total, err := q.Clone().Aggregate(ent.Count()).Int(tx.Context())
	if err != nil {
		return nil, 0, err
	}
	page, err := q.Order(entlock.ByID()).Offset(skip).Limit(most).All(tx.Context())
	return page, total, err
}

// batteryAtMost selects locks whose battery has at most this charge in percent, or is not known.
func batteryAtMost(percent int) predicate.Lock {
	charge := sqljson.Path("batteryPercent")
	return func(s *sql.Selector) {
		s.Where(sql.Or(sql.Not(sqljson.HasKey(entlock.FieldStatus, charge)), sqljson.ValueLTE(entlock.FieldStatus, percent, charge)))
	}
}

// CountPerBridge returns the number of locks of each bridge of a property that has any, by bridge id.
func CountPerBridge(tx *db.Tx, propertyID string) (map[string]int, error) {
	var rows []struct {
		BridgeID string `json:"bridge_id"`
		Count    int    `json:"count"`
	}
	err := tx.Lock.Query().Where(entlock.PropertyID(propertyID)).GroupBy(entlock.FieldBridgeID).Aggregate(ent.Count()).Scan(tx.Context(), &rows)
	counts := make(map[string]int, len(rows))
	for _, r := range rows {
		counts[r.BridgeID] = r.Count
	}
	return counts, err
}

// LocksByDoor loads the locks on some doors of a property, by door id. It omits doors without a lock.
func LocksByDoor(tx *db.Tx, propertyID string, doorIDs []string) (map[string]*ent.Lock, error) {
	at := make(map[string]*ent.Lock, len(doorIDs))
	for chunk := range chunks(doorIDs) {
		locks, err := tx.Lock.Query().Where(entlock.PropertyID(propertyID), entlock.DoorIDIn(chunk...)).All(tx.Context())
		if err != nil {
			return nil, err
		}
		for _, lk := range locks {
			at[*lk.DoorID] = lk
		}
	}
	return at, nil
}

// IDsByDoor returns the ids of the locks on some doors of a property, by door id. It omits doors without a lock.
func IDsByDoor(tx *db.Tx, propertyID string, doorIDs []string) (map[string]string, error) {
	at := make(map[string]string, len(doorIDs))
	for chunk := range chunks(doorIDs) {
		var rows []struct {
			ID     string
			DoorID string `json:"door_id"`
		}
		q := tx.Lock.Query().Where(entlock.PropertyID(propertyID), entlock.DoorIDIn(chunk...))
		if err := q.Select(entlock.FieldID, entlock.FieldDoorID).Scan(tx.Context(), &rows); err != nil {
			return nil, err
		}
		for _, r := range rows {
			at[r.DoorID] = r.ID
		}
	}
	return at, nil
}

// Rename sets a lock's name, which it does not check. Afterwards the lock ignores the name that its bridge suggests.
func Rename(tx *db.Tx, propertyID, lockID, name string) (*ent.Lock, error) {
	lk, err := Get(tx, propertyID, lockID)
	if err != nil {
		return nil, err
	}
	watch.Notify(tx, propertyID, watch.Locks, lockID)
	return tx.Lock.UpdateOne(lk).SetName(name).SetNamed(true).Save(tx.Context())
}

// AssignDoor assigns a lock to a space or gate of the property, or to none if doorID is empty. It does nothing if the lock is there
// already. It returns the fault InUse if the door has another lock, and a not-found fault for an unknown lock or door. Codes stay on the
// lock: the caller then plans access at both doors again.
func AssignDoor(tx *db.Tx, propertyID, lockID, doorID string) (*ent.Lock, error) {
	ctx := tx.Context()
	lk, err := Get(tx, propertyID, lockID)
	if err != nil {
		return nil, err
	}
	if doorID == db.OrZero(lk.DoorID) {
		return lk, nil
	}
	if doorID == "" {
		return moveLock(tx, lk, "")
	}
	if err := doorExists(tx, propertyID, doorID); err != nil {
		return nil, err
	}
	other, err := tx.Lock.Query().Where(entlock.PropertyID(propertyID), entlock.DoorID(doorID), entlock.IDNEQ(lockID)).First(ctx)
	if err == nil {
		return nil, fault.New(fault.Exists, fault.InUse, "the door has the lock %q (%s) already: take that one off first", other.Name, other.ID)
	}
	if !ent.IsNotFound(err) {
		return nil, err
	}
	return moveLock(tx, lk, doorID)
}

// doorExists returns a not-found fault if the property has no space or gate with this id.
func doorExists(tx *db.Tx, propertyID, doorID string) error {
	ok, err := tx.Space.Query().Where(spaceIs(propertyID, doorID)...).Exist(tx.Context())
	if err != nil || ok {
		return err
	}
	ok, err = tx.Gate.Query().Where(gateIs(propertyID, doorID)...).Exist(tx.Context())
	if err != nil || ok {
		return err
	}
	return fault.New(fault.NotFound, fault.SpaceNotFound, "doorId is no space or gate of this property")
}

// State is the state of a lock that is computed from its row, its bridge and its slots.
type State struct {
	Online        bool   // Online means that the bridge is online and reaches the lock
	Revoked       bool   // Revoked means that the bridge is revoked or missing, so that the lock cannot be reached
	FreeSlots     int    // FreeSlots is the number of slots that a new code can use
	OfflineReason string // OfflineReason is in camelCase, and empty if the lock is online
}

// LoadStates computes the state of each of some locks of a property, by lock id.
func LoadStates(tx *db.Tx, now time.Time, propertyID string, locks []*ent.Lock) (map[string]State, error) {
	if len(locks) == 0 {
		return map[string]State{}, nil
	}
	bridges, err := bridgesOf(tx, propertyID, locks)
	if err != nil {
		return nil, err
	}
	free, err := countFreeSlots(tx, propertyID, locks)
	if err != nil {
		return nil, err
	}
	states := make(map[string]State, len(locks))
	for _, lk := range locks {
		br := bridges[lk.BridgeID]
		states[lk.ID] = State{
			Online:        br != nil && bridge.IsOnline(br, now) && lk.Status.Online,
			Revoked:       br == nil || br.RevokedAt != nil,
			FreeSlots:     free[lk.ID],
			OfflineReason: offlineReason(lk, br, now),
		}
	}
	return states, nil
}

// IsJammed reports whether the bolt of a lock cannot move, by the last status of the lock.
func IsJammed(lk *ent.Lock) bool { return lk.Status.Bolt == string(slot.Jammed) }

// bridgesOf loads the bridges of some locks, by bridge id. A bridge that no longer exists has the value nil.
func bridgesOf(tx *db.Tx, propertyID string, locks []*ent.Lock) (map[string]*ent.Bridge, error) {
	found := map[string]*ent.Bridge{}
	var ids []string
	for _, lk := range locks {
		if _, ok := found[lk.BridgeID]; !ok {
			found[lk.BridgeID] = nil
			ids = append(ids, lk.BridgeID)
		}
	}
	for chunk := range chunks(ids) {
		rows, err := tx.Bridge.Query().Where(bridgeIn(propertyID, chunk)...).All(tx.Context())
		if err != nil {
			return nil, err
		}
		for _, br := range rows {
			found[br.ID] = br
		}
	}
	return found, nil
}

// bridgeIn matches the bridges of a property with one of the ids.
func bridgeIn(propertyID string, ids []string) []predicate.Bridge {
	return []predicate.Bridge{entbridge.PropertyID(propertyID), entbridge.IDIn(ids...)}
}
