package phone

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entissuerkey "latchkey.dev/ent/issuerkey"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/smartkey"
)

// The steps of a rotation from A to B, docs/smartkey.md section 7: A and B are published, B becomes current, A leaves.
const (
	announced = 10 * time.Minute               // A is current and B is known: bridges that are connected have it by then
	overlap   = smartkey.MaxLife + time.Minute // B is current: after this the last token of A is over
)

// renewKeysBefore is how long before its end an issuer key is replaced by itself.
const renewKeysBefore = 60 * 24 * time.Hour

var errRotating = fault.New(fault.Precondition, fault.InUse, "the issuer key is being replaced already; that takes a day. If the old one may be known to others, replace it at once")

// Rotation says how far the replacement of an issuer key is.
type Rotation struct {
	Version int64
	Current string // the id of the key that signs
}

// Rotate begins to replace a property's issuer key; atOnce does it in one step, after which the old key counts for nothing.
func Rotate(tx *db.Tx, keys *keyring.Ring, propertyID string, atOnce bool) (Rotation, error) {
	i, err := ensure(tx, keys, propertyID)
	if err != nil {
		return Rotation{}, err
	}
	held := i.set.Keys()
	if len(held) > 1 && !atOnce {
		return Rotation{}, errRotating
	}
	_, signer, err := i.current()
	if err != nil {
		return Rotation{}, err
	}
	next, _, err := i.draw()
	if err != nil {
		return Rotation{}, err
	}
	if atOnce {
		err = i.replace(func() error { return i.sign(signer, next) })
	} else {
		err = i.sign(signer, held[0], next)
	}
	if err != nil {
		return Rotation{}, err
	}
	if err := lock.WakeKeys(tx, propertyID); err != nil {
		return Rotation{}, err
	}
	return i.rotation()
}

func (i *issuer) rotation() (Rotation, error) {
	k, err := i.set.Current()
	return Rotation{i.row.KeySetVersion, KeyName(k.Key.KeyID())}, err
}

// replace changes who signs, has the new one sign the list, and forgets the private halves of keys that left.
func (i *issuer) replace(change func() error) error {
	if err := change(); err != nil {
		return err
	}
	if _, err := i.publish(true); err != nil {
		return err
	}
	var kept []string
	for _, k := range i.set.Keys() {
		kept = append(kept, k.Key.KeyID().String())
	}
	err := i.tx.IssuerKey.Update().Where(entissuerkey.PropertyID(i.row.ID), entissuerkey.KeyIDNotIn(kept...)).ClearSealed().Exec(i.tx.Context())
	if err != nil {
		return fmt.Errorf("forget a former issuer key: %w", err)
	}
	return nil
}

// proceed takes the next step of a rotation whose time has come.
func (i *issuer) proceed() (moved bool, err error) {
	held, since := i.set.Keys(), i.tx.Now().Sub(i.row.KeySetAt)
	if len(held) == 1 {
		if i.tx.Now().Before(held[0].NotAfter.Add(-renewKeysBefore)) {
			return false, nil
		}
		_, err := Rotate(i.tx, i.keys, i.row.ID, false)
		return true, err
	}
	_, signer, err := i.current()
	if err != nil {
		return false, err
	}
	newest, err := i.newest(held)
	if err != nil {
		return false, err
	}
	switch {
	case newest.Key != held[0].Key && since >= announced:
		err = i.replace(func() error { return i.sign(signer, newest, held[0]) })
	case newest.Key == held[0].Key && since >= overlap:
		err = i.replace(func() error { return i.sign(signer, newest) })
	default:
		return false, nil
	}
	return true, err
}

// newest is the key of a set that was drawn last.
func (i *issuer) newest(held []smartkey.IssuerKey) (smartkey.IssuerKey, error) {
	row, err := i.tx.IssuerKey.Query().Where(entissuerkey.PropertyID(i.row.ID)).Order(ent.Desc(entissuerkey.FieldID)).First(i.tx.Context())
	if err != nil {
		return smartkey.IssuerKey{}, fmt.Errorf("look for the newest issuer key: %w", err)
	}
	n := slices.IndexFunc(held, func(k smartkey.IssuerKey) bool { return k.Key.KeyID().String() == row.KeyID })
	if n < 0 {
		return smartkey.IssuerKey{}, fmt.Errorf("the newest issuer key of %s is in no key set", i.row.ID)
	}
	return held[n], nil
}
