package mobilekey

import (
	"fmt"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	entdoorrule "latchkey.dev/ent/doorrule"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
)

// RestartDoor makes a door refuse all tokens that were issued before now. It creates the property's issuer if there is none, publishes a
// status list and notifies the bridges. It returns the floor: the lowest generation of tokens that the door then accepts. It returns a
// not-found fault if the property has no such lock.
func RestartDoor(tx *db.Tx, keys *keyring.Ring, propertyID, lockID string) (int64, error) {
	if _, err := lock.Get(tx, propertyID, lockID); err != nil {
		return 0, err
	}
	i, err := loadOrCreateIssuer(tx, keys, propertyID)
	if err != nil {
		return 0, err
	}
	if i.row, err = tx.Issuer.UpdateOne(i.row).AddGeneration(1).Save(tx.Context()); err != nil {
		return 0, fmt.Errorf("raise the generation of an issuer: %w", err)
	}
	if err := setRule(tx, propertyID, lockID, entdoorrule.FieldFloor, i.row.Generation); err != nil {
		return 0, fmt.Errorf("store the floor of a door: %w", err)
	}
	if _, err := i.publishList(true); err != nil {
		return 0, err
	}
	return i.row.Generation, bridge.NotifyKeysChanged(tx, propertyID)
}

// SetListAge sets the maximum age, in whole seconds, of the status list with which a door still opens for SmartKeys; 0 means the default.
// It does not check the age. It notifies the bridges, and publishes a new list if the new age makes one due. It returns a not-found fault
// if the property has no such lock.
func SetListAge(tx *db.Tx, keys *keyring.Ring, propertyID, lockID string, age time.Duration) error {
	if _, err := lock.Get(tx, propertyID, lockID); err != nil {
		return err
	}
	i, err := loadOrCreateIssuer(tx, keys, propertyID)
	if err != nil {
		return err
	}
	if err := setRule(tx, propertyID, lockID, entdoorrule.FieldListAgeSeconds, int(age/time.Second)); err != nil {
		return fmt.Errorf("store the rule of a door: %w", err)
	}
	if _, err := i.publishList(false); err != nil {
		return err
	}
	return bridge.NotifyKeysChanged(tx, propertyID)
}

// setRule stores one field of a lock's rule, and creates the rule if the lock has none. It does not notify the bridges.
func setRule(tx *db.Tx, propertyID, lockID, field string, value any) error {
	_, err := tx.Insert(entsql.Insert(entdoorrule.Table).
		Columns(entdoorrule.FieldID, entdoorrule.FieldPropertyID, entdoorrule.FieldCreatedAt, field).
		Values(lockID, propertyID, tx.Now(), value).
		OnConflict(entsql.ConflictColumns(entdoorrule.FieldID), entsql.ResolveWith(func(u *entsql.UpdateSet) { u.SetExcluded(field) })))
	return err
}

// ListAgeRule is the maximum age of the status list for one lock of a bridge. Address is that of the lock at the bridge.
type ListAgeRule struct {
	Address string
	ListAge time.Duration
}

// ListAgeRules returns the rules of those locks of a bridge that have one, perhaps none. The bridge receives them with the status list.
func ListAgeRules(tx *db.Tx, propertyID, bridgeID string) ([]ListAgeRule, error) {
	rules, err := tx.DoorRule.Query().Where(entdoorrule.PropertyID(propertyID), entdoorrule.ListAgeSecondsGT(0)).All(tx.Context())
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	age := map[string]time.Duration{}
	var ids []string
	for _, r := range rules {
		ids, age[r.ID] = append(ids, r.ID), time.Duration(r.ListAgeSeconds)*time.Second
	}
	locks, err := tx.Lock.Query().Where(entlock.PropertyID(propertyID), entlock.BridgeID(bridgeID), entlock.IDIn(ids...)).Order(entlock.ByID()).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the locks of door rules: %w", err)
	}
	out := make([]ListAgeRule, 0, len(locks))
	for _, lk := range locks {
		out = append(out, ListAgeRule{lk.Address, age[lk.ID]})
	}
	return out, nil
}
