package smartkey

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/veraison/go-cose"
)

// Types of signed documents, in the protected header "typ" (RFC 9596). A signature for one type is not valid for another.
const (
	typeToken      = "application/smartkey+cwt"
	typeProof      = "application/smartkey-proof+cwt"
	typeKeySet     = "application/smartkey-keys+cwt"
	typePossession = "application/smartkey-possession+cwt"
	typeList       = "application/statuslist+cwt"
)

// tagSign1 is CBOR tag 18, COSE_Sign1, in its one-byte encoding.
const tagSign1 = 0xd2

// signatureSize is the length of r and s of P-256, 32 bytes each, big endian.
const signatureSize = 64

// header is the protected header of a COSE_Sign1. The unprotected header is empty.
type header struct {
	Algorithm int64  `cbor:"1,keyasint"`
	KeyID     KeyID  `cbor:"4,keyasint"`
	Type      string `cbor:"16,keyasint"`
}

// envelope is a COSE_Sign1 (RFC 9052, section 4.2) without its tag, which precedes it in a document.
type envelope struct {
	_           struct{} `cbor:",toarray"`
	Protected   []byte
	Unprotected struct{}
	Payload     []byte
	Signature   []byte
}

// signed is a parsed document that is not yet verified.
type signed struct {
	header
	envelope
}

// readSign1 parses a signed document of the type typ and of at most limit bytes, in its only valid encoding. It verifies no signature.
func readSign1(raw []byte, typ string, limit int) (signed, error) {
	var doc signed
	if len(raw) > limit {
		return doc, refuse(Malformed, "larger than allowed")
	}
	if len(raw) == 0 || raw[0] != tagSign1 {
		return doc, refuse(Malformed, "not a tagged COSE_Sign1")
	}
	var ok bool
	if doc.envelope, ok = decodeExact[envelope](raw[1:]); !ok {
		return doc, refuse(Malformed, "not a COSE_Sign1 in deterministic encoding")
	}
	if doc.header, ok = decodeExact[header](doc.Protected); !ok {
		return doc, refuse(Malformed, "the protected header is not {alg, kid, typ} in deterministic encoding")
	}
	if doc.Type != typ {
		return doc, refuse(Malformed, "a signed document of another type")
	}
	if doc.Algorithm != int64(cose.AlgorithmES256) {
		return doc, refuse(UnsupportedAlgorithm, "the algorithm is not ES256")
	}
	if len(doc.Signature) != signatureSize {
		return doc, refuse(Malformed, "a signature has 64 bytes")
	}
	return doc, nil
}

// verify checks that the private half of key signed the document.
func (d signed) verify(key PublicKey) error {
	pub, err := key.ecdsa()
	if err != nil {
		return refuse(Malformed, "the key is not a point of P-256")
	}
	msg := cose.Sign1Message{Headers: coseHeaders(d.header, d.Protected), Payload: d.Payload, Signature: d.Signature}
	if err := msg.Verify(nil, es256Verifier{pub}); err != nil {
		return refuse(BadSignature, "the signature is not valid")
	}
	return nil
}

// sign1 encodes and signs a document of the type typ. The signature always has the low s, and is deterministic (RFC 6979) if the signer is
// an *ecdsa.PrivateKey.
func sign1(signer crypto.Signer, typ string, payload any) ([]byte, error) {
	key, err := PublicKeyOf(signer.Public())
	if err != nil {
		return nil, err
	}
	head := header{Algorithm: int64(cose.AlgorithmES256), KeyID: key.KeyID(), Type: typ}
	doc := envelope{Protected: mustEncode(head), Payload: mustEncode(payload)}
	msg := cose.Sign1Message{Headers: coseHeaders(head, doc.Protected), Payload: doc.Payload}
	if err := msg.Sign(rand.Reader, nil, es256Signer{signer}); err != nil {
		return nil, fmt.Errorf("smartkey: sign: %w", err)
	}
	doc.Signature = msg.Signature
	return append([]byte{tagSign1}, mustEncode(doc)...), nil
}

// coseHeaders returns the headers of a document for package cose. protected is the encoding of h.
func coseHeaders(h header, protected []byte) cose.Headers {
	return cose.Headers{
		RawProtected: mustEncode(protected),
		Protected:    cose.ProtectedHeader{cose.HeaderLabelAlgorithm: cose.Algorithm(h.Algorithm)},
	}
}

// es256Signer signs ES256 with the lower of the two possible values of s.
type es256Signer struct{ key crypto.Signer }

// Algorithm implements cose.Signer.
func (es256Signer) Algorithm() cose.Algorithm { return cose.AlgorithmES256 }

// Sign implements cose.Signer. It hashes content, and returns r and s in signatureSize bytes. With an *ecdsa.PrivateKey it ignores random.
func (s es256Signer) Sign(random io.Reader, content []byte) ([]byte, error) {
	digest := sha256.Sum256(content)
	if _, plain := s.key.(*ecdsa.PrivateKey); plain {
		random = nil // a nil source makes ECDSA deterministic
	}
	der, err := s.key.Sign(random, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var sig struct{ R, S *big.Int }
	if rest, err := asn1.Unmarshal(der, &sig); err != nil || len(rest) > 0 {
		return nil, errors.New("the signer did not return an ECDSA signature")
	}
	order := elliptic.P256().Params().N
	if isHigh(sig.S) {
		sig.S.Sub(order, sig.S)
	}
	if !isScalar(sig.R) || !isScalar(sig.S) {
		return nil, errors.New("the signer did not return a signature of P-256")
	}
	out := make([]byte, signatureSize)
	sig.R.FillBytes(out[:signatureSize/2])
	sig.S.FillBytes(out[signatureSize/2:])
	return out, nil
}

// es256Verifier verifies ES256 and refuses the high s, which anyone can compute from the low s. ecdsa.Verify refuses values of r
// and s outside 1 to n − 1, and readSign1 refuses a signature of another length.
type es256Verifier struct{ key *ecdsa.PublicKey }

// Algorithm implements cose.Verifier.
func (es256Verifier) Algorithm() cose.Algorithm { return cose.AlgorithmES256 }

// Verify implements cose.Verifier. It refuses even a correct signature if it has the high s. It does not check that the signature has
// signatureSize bytes, and can panic for a shorter one: readSign1 checks the length before.
func (v es256Verifier) Verify(content, signature []byte) error {
	r := new(big.Int).SetBytes(signature[:signatureSize/2])
	s := new(big.Int).SetBytes(signature[signatureSize/2:])
	digest := sha256.Sum256(content)
	if isHigh(s) || !ecdsa.Verify(v.key, digest[:], r, s) {
		return cose.ErrVerification
	}
	return nil
}

// isScalar reports whether n can be the r or s of a P-256 signature. es256Signer checks the result of a signer with it; ecdsa.Verify checks
// by itself.
func isScalar(n *big.Int) bool { return n.Sign() > 0 && n.Cmp(elliptic.P256().Params().N) < 0 }

// isHigh reports whether s is the higher of the two values that are valid in the same signature.
func isHigh(s *big.Int) bool {
	half := new(big.Int).Rsh(elliptic.P256().Params().N, 1)
	return s.Cmp(half) > 0
}
