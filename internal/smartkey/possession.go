package smartkey

import (
	"crypto"
	"crypto/subtle"
	"time"
)

// Purpose says what a phone proves its key for.
type Purpose uint

// The purposes. A statement for one serves for no other.
const (
	Enrol Purpose = 1 // bind the key to a stay, over a single-use link
	Renew Purpose = 2 // ask for the next token of an enrolled key
)

type possessionClaims struct {
	Property  string       `cbor:"3,keyasint"`
	SignedAt  uint64       `cbor:"6,keyasint"`
	Confirm   confirmation `cbor:"8,keyasint"`
	Challenge []byte       `cbor:"10,keyasint"`
	Purpose   Purpose      `cbor:"-65546,keyasint"`
}

// Question is what the server asks of a phone: to prove its key for a purpose
// at a property, under a challenge of 16 to 32 bytes that the server drew and
// lets serve once. For an enrolment the challenge belongs to the link.
type Question struct {
	Property  string
	Purpose   Purpose
	Challenge []byte
}

// Possess is the phone's answer to a question: its public key, signed with its private key.
func Possess(phone crypto.Signer, q Question, now time.Time) ([]byte, error) {
	key, err := PublicKeyOf(phone.Public())
	if err != nil {
		return nil, err
	}
	claims := possessionClaims{
		Property: q.Property, SignedAt: seconds(now), Confirm: confirmation{Key: key.cose()},
		Challenge: q.Challenge, Purpose: q.Purpose,
	}
	if err := claims.check(); err != nil {
		return nil, err
	}
	return sign1(phone, typePossession, claims)
}

// VerifyPossession checks a phone's answer to q and returns its key. The caller
// takes the challenge out of use in the same transaction that stores the key.
func VerifyPossession(raw []byte, q Question) (PublicKey, error) {
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
		return PublicKey{}, refuse(BadSignature, "signed by another key than the one it names")
	}
	if err := doc.verify(key); err != nil {
		return PublicKey{}, err
	}
	switch {
	case claims.Property != q.Property:
		return PublicKey{}, refuse(WrongProperty, "the answer is for another property")
	case claims.Purpose != q.Purpose || subtle.ConstantTimeCompare(claims.Challenge, q.Challenge) != 1:
		return PublicKey{}, refuse(WrongChallenge, "the answer is to another question")
	}
	return key, nil
}

func (c possessionClaims) check() error {
	switch {
	case !isName(c.Property):
		return refuse(Malformed, "a possession names the property")
	case !inRange(c.SignedAt):
		return refuse(Malformed, "a number exceeds 53 bits")
	case len(c.Challenge) < minNonce || len(c.Challenge) > maxNonce:
		return refuse(Malformed, "a challenge has 16 to 32 bytes")
	case c.Purpose != Enrol && c.Purpose != Renew:
		return refuse(Malformed, "the purpose is enrol or renew")
	}
	return nil
}

// ChallengeOf is the challenge that a possession says it answers. Nothing was verified.
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
