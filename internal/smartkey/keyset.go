package smartkey

import (
	"crypto"
	"errors"
	"fmt"
	"slices"
	"time"
)

// IssuerKey is a key that signs tokens and status lists of a property between two times.
type IssuerKey struct {
	Key       PublicKey
	NotBefore time.Time // inclusive, to the second
	NotAfter  time.Time // exclusive: a token it signed ends by then
}

// KeySet is a property's issuer keys as a verifier pins them. The first key is
// the current one: it signs tokens, lists and the next key set. The zero value
// knows no key and accepts nothing.
type KeySet struct {
	property string
	version  uint64
	issuedAt int64
	keys     []IssuerKey
	raw      []byte
}

type keySetClaims struct {
	Issuer   string     `cbor:"1,keyasint"`
	IssuedAt uint64     `cbor:"6,keyasint"`
	Version  uint64     `cbor:"-65540,keyasint"`
	Keys     []keyEntry `cbor:"-65542,keyasint"`
}

type keyEntry struct {
	Key       coseKey `cbor:"1,keyasint"`
	NotAfter  uint64  `cbor:"4,keyasint"`
	NotBefore uint64  `cbor:"5,keyasint"`
}

// KeySetSpec is a key set to sign.
type KeySetSpec struct {
	Property string
	Version  uint64 // greater than every version before
	IssuedAt time.Time
	Keys     []IssuerKey // the current one first, then those that overlap with it
}

// SignKeySet makes a key set. The signer is the current key of the set before;
// of the first set, its own current key.
func SignKeySet(signer crypto.Signer, spec KeySetSpec) ([]byte, error) {
	claims := keySetClaims{Issuer: spec.Property, IssuedAt: seconds(spec.IssuedAt), Version: spec.Version}
	for _, k := range spec.Keys {
		claims.Keys = append(claims.Keys, keyEntry{Key: k.Key.cose(), NotAfter: seconds(k.NotAfter), NotBefore: seconds(k.NotBefore)})
	}
	if _, err := claims.check(); err != nil {
		return nil, err
	}
	raw, err := sign1(signer, typeKeySet, claims)
	if err != nil {
		return nil, err
	}
	if len(raw) > MaxKeySetSize {
		return nil, fmt.Errorf("smartkey: a key set of %d bytes; at most %d", len(raw), MaxKeySetSize)
	}
	return raw, nil
}

// PinKeySet reads a key set that is trusted for where it comes from: the answer
// to an enrolment, or the verifier's own store. If its signer is one of its
// keys the signature must hold; otherwise the set before it is not here to check it.
func PinKeySet(raw []byte, property string) (KeySet, error) {
	doc, set, err := readKeySet(raw)
	if err != nil {
		return KeySet{}, err
	}
	if set.property != property {
		return KeySet{}, refuse(WrongProperty, "the key set is of another property")
	}
	if signer, ok := set.find(doc.KeyID); ok {
		if err := doc.verify(signer.Key); err != nil {
			return KeySet{}, err
		}
	}
	return set, nil
}

// Advance takes a newer key set: of the same property, of a greater version,
// signed by the current key of this one. On any error the old set stays valid.
func (s KeySet) Advance(raw []byte) (KeySet, error) {
	doc, next, err := readKeySet(raw)
	switch {
	case err != nil:
		return s, err
	case len(s.keys) == 0:
		return s, refuse(UnknownIssuer, "no key set is pinned")
	case next.property != s.property:
		return s, refuse(WrongProperty, "the key set is of another property")
	case next.version <= s.version:
		return s, refuse(NotNewer, "a key set of this version or a greater one is pinned")
	case doc.KeyID != s.keys[0].Key.KeyID():
		return s, refuse(UnknownIssuer, "the key set is not signed by the current key")
	}
	if err := doc.verify(s.keys[0].Key); err != nil {
		return s, err
	}
	return next, nil
}

func readKeySet(raw []byte) (signed, KeySet, error) {
	doc, err := readSign1(raw, typeKeySet, MaxKeySetSize)
	if err != nil {
		return doc, KeySet{}, err
	}
	claims, ok := decodeExact[keySetClaims](doc.Payload)
	if !ok {
		return doc, KeySet{}, refuse(Malformed, "not the claims of a key set in deterministic encoding")
	}
	set, err := claims.check()
	set.raw = append([]byte(nil), raw...)
	return doc, set, err
}

func (c keySetClaims) check() (KeySet, error) {
	set := KeySet{property: c.Issuer, version: c.Version, issuedAt: int64(c.IssuedAt)}
	if !isName(c.Issuer) || c.Version == 0 || !inRange(c.Version, c.IssuedAt) {
		return KeySet{}, refuse(Malformed, "a key set names its property, its version from 1 and its time")
	}
	if len(c.Keys) == 0 || len(c.Keys) > MaxIssuerKeys {
		return KeySet{}, refuse(Malformed, "a key set has 1 to 8 keys")
	}
	for _, entry := range c.Keys {
		key, err := entry.Key.public()
		if err != nil {
			return KeySet{}, err
		}
		if !inRange(entry.NotAfter) || entry.NotBefore >= entry.NotAfter {
			return KeySet{}, refuse(Malformed, "an issuer key ends after it begins")
		}
		if _, twice := set.find(key.KeyID()); twice {
			return KeySet{}, refuse(Malformed, "an issuer key is named twice")
		}
		set.keys = append(set.keys, IssuerKey{Key: key, NotBefore: at(entry.NotBefore), NotAfter: at(entry.NotAfter)})
	}
	return set, nil
}

// Property returns whose keys these are.
func (s KeySet) Property() string { return s.property }

// Version returns the set's version; 0: none is pinned.
func (s KeySet) Version() uint64 { return s.version }

// Raw returns the document, to be stored and pinned again.
func (s KeySet) Raw() []byte { return append([]byte(nil), s.raw...) }

// Keys returns the keys, the current one first.
func (s KeySet) Keys() []IssuerKey { return append([]IssuerKey(nil), s.keys...) }

// Current returns the key that signs now.
func (s KeySet) Current() (IssuerKey, error) {
	if len(s.keys) == 0 {
		return IssuerKey{}, errors.New("smartkey: the key set is empty")
	}
	return s.keys[0], nil
}

func (s KeySet) find(id KeyID) (IssuerKey, bool) {
	for _, k := range s.keys {
		if k.Key.KeyID() == id {
			return k, true
		}
	}
	return IssuerKey{}, false
}

// issued checks that the document was signed by a key of the set that was
// allowed to sign from one time up to another.
func (s KeySet) issued(doc signed, from, until time.Time) error {
	signer := slices.IndexFunc(s.keys, func(k IssuerKey) bool {
		return k.Key.KeyID() == doc.KeyID && !from.Before(k.NotBefore) && !until.After(k.NotAfter)
	})
	if signer < 0 {
		return refuse(UnknownIssuer, "no key of the pinned set has this key id and served at that time")
	}
	return doc.verify(s.keys[signer].Key)
}

// seconds is t as a NumericDate, rounded down; a time before 1970 becomes a number that no check accepts.
func seconds(t time.Time) uint64 { return uint64(t.Unix()) }

func at(s uint64) time.Time { return time.Unix(int64(s), 0).UTC() }
