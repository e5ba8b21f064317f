package mobilekey

import (
	"crypto/ecdsa"
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entissuerkey "latchkey.dev/ent/issuerkey"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/smartkey"
)

// The steps of a rotation from key A to key B (docs/smartkey.md section 7): A and B are published, B becomes current, A is
// removed.
const (
	// maxOffline is how long a rotation waits for a bridge that has not confirmed the new key, counted from the bridge's last contact and
	// from the announcement. After that the bridge's status list is too old to open a door, and the newer list comes with newer keys.
	maxOffline = smartkey.DefaultMaxListAge
	keyOverlap = smartkey.MaxLife + time.Minute // how long two issuer keys overlap: until the last token of the old key has expired
)

// renewKeysBefore is how long before its end the server replaces an issuer key automatically.
const renewKeysBefore = 60 * 24 * time.Hour

var errRotating = fault.New(fault.Precondition, fault.InUse, "the issuer key is already being replaced, which takes a day after every bridge knows the new key. If the old key may be compromised, replace it at once")

// Rotation is the state of the replacement of an issuer key. Version is that of the key set.
type Rotation struct {
	Version int64
	Current string // Current is the id of the key that signs
}

// Rotate begins to replace a property's issuer key; [Reconcile] takes the further steps. It creates the issuer if there is none, and
// notifies the bridges. It returns a fault if a replacement is in progress. With atOnce it replaces the key in one step, even then, and
// everything signed with the old key becomes invalid.
func Rotate(tx *db.Tx, keys *keyring.Ring, propertyID string, atOnce bool) (Rotation, error) {
	i, err := loadOrCreateIssuer(tx, keys, propertyID)
	if err != nil {
		return Rotation{}, err
	}
	held := i.set.Keys()
	if len(held) > 1 && !atOnce {
		return Rotation{}, errRotating
	}
	_, signer, err := i.currentKey()
	if err != nil {
		return Rotation{}, err
	}
	next, _, err := i.generateKey()
	if err != nil {
		return Rotation{}, err
	}
	if atOnce {
		err = i.replaceAtOnce(signer, next)
	} else {
		err = i.signKeySet(signer, held[0], next)
	}
	if err != nil {
		return Rotation{}, err
	}
	if err := bridge.NotifyKeysChanged(tx, propertyID); err != nil {
		return Rotation{}, err
	}
	return i.rotationState()
}

// replaceAtOnce replaces the current key by next in one step. signer, the private half of the current key, signs the key set with next.
// Tokens of the old key become invalid, so phones have to renew.
func (i *issuer) replaceAtOnce(signer *ecdsa.PrivateKey, next smartkey.IssuerKey) error {
	if err := i.changeSigner(func() error { return i.signKeySet(signer, next) }); err != nil {
		return err
	}
	var err error
	if i.row, err = i.tx.Issuer.UpdateOne(i.row).SetLeastVersion(i.row.KeySetVersion).Save(i.tx.Context()); err != nil {
		return fmt.Errorf("record that a key was replaced at once: %w", err)
	}
	return nil
}

// rotationState returns the version of the key set and the id of the current key, both as i has them in memory.
func (i *issuer) rotationState() (Rotation, error) {
	k, err := i.set.Current()
	return Rotation{i.row.KeySetVersion, KeyName(k.Key.KeyID())}, err
}

// changeSigner calls change, which stores a key set with another current key. Then it signs the status list with that key and deletes the
// private halves of removed keys.
func (i *issuer) changeSigner(change func() error) error {
	if err := change(); err != nil {
		return err
	}
	if _, err := i.publishList(true); err != nil {
		return err
	}
	var kept []string
	for _, k := range i.set.Keys() {
		kept = append(kept, k.Key.KeyID().String())
	}
	err := i.tx.IssuerKey.Update().Where(entissuerkey.PropertyID(i.row.ID), entissuerkey.KeyIDNotIn(kept...)).ClearSealed().Exec(i.tx.Context())
	if err != nil {
		return fmt.Errorf("delete a former issuer key: %w", err)
	}
	return nil
}

// BridgeKeys is which key set a bridge of the property has confirmed. From those of all bridges, KeyConfirmed decides whether a new key may
// sign.
type BridgeKeys struct {
	Seen    *time.Time // Seen is the last contact with the bridge; nil if there was none
	Version *int64     // Version is the confirmed version of the key set; nil if it is not reported, -1 without SmartKeys
}

