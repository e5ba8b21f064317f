package smartkey

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
)

// KeyID is the first eight bytes of a key's thumbprint (RFC 9679).
type KeyID [8]byte

// String returns the id as 16 hex digits.
func (k KeyID) String() string { return hex.EncodeToString(k[:]) }

// PublicKey is a P-256 public key: the point, uncompressed (SEC 1, section 2.3.3). The zero value is not a valid key. Keys are
// comparable with ==.
type PublicKey struct{ point [65]byte }

// coseKey is a COSE_Key (RFC 9052, section 7) with only the members that its thumbprint covers.
type coseKey struct {
	Type  int      `cbor:"1,keyasint"`
	Curve int      `cbor:"-1,keyasint"`
	X     [32]byte `cbor:"-2,keyasint"`
	Y     [32]byte `cbor:"-3,keyasint"`
}

// Values of a COSE_Key.
const (
	keyTypeEC2 = 2
	curveP256  = 1
)

// NewPublicKey parses the 65 bytes that WebCrypto exports as "raw". It refuses a point that is not on the curve.
func NewPublicKey(uncompressed []byte) (PublicKey, error) {
	var k PublicKey
	if _, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), uncompressed); err != nil {
		return k, errors.New("smartkey: a public key is an uncompressed point of P-256, 65 bytes")
	}
	copy(k.point[:], uncompressed)
	return k, nil
}

// PublicKeyOf converts the public key of a crypto.Signer, which must be on P-256.
func PublicKeyOf(pub crypto.PublicKey) (PublicKey, error) {
	key, ok := pub.(*ecdsa.PublicKey)
	if !ok || key == nil || key.Curve != elliptic.P256() {
		return PublicKey{}, fmt.Errorf("smartkey: a key is ECDSA on P-256, not %T", pub)
	}
	point, err := key.Bytes()
	if err != nil {
		return PublicKey{}, fmt.Errorf("smartkey: public key: %w", err)
	}
	return NewPublicKey(point)
}

// public converts a decoded COSE_Key. It refuses a key that is not a point of P-256.
func (k coseKey) public() (PublicKey, error) {
	if k.Type != keyTypeEC2 || k.Curve != curveP256 {
		return PublicKey{}, refuse(Malformed, "a COSE_Key must be EC2 on P-256")
	}
	key, err := NewPublicKey(slices.Concat([]byte{4}, k.X[:], k.Y[:]))
	if err != nil {
		return PublicKey{}, refuse(Malformed, "the key is not a point of P-256")
	}
	return key, nil
}

// cose converts the key to its COSE_Key.
func (k PublicKey) cose() coseKey {
	return coseKey{Type: keyTypeEC2, Curve: curveP256, X: [32]byte(k.point[1:33]), Y: [32]byte(k.point[33:])}
}

// Encode returns the key as a COSE_Key, 75 bytes.
func (k PublicKey) Encode() []byte { return mustEncode(k.cose()) }

// Uncompressed returns the 65 bytes of the point.
func (k PublicKey) Uncompressed() []byte { return append([]byte(nil), k.point[:]...) }

// Thumbprint returns the SHA-256 of Encode (RFC 9679).
func (k PublicKey) Thumbprint() [32]byte { return sha256.Sum256(k.Encode()) }

// KeyID returns the first eight bytes of the key's thumbprint.
func (k PublicKey) KeyID() KeyID {
	t := k.Thumbprint()
	return KeyID(t[:len(KeyID{})])
}

// IsZero reports whether the key is the zero value, which is not a valid key.
func (k PublicKey) IsZero() bool { return k == PublicKey{} }

// ecdsa converts the key for package crypto/ecdsa.
func (k PublicKey) ecdsa() (*ecdsa.PublicKey, error) {
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), k.point[:])
}

// GenerateKey generates a private key: 32 random bytes as a scalar. In the rare case that they are not a valid scalar it tries again, at
// most seven times.
func GenerateKey(random io.Reader) (*ecdsa.PrivateKey, error) {
	var scalar [32]byte
	defer clear(scalar[:])
	for range 8 {
		if _, err := io.ReadFull(random, scalar[:]); err != nil {
			return nil, fmt.Errorf("smartkey: generate a key: %w", err)
		}
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:]); err == nil {
			return key, nil
		}
	}
	return nil, errors.New("smartkey: generate a key: the random generator yields no valid scalar of P-256")
}
