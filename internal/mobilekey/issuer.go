// Package mobilekey gives guests' phones access to reservations: the property's issuer keys, the links with which phones enrol,
// their tokens, and the status list that revokes tokens. Bridges decide which door a token opens; see package smartkey.
package mobilekey

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entissuer "latchkey.dev/ent/issuer"
	entissuerkey "latchkey.dev/ent/issuerkey"
	entkeyset "latchkey.dev/ent/keyset"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/smartkey"
)

// issuerKeyLifetime is the longest validity of an issuer key.
const issuerKeyLifetime = 2 * 365 * 24 * time.Hour

// Site returns the audience (the claim aud) of tokens for doors of several bridges. All bridges of a property form one site.
func Site(propertyID string) string { return propertyID }

// listURI returns the identifier of a property's status list. No client fetches it.
func listURI(propertyID string) string { return "latchkey:status:" + propertyID }

// issuer is the stored issuer of a property: its keys sign the tokens, the key sets and the status list.
type issuer struct {
	tx   *db.Tx
	keys *keyring.Ring
	row  *ent.Issuer
	set  smartkey.KeySet // newest key set
}

// EnsureIssuer creates the first issuer key, key set and status list of a property, if it has none. Bridges pin the issuer when they enrol.
func EnsureIssuer(tx *db.Tx, keys *keyring.Ring, propertyID string) error {
	_, err := loadOrCreateIssuer(tx, keys, propertyID)
	return err
}

// loadOrCreateIssuer returns a property's issuer, and creates it with its first key, key set and status list if there is none.
func loadOrCreateIssuer(tx *db.Tx, keys *keyring.Ring, propertyID string) (*issuer, error) {
	i, err := loadIssuer(tx, keys, propertyID)
	if err != nil || i != nil {
		return i, err
	}
	i = &issuer{tx: tx, keys: keys}
	err = tx.Issuer.Create().SetID(propertyID).SetListAt(tx.Now()).SetKeySetAt(tx.Now()).SetCreatedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("store an issuer: %w", err)
	}
	if i.row, err = tx.Issuer.Get(tx.Context(), propertyID); err != nil {
		return nil, err
	}
	key, signer, err := i.generateKey()
	if err != nil {
		return nil, err
	}
	if err := i.signKeySet(signer, key); err != nil {
		return nil, err
	}
	_, err = i.publishList(true)
	return i, err
}

// loadIssuer returns a property's issuer, or nil without an error if it has none. keys may be nil if the issuer will not sign.
func loadIssuer(tx *db.Tx, keys *keyring.Ring, propertyID string) (*issuer, error) {
	row, err := tx.Issuer.Get(tx.Context(), propertyID)
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load an issuer: %w", err)
	}
	set, err := loadNewestKeySet(tx, row)
	return &issuer{tx, keys, row, set}, err
}

// loadNewestKeySet returns the newest key set of an issuer.
func loadNewestKeySet(tx *db.Tx, row *ent.Issuer) (smartkey.KeySet, error) {
	signed, err := tx.KeySet.Query().Where(entkeyset.PropertyID(row.ID), entkeyset.Version(row.KeySetVersion)).Only(tx.Context())
	if err != nil {
		return smartkey.KeySet{}, fmt.Errorf("load key set %d of an issuer: %w", row.KeySetVersion, err)
	}
	set, err := smartkey.PinKeySet(signed.Signed, row.ID)
	if err != nil {
		return set, fmt.Errorf("key set %d of an issuer: %w", row.KeySetVersion, err)
	}
	return set, nil
}

// generateKey generates an issuer key and stores its private half, sealed. The key signs only after [issuer.signKeySet] has published it.
func (i *issuer) generateKey() (smartkey.IssuerKey, *ecdsa.PrivateKey, error) {
	var key smartkey.IssuerKey
	signer, err := smartkey.GenerateKey(rand.Reader)
	if err != nil {
		return key, nil, err
	}
	if key.Key, err = smartkey.PublicKeyOf(signer.Public()); err != nil {
		return key, nil, err
	}
	raw, err := signer.Bytes()
	if err != nil {
		return key, nil, fmt.Errorf("write an issuer key: %w", err)
	}
	defer clear(raw)
	ctx, now, name := i.tx.Context(), i.tx.Now(), key.Key.KeyID().String()
	sealed, err := i.keys.Seal(ctx, i.row.ID, sealPurpose(name), raw)
	if err != nil {
		return key, nil, fmt.Errorf("seal an issuer key: %w", err)
	}
	err = i.tx.IssuerKey.Create().SetID(id.New(id.IssuerKey)).SetPropertyID(i.row.ID).SetKeyID(name).SetSealed(sealed).
		SetCreatedAt(now).Exec(ctx)
	if err != nil {
		return key, nil, fmt.Errorf("store an issuer key: %w", err)
	}
	key.NotBefore, key.NotAfter = now.Add(-smartkey.IssuerSkew), now.Add(issuerKeyLifetime)
	return key, signer, nil
}

// sealPurpose returns the associated data of a sealed issuer key, which binds the ciphertext to the key's id.
func sealPurpose(keyID string) string { return "smartkey issuer/" + keyID }

// openSigner decrypts the private half of one of the issuer's keys. It fails if that was deleted after a rotation.
func (i *issuer) openSigner(k smartkey.PublicKey) (*ecdsa.PrivateKey, error) {
	name := k.KeyID().String()
	row, err := i.tx.IssuerKey.Query().Where(entissuerkey.PropertyID(i.row.ID), entissuerkey.KeyID(name)).Only(i.tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load an issuer key: %w", err)
	}
	if len(row.Sealed) == 0 {
		return nil, errors.New("the private half of an issuer key was deleted")
	}
	raw, err := i.keys.Open(i.tx.Context(), i.row.ID, sealPurpose(name), row.Sealed)
	if err != nil {
		return nil, fmt.Errorf("open an issuer key: %w", err)
	}
	defer clear(raw)
	return ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
}