// KeyConfirmed reports whether a key that was announced with a version of the key set may sign: every bridge of the property has confirmed
// this version, or maxOffline has passed since the announcement. Bridges do not count if they do not support SmartKeys, have never
// connected (they receive the newest keys when they enrol or connect), or have been offline for too long. A bridge with a greater version
// than any issued here, as after a restore of an older database, has other keys and has not confirmed this one.
func KeyConfirmed(bridges []BridgeKeys, version int64, announced, now time.Time) bool {
	if now.Sub(announced) >= maxOffline {
		return true
	}
	for _, b := range bridges {
		switch {
		case b.Seen == nil, now.Sub(*b.Seen) >= maxOffline, b.Version != nil && *b.Version < 0:
		case b.Version == nil, *b.Version != version:
			return false
		}
	}
	return true
}

// bridgeKeys returns which version of the key set each bridge of the property has confirmed, without revoked bridges.
func (i *issuer) bridgeKeys() ([]BridgeKeys, error) {
	rows, err := i.tx.Bridge.Query().Where(entbridge.PropertyID(i.row.ID), entbridge.RevokedAtIsNil()).All(i.tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the bridges that follow an issuer: %w", err)
	}
	out := make([]BridgeKeys, len(rows))
	for n, b := range rows {
		out[n] = BridgeKeys{b.LastSeenAt, b.KeySetVersion}
	}
	return out, nil
}

// step is the next step of a rotation; the zero value stepWait means that none is due. stepBegin generates and announces a new key.
type step int

const (
	stepWait step = iota
	stepBegin
	stepUse  // the new key starts to sign
	stepDrop // the old key is removed
)

// nextStep returns the step of a rotation that is due now, or stepWait. stepBegin is due renewKeysBefore the end of the only key, stepUse
// once [KeyConfirmed] is true for the new key, and stepDrop keyOverlap after stepUse.
func (i *issuer) nextStep() (step, error) {
	held, now := i.set.Keys(), i.tx.Now()
	if len(held) == 1 {
		if now.Before(held[0].NotAfter.Add(-renewKeysBefore)) {
			return stepWait, nil
		}
		return stepBegin, nil
	}
	newest, err := i.newestKey(held)
	if err != nil {
		return stepWait, err
	}
	if newest.Key == held[0].Key {
		if now.Sub(i.row.KeySetAt) < keyOverlap {
			return stepWait, nil
		}
		return stepDrop, nil
	}
	bridges, err := i.bridgeKeys()
	if err != nil || !KeyConfirmed(bridges, i.row.KeySetVersion, i.row.KeySetAt, now) {
		return stepWait, err
	}
	return stepUse, nil
}

// takeNextStep takes the step of a rotation that is due, and reports whether there was one.
func (i *issuer) takeNextStep() (moved bool, err error) {
	next, err := i.nextStep()
	if err != nil || next == stepWait {
		return false, err
	}
	if next == stepBegin {
		_, err := Rotate(i.tx, i.keys, i.row.ID, false)
		return true, err
	}
	_, signer, err := i.currentKey()
	if err != nil {
		return false, err
	}
	held := i.set.Keys()
	newest, err := i.newestKey(held)
	if err != nil {
		return false, err
	}
	if next == stepUse {
		return true, i.changeSigner(func() error { return i.signKeySet(signer, newest, held[0]) })
	}
	return true, i.changeSigner(func() error { return i.signKeySet(signer, newest) })
}

// newestKey returns the key that was generated last. It must be one of held, the keys of the key set.
func (i *issuer) newestKey(held []smartkey.IssuerKey) (smartkey.IssuerKey, error) {
	row, err := i.tx.IssuerKey.Query().Where(entissuerkey.PropertyID(i.row.ID)).Order(ent.Desc(entissuerkey.FieldID)).First(i.tx.Context())
	if err != nil {
		return smartkey.IssuerKey{}, fmt.Errorf("load the newest issuer key: %w", err)
	}
	n := slices.IndexFunc(held, func(k smartkey.IssuerKey) bool { return k.Key.KeyID().String() == row.KeyID })
	if n < 0 {
		return smartkey.IssuerKey{}, fmt.Errorf("the newest issuer key of %s is in no key set", i.row.ID)
	}
	return held[n], nil
}
