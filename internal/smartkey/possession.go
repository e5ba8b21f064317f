package smartkey

import (
	"crypto"
	"crypto/subtle"
	"time"
)

// Purpose is why a phone proves possession of its private key.
type Purpose uint

// A possession (a signed statement) for one purpose is not valid for another.
const (
	Enrol Purpose = 1 // bind the key to a reservation through a single-use link
	Renew Purpose = 2 // get the next token for an enrolled key
)

// possessionClaims are the claims of a possession, with the labels that cbor.go lists.
type possessionClaims struct {
	Property  string       `cbor:"3,keyasint"`
	SignedAt  uint64       `cbor:"6,keyasint"`
	Confirm   confirmation `cbor:"8,keyasint"`
	Challenge []byte       `cbor:"10,keyasint"`
	Purpose   Purpose      `cbor:"-65546,keyasint"`
}

// PossessionSpec is what the server asks of a phone: to prove its key for a purpose at a property, with a challenge of 16 to 32 bytes that
// the server generated and accepts once. The server issues a challenge to enrol for one single-use link.
type PossessionSpec struct {
	Property  string
	Purpose   Purpose
	Challenge []byte
}

// SignPossession signs the phone's public key and the server's challenge with the phone's private key.
func SignPossession(phone crypto.Signer, q PossessionSpec, now time.Time) ([]byte, error) {
	key, err := PublicKeyOf(phone.Public())
	if err != nil {
		return nil, err
	}
	claims := possessionClaims{
		Property: q.Property, SignedAt: toSeconds(now), Confirm: confirmation{Key: key.cose()},
		Challenge: q.Challenge, Purpose: q.Purpose,
	}
	if err := claims.check(); err != nil {
		return nil, err
	}
	return sign1(phone, typePossession, claims)
}

// VerifyPossession verifies that a phone's possession answers q, the server's challenge, and returns the phone's key. It does not compare
// the time of signing with a clock. The caller marks the challenge as used in the transaction that stores the key.
func VerifyPossession(raw []byte, q PossessionSpec) (PublicKey, error) {
	doc, err := readSign1(raw, typePossession, MaxPossessionSize)
	if err != nil {
		return PublicKey{}, err
	}
	claims, ok := decodeExact[possessionClaims](doc.Payload)
	if !ok {
		return PublicKey{}, refuse(Malformed, "not the claims of a possession in deterministic encoding")
	}
	if err := claims.check(); err != nil {
		return PublicKey{}, err
	}
	key, err := claims.Confirm.Key.public()
	if err != nil {
		return PublicKey{}, err
	}
	if doc.KeyID != key.KeyID() {
		return PublicKey{}, refuse(BadSignature, "the signer is not the key in cnf")
	}
	if err := doc.verify(key); err != nil {
		return PublicKey{}, err
	}
	switch {
	case claims.Property != q.Property:
		return PublicKey{}, refuse(WrongProperty, "the answer is for another property")
	case claims.Purpose != q.Purpose || subtle.ConstantTimeCompare(claims.Challenge, q.Challenge) != 1:
		return PublicKey{}, refuse(WrongChallenge, "the answer is to another challenge or for another purpose")
	}
	return key, nil
}

// check returns an error if a claim of a possession has an invalid form: the id of the property, the length of the challenge, the purpose,
// or a number out of its range. It does not compare SignedAt with a clock.
func (c possessionClaims) check() error {
	switch {
	case !isName(c.Property):
		return refuse(Malformed, "a possession needs the id of a property")
	case !inRange(c.SignedAt):
		return refuse(Malformed, "a number exceeds 53 bits")
	case len(c.Challenge) < minNonce || len(c.Challenge) > maxNonce:
		return refuse(Malformed, "a challenge has 16 to 32 bytes")
	case c.Purpose != Enrol && c.Purpose != Renew:
		return refuse(Malformed, "the purpose is enrol or renew")
	}
	return nil
}

// ChallengeOf returns the challenge that a possession contains, without any verification.
func ChallengeOf(raw []byte) ([]byte, error) {
	doc, err := readSign1(raw, typePossession, MaxPossessionSize)
	if err != nil {
		return nil, err
	}
	claims, ok := decodeExact[possessionClaims](doc.Payload)
	if !ok {
		return nil, refuse(Malformed, "not the claims of a possession in deterministic encoding")
	}
	return claims.Challenge, nil
}
