package phone

import (
	"crypto/ecdsa"
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entissuerkey "latchkey.dev/ent/issuerkey"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/smartkey"
)

// The steps of a rotation from A to B, docs/smartkey.md section 7: A and B are published, B becomes current, A leaves.
const (
	// longestAway is for how long a bridge that does not say that it knows B is waited for: from when it was seen last, and
	// from the announcement. After that its status list is too old to open by anyway, and with a newer one come newer keys.
	longestAway = smartkey.DefaultMaxListAge
	overlap     = smartkey.MaxLife + time.Minute // B is current: after this the last token of A is over
)

// renewKeysBefore is how long before its end an issuer key is replaced by itself.
const renewKeysBefore = 60 * 24 * time.Hour

var errRotating = fault.New(fault.Precondition, fault.InUse, "the issuer key is being replaced already; that takes a day after every bridge knows the new one. If the old one may be known to others, replace it at once")

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
		err = i.atOnce(signer, next)
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

// atOnce replaces the key in one step. What was signed before counts for nothing: phones have to renew.
func (i *issuer) atOnce(signer *ecdsa.PrivateKey, next smartkey.IssuerKey) error {
	if err := i.replace(func() error { return i.sign(signer, next) }); err != nil {
		return err
	}
	var err error
	if i.row, err = i.tx.Issuer.UpdateOne(i.row).SetLeastVersion(i.row.KeySetVersion).Save(i.tx.Context()); err != nil {
		return fmt.Errorf("note that a key was replaced at once: %w", err)
	}
	return nil
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

// Follower is a bridge as far as a rotation waits for it.
type Follower struct {
	Seen    *time.Time // last; nil: never yet
	Version *int64     // of the key set that it said it holds; nil: it did not say; -1: it knows no SmartKeys
}

// Followed says whether a key that was announced with a version may sign: every bridge of the property has said that it knows
// it, but for those that know no SmartKeys, never connected (they get the newest keys at enrolment, and the others as they
// connect), or are away for so long that nobody waits for them. A greater version than any that was made here is of keys that
// are not known here, as after a restore of an older database, and not of the new one.
func Followed(bridges []Follower, version int64, announced, now time.Time) bool {
	if now.Sub(announced) >= longestAway {
		return true
	}
	for _, b := range bridges {
		switch {
		case b.Seen == nil, now.Sub(*b.Seen) >= longestAway, b.Version != nil && *b.Version < 0:
		case b.Version == nil, *b.Version != version:
			return false
		}
	}
	return true
}

func (i *issuer) followers() ([]Follower, error) {
	rows, err := i.tx.Bridge.Query().Where(entbridge.PropertyID(i.row.ID), entbridge.RevokedAtIsNil()).All(i.tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the bridges that follow an issuer: %w", err)
	}
	out := make([]Follower, len(rows))
	for n, b := range rows {
		out[n] = Follower{b.LastSeenAt, b.KeySetVersion}
	}
	return out, nil
}

// step is the next one of a rotation, if its time has come.
type step int

const (
	wait step = iota
	begin
	use  // the new key signs
	drop // the old one leaves
)

func (i *issuer) next() (step, error) {
	held, now := i.set.Keys(), i.tx.Now()
	if len(held) == 1 {
		if now.Before(held[0].NotAfter.Add(-renewKeysBefore)) {
			return wait, nil
		}
		return begin, nil
	}
	newest, err := i.newest(held)
	if err != nil {
		return wait, err
	}
	if newest.Key == held[0].Key {
		if now.Sub(i.row.KeySetAt) < overlap {
			return wait, nil
		}
		return drop, nil
	}
	bridges, err := i.followers()
	if err != nil || !Followed(bridges, i.row.KeySetVersion, i.row.KeySetAt, now) {
		return wait, err
	}
	return use, nil
}

// proceed takes the next step of a rotation whose time has come.
func (i *issuer) proceed() (moved bool, err error) {
	next, err := i.next()
	if err != nil || next == wait {
		return false, err
	}
	if next == begin {
		_, err := Rotate(i.tx, i.keys, i.row.ID, false)
		return true, err
	}
	_, signer, err := i.current()
	if err != nil {
		return false, err
	}
	held := i.set.Keys()
	newest, err := i.newest(held)
	if err != nil {
		return false, err
	}
	if next == use {
		return true, i.replace(func() error { return i.sign(signer, newest, held[0]) })
	}
	return true, i.replace(func() error { return i.sign(signer, newest) })
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