// currentKey returns the key that signs now, with its private half, which it decrypts.
func (i *issuer) currentKey() (smartkey.IssuerKey, *ecdsa.PrivateKey, error) {
	key, err := i.set.Current()
	if err != nil {
		return key, nil, err
	}
	signer, err := i.openSigner(key.Key)
	return key, signer, err
}

// signKeySet signs and stores the next version of the key set. signer is the current key of the previous version, or of this one if it is
// the first. keys has the new current key first. It neither signs the status list again nor notifies the bridges.
func (i *issuer) signKeySet(signer *ecdsa.PrivateKey, keys ...smartkey.IssuerKey) (err error) {
	version, now := i.row.KeySetVersion+1, i.tx.Now()
	raw, err := smartkey.SignKeySet(signer, smartkey.KeySetSpec{Property: i.row.ID, Version: uint64(version), IssuedAt: now, Keys: keys})
	if err != nil {
		return fmt.Errorf("sign a key set: %w", err)
	}
	err = i.tx.KeySet.Create().SetID(id.New(id.KeySet)).SetPropertyID(i.row.ID).SetVersion(version).SetSigned(raw).
		SetCreatedAt(now).Exec(i.tx.Context())
	if err != nil {
		return fmt.Errorf("store a key set: %w", err)
	}
	if i.row, err = i.tx.Issuer.UpdateOne(i.row).SetKeySetVersion(version).SetKeySetAt(now).Save(i.tx.Context()); err != nil {
		return fmt.Errorf("store the version of a key set: %w", err)
	}
	i.set, err = smartkey.PinKeySet(raw, i.row.ID)
	return err
}

// tokenIssuer returns the issuer of tokens that signs with the current key.
func (i *issuer) tokenIssuer() (smartkey.Issuer, error) {
	_, signer, err := i.currentKey()
	if err != nil {
		return smartkey.Issuer{}, err
	}
	return smartkey.NewIssuer(signer, i.set, listURI(i.row.ID), rand.Reader)
}

// Published is what bridges and phones need to know about a property's issuer.
type Published struct {
	KeySets    [][]byte          // KeySets are ordered by version, the lowest first
	Version    uint64            // Version is that of the newest key set
	List       []byte            // List is the newest status list, signed; empty if the recipient has it
	ListNumber uint64            // ListNumber is the number of the newest status list, also if List is empty
	ListDigest [sha256.Size]byte // ListDigest is the SHA-256 of the newest status list
}

// maxKeySets limits the key sets in one answer. The next answer contains the rest.
const maxKeySets = 8

// PublishedSince returns the key sets and the status list that are newer than those of a recipient, at most maxKeySets key sets. version
// and number are those of its key set and its list. With version 0 it returns only the newest key set. For a property without an issuer,
// the result is zero, also its Version.
func PublishedSince(tx *db.Tx, propertyID string, version, number uint64) (Published, error) {
	row, err := tx.Issuer.Query().Where(entissuer.ID(propertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return Published{}, nil
	}
	if err != nil {
		return Published{}, fmt.Errorf("load an issuer: %w", err)
	}
	p := Published{Version: uint64(row.KeySetVersion), ListNumber: uint64(row.ListNumber), ListDigest: sha256.Sum256(row.List)}
	if p.ListNumber > number {
		p.List = row.List
	}
	from := int64(min(version, uint64(row.KeySetVersion)))
	if version == 0 {
		from = row.KeySetVersion - 1
	}
	sets, err := tx.KeySet.Query().Where(entkeyset.PropertyID(propertyID), entkeyset.VersionGT(from), entkeyset.VersionLTE(row.KeySetVersion)).
		Order(entkeyset.ByVersion()).Limit(maxKeySets).All(tx.Context())
	if err != nil {
		return Published{}, fmt.Errorf("load key sets: %w", err)
	}
	for _, s := range sets {
		p.KeySets = append(p.KeySets, s.Signed)
	}
	return p, nil
}

// BehindBridges returns those of the bridges that verify SmartKeys but have not confirmed the newest key set or status list of their
// property. The server must send both to them again.
func BehindBridges(tx *db.Tx, bridgeIDs []string) ([]string, error) {
	bridges, err := tx.Bridge.Query().Where(entbridge.IDIn(bridgeIDs...), entbridge.KeySetVersionGTE(0)).
		Select(entbridge.FieldID, entbridge.FieldPropertyID, entbridge.FieldKeySetVersion, entbridge.FieldKeyListNumber).All(tx.Context())
	if err != nil || len(bridges) == 0 {
		return nil, err
	}
	properties := make([]string, len(bridges))
	for i, br := range bridges {
		properties[i] = br.PropertyID
	}
	issuers, err := tx.Issuer.Query().Where(entissuer.IDIn(properties...)).
		Select(entissuer.FieldID, entissuer.FieldKeySetVersion, entissuer.FieldListNumber).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load issuers: %w", err)
	}
	newest := make(map[string]*ent.Issuer, len(issuers))
	for _, row := range issuers {
		newest[row.ID] = row
	}
	var behind []string
	for _, br := range bridges {
		if row := newest[br.PropertyID]; row != nil && (row.KeySetVersion > *br.KeySetVersion || row.ListNumber > br.KeyListNumber) {
			behind = append(behind, br.ID)
		}
	}
	return behind, nil
}

// KeyName formats a key id as text.
func KeyName(k smartkey.KeyID) string { return hex.EncodeToString(k[:]) }
