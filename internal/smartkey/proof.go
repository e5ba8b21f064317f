package smartkey

import (
	"crypto"
	"crypto/sha256"
	"errors"
	"time"
)

// Proof is a phone's signed request: this operation, at this door of this bridge, now, with this token. A Proof is parsed but not verified.
type Proof struct {
	Bridge    string
	SignedAt  time.Time // SignedAt is by the phone's clock; it is recorded and never compared
	Nonce     []byte
	Door      Door
	Operation Operation
	TokenHash [32]byte // TokenHash is the SHA-256 of the token for which the proof was made

	doc signed
}

// proofClaims are the claims of a proof, with the labels that cbor.go lists.
type proofClaims struct {
	Bridge    string    `cbor:"3,keyasint"`
	SignedAt  uint64    `cbor:"6,keyasint"`
	Nonce     []byte    `cbor:"10,keyasint"`
	Door      Door      `cbor:"-65543,keyasint"`
	Operation Operation `cbor:"-65544,keyasint"`
	TokenHash [32]byte  `cbor:"-65545,keyasint"`
}

// ReadProof parses a proof and checks its form, but verifies no signature. A relay may read the bridge and the door from it, but must not
// base a decision on it.
func ReadProof(raw []byte) (Proof, error) {
	doc, err := readSign1(raw, typeProof, MaxProofSize)
	if err != nil {
		return Proof{}, err
	}
	claims, ok := decodeExact[proofClaims](doc.Payload)
	if !ok {
		return Proof{}, refuse(Malformed, "not the claims of a proof in deterministic encoding")
	}
	if err := claims.check(); err != nil {
		return Proof{}, err
	}
	return Proof{
		Bridge: claims.Bridge, SignedAt: fromSeconds(claims.SignedAt), Nonce: claims.Nonce,
		Door: claims.Door, Operation: claims.Operation, TokenHash: claims.TokenHash, doc: doc,
	}, nil
}

// check returns an error if a claim of a proof has an invalid form: the id of the bridge, the length of the nonce, or a number out of its
// range. It does not compare SignedAt with a clock.
func (c proofClaims) check() error {
	switch {
	case !isName(c.Bridge):
		return refuse(Malformed, "a proof needs the id of a bridge")
	case !inRange(c.SignedAt):
		return refuse(Malformed, "a number exceeds 53 bits")
	case len(c.Nonce) < minNonce || len(c.Nonce) > maxNonce:
		return refuse(Malformed, "a nonce has 16 to 32 bytes")
	case c.Operation == 0 || c.Operation > maxOperation:
		return refuse(Malformed, "an operation is a number from 1 to 255")
	}
	return nil
}

// ProofSpec is what a phone signs, apart from the token.
type ProofSpec struct {
	Bridge    string
	Nonce     []byte
	Door      Door
	Operation Operation
}

// SignProof signs a proof with the private key of the phone to which the token is bound. now is the phone's clock.
func SignProof(phone crypto.Signer, token []byte, w ProofSpec, now time.Time) ([]byte, error) {
	if len(token) == 0 {
		return nil, errors.New("smartkey: a proof is made for a token")
	}
	claims := proofClaims{
		Bridge: w.Bridge, SignedAt: toSeconds(now), Nonce: w.Nonce,
		Door: w.Door, Operation: w.Operation, TokenHash: sha256.Sum256(token),
	}
	if err := claims.check(); err != nil {
		return nil, err
	}
	return sign1(phone, typeProof, claims)
}

// verifyHolder checks that the proof is for this token, and that the phone's key to which the token is bound signed it.
func (p Proof) verifyHolder(t Token) error {
	if p.doc.KeyID != t.Phone.KeyID() {
		return refuse(Cloned, "the token is bound to another key than the signer of the proof")
	}
	if err := p.doc.verify(t.Phone); err != nil {
		return err
	}
	if p.TokenHash != t.Hash() {
		return refuse(WrongToken, "the proof was made for another token")
	}
	return nil
}
