package smartkey

import (
	"crypto"
	"errors"
	"fmt"
	"slices"
	"time"
)

// IssuerKey is a key that signs the tokens and status lists of a property between two times.
type IssuerKey struct {
	Key       PublicKey
	NotBefore time.Time // NotBefore is inclusive, to the second
	NotAfter  time.Time // NotAfter is the latest end of a token that the key signed
}

// KeySet contains a property's issuer keys, as a verifier pins them. The first key is the current key: it signs tokens, lists and
// the next key set. The zero value contains no key and accepts no document.
type KeySet struct {
	property string
	version  uint64
	issuedAt int64
	keys     []IssuerKey
	raw      []byte
}

// keySetClaims are the claims of a key set, with the labels that cbor.go lists.
type keySetClaims struct {
	Issuer   string     `cbor:"1,keyasint"`
	IssuedAt uint64     `cbor:"6,keyasint"`
	Version  uint64     `cbor:"-65540,keyasint"`
	Keys     []keyEntry `cbor:"-65542,keyasint"`
}

// keyEntry is one issuer key in keySetClaims, and the seconds since 1970 between which it signs.
type keyEntry struct {
	Key       coseKey `cbor:"1,keyasint"`
	NotAfter  uint64  `cbor:"4,keyasint"`
	NotBefore uint64  `cbor:"5,keyasint"`
}

// KeySetSpec is a key set to sign.
type KeySetSpec struct {
	Property string
	Version  uint64 // Version must be greater than every earlier version, which SignKeySet cannot check
	IssuedAt time.Time
	Keys     []IssuerKey // Keys has the current key first, then the keys that overlap with it
}

// SignKeySet signs a key set. The signer must be the current key of the previous set or, for the first set, its own; SignKeySet does not
// check which key it is.
func SignKeySet(signer crypto.Signer, spec KeySetSpec) ([]byte, error) {
	claims := keySetClaims{Issuer: spec.Property, IssuedAt: toSeconds(spec.IssuedAt), Version: spec.Version}
	for _, k := range spec.Keys {
		claims.Keys = append(claims.Keys, keyEntry{Key: k.Key.cose(), NotAfter: toSeconds(k.NotAfter), NotBefore: toSeconds(k.NotBefore)})
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

// PinKeySet parses a key set that comes from a trusted source: the answer to an enrolment, or the verifier's own store. It verifies the
// signature if the signer is one of the set's keys. It cannot verify the signature of another signer, whose key only the previous set
// contains.
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

// Advance verifies a newer key set and returns it. The set must be of the same property, have a greater version, and be signed by
// the current key of this set. With an error, Advance returns this set.
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
		return s, refuse(NotNewer, "the verifier has pinned a key set of this or a greater version")
	case doc.KeyID != s.keys[0].Key.KeyID():
		return s, refuse(UnknownIssuer, "the key set is not signed by the current key")
	}
	if err := doc.verify(s.keys[0].Key); err != nil {
		return s, err
	}
	return next, nil
}

// readKeySet parses a key set and validates its claims. It verifies no signature.
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

// check validates the claims of a key set, and returns the key set.
func (c keySetClaims) check() (KeySet, error) {
	set := KeySet{property: c.Issuer, version: c.Version, issuedAt: int64(c.IssuedAt)}
	if !isName(c.Issuer) || c.Version == 0 || !inRange(c.Version, c.IssuedAt) {
		return KeySet{}, refuse(Malformed, "a key set needs its property, a version from 1 and its time of issue")
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
			return KeySet{}, refuse(Malformed, "an issuer key occurs twice")
		}
		set.keys = append(set.keys, IssuerKey{Key: key, NotBefore: fromSeconds(entry.NotBefore), NotAfter: fromSeconds(entry.NotAfter)})
	}
	return set, nil
}

// Property returns the id of the property to which the keys belong.
func (s KeySet) Property() string { return s.property }

// Version returns the version of the key set, which grows with each change.
func (s KeySet) Version() uint64 { return s.version }

// Raw returns the document, to be stored and pinned again.
func (s KeySet) Raw() []byte { return append([]byte(nil), s.raw...) }

// Keys returns the keys, the current key first.
func (s KeySet) Keys() []IssuerKey { return append([]IssuerKey(nil), s.keys...) }

// Current returns the first key, which signs tokens. It does not check that the key is valid now. It fails only for the zero value.
func (s KeySet) Current() (IssuerKey, error) {
	if len(s.keys) == 0 {
		return IssuerKey{}, errors.New("smartkey: the key set is empty")
	}
	return s.keys[0], nil
}

// find returns the key with an id, or false.
func (s KeySet) find(id KeyID) (IssuerKey, bool) {
	for _, k := range s.keys {
		if k.Key.KeyID() == id {
			return k, true
		}
	}
	return IssuerKey{}, false
}

// verifyIssuer verifies the signature of a document. Its signer must be a key of the set that is valid during the whole time between from
// and until.
func (s KeySet) verifyIssuer(doc signed, from, until time.Time) error {
	signer := slices.IndexFunc(s.keys, func(k IssuerKey) bool {
		return k.Key.KeyID() == doc.KeyID && !from.Before(k.NotBefore) && !until.After(k.NotAfter)
	})
	if signer < 0 {
		return refuse(UnknownIssuer, "no key of the pinned set has this key id and served at that time")
	}
	return doc.verify(s.keys[signer].Key)
}

// toSeconds converts t to a NumericDate (seconds since 1970), rounded down. A time before 1970 becomes a number that no check accepts.
func toSeconds(t time.Time) uint64 { return uint64(t.Unix()) }

// fromSeconds converts a NumericDate to a time in UTC.
func fromSeconds(s uint64) time.Time { return time.Unix(int64(s), 0).UTC() }
