// Package smartkey issues and verifies SmartKeys: short-lived CBOR Web Tokens (RFC 8392) that open doors, bound to a key that
// only one phone has.
//
// The specification is docs/smartkey.md. The tests of this package run the test vectors in docs/smartkey-vectors.json.
//
// Every function depends on its arguments only: it reads no clock, stores nothing, and takes randomness as an argument. There are two
// exceptions: a [Phone] keeps its token, and a signer that is not an *ecdsa.PrivateKey gets randomness from crypto/rand. The
// state that changes between calls (pinned issuer keys, status list, spent nonces) is passed in and returned as values.
package smartkey

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"
)

// Limits of the format; sizes are in bytes. A verifier refuses larger documents before it parses them.
const (
	MaxTokenSize        = 2048
	MaxProofSize        = 512
	MaxKeySetSize       = 2048
	MaxListSize         = 64 << 10
	MaxPossessionSize   = 512
	MaxPresentationSize = MaxTokenSize + MaxProofSize + MaxListSize + maxCarriedKeySets*MaxKeySetSize + 64

	MaxDoors      = 128  // MaxDoors bounds the doors of a token
	MaxOperations = 8    // MaxOperations bounds the operations of a token
	MaxIssuerKeys = 8    // MaxIssuerKeys bounds the keys of a key set
	MaxFloors     = 1024 // MaxFloors bounds the floors of a status list
	// MaxStatusIndexes bounds a status list: 32 KiB of bits.
	MaxStatusIndexes = 1 << 18

	maxCarriedKeySets = 8   // key sets of a presentation
	maxName           = 64  // characters of an identifier, such as the id of a bridge
	maxURI            = 256 // characters of a status list's URI
	// maxNumber keeps every integer within what a double holds exactly, for verifiers written in JavaScript.
	maxNumber = 1<<53 - 1
)

const (
	// MaxLife is the longest validity of a token, counted from its issue.
	MaxLife = 24 * time.Hour
	// MaxBackdate is how far before its issue a token may become valid, so that a verifier that counts the error of its clock
	// against the bearer accepts it at once.
	MaxBackdate = 5 * time.Minute
	// NonceLife is how long a nonce is valid.
	NonceLife = 30 * time.Second
	// DefaultMaxListAge is the maximum age of the status list for a door without a rule of its own.
	DefaultMaxListAge = 96 * time.Hour
	// IssuerSkew is how far the issuer's clock may be ahead of a correct one.
	IssuerSkew = 5 * time.Minute
)

// Reason is a stable identifier of why something was refused, or "ok".
type Reason string

// The reasons are roughly in the order in which Verify checks them. LockFailed and the last three are not of Verify: the last three are of
// key sets, status lists and enrolment.
const (
	OK                   Reason = "ok"
	Malformed            Reason = "malformed"
	UnsupportedAlgorithm Reason = "unsupportedAlgorithm"
	UnknownIssuer        Reason = "unknownIssuer" // token or list of another property, or no key in the pinned set was valid then
	BadSignature         Reason = "badSignature"
	Cloned               Reason = "cloned"         // the proof's signer is not the key to which the token is bound
	WrongToken           Reason = "wrongToken"     // the proof was made for another token
	WrongBridge          Reason = "wrongBridge"    // the proof or the token is for another bridge
	UnknownNonce         Reason = "unknownNonce"   // the bridge did not issue the nonce since it started, or the nonce has expired
	Replayed             Reason = "replayed"       // the nonce was used before
	Busy                 Reason = "busy"           // too many nonces were used a moment ago
	WrongDoor            Reason = "wrongDoor"      // the bridge does not drive the door, or token or proof is for another
	WrongOperation       Reason = "wrongOperation" // the operation is unknown, or token or proof is for another
	ClockUntrusted       Reason = "clockUntrusted" // the bridge's clock does not show whether the token is valid now
	NotYetValid          Reason = "notYetValid"
	Expired              Reason = "expired"
	Superseded           Reason = "superseded" // the door accepts only tokens of a later generation
	Revoked              Reason = "revoked"
	StaleList            Reason = "staleList" // the bridge has no status list that covers the token and is recent enough

	// LockFailed means that the key was accepted but the lock did not open.
	LockFailed Reason = "lockFailed"

	NotNewer       Reason = "notNewer"       // the verifier has a key set or list of this or a greater version
	WrongChallenge Reason = "wrongChallenge" // the phone answered another challenge, or for another purpose
	WrongProperty  Reason = "wrongProperty"  // key set or possession of another property; for a token or list it is UnknownIssuer
)

// Refusal is the error of every function that reads signed documents. Detail is for debugging and contains nothing of the
// document's content.
type Refusal struct {
	Reason Reason
	Detail string
}

func (r *Refusal) Error() string { return "smartkey: " + string(r.Reason) + ": " + r.Detail }

// refuse returns a refusal as an error.
func refuse(reason Reason, detail string) error { return &Refusal{Reason: reason, Detail: detail} }

// ReasonOf returns the reason of an error of this package, OK for nil, and Malformed for an error that carries none.
func ReasonOf(err error) Reason {
	var refusal *Refusal
	switch {
	case err == nil:
		return OK
	case errors.As(err, &refusal):
		return refusal.Reason
	default:
		return Malformed
	}
}

// detailOf returns the detail of a refusal, or "" for another error.
func detailOf(err error) string {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return refusal.Detail
	}
	return ""
}

// Operation is what a bearer wants to do at a door.
type Operation uint

// The operations that verifiers know. Check verifies the token and does not open the door.
const (
	Unlock Operation = 1
	Check  Operation = 2
)

// String returns unlock or check, or for an operation that is not known here its number.
func (o Operation) String() string {
	switch o {
	case Unlock:
		return "unlock"
	case Check:
		return "check"
	default:
		return "operation " + strconv.FormatUint(uint64(o), 10)
	}
}

// Door is the compact id of a door. It is a hash of the bridge's id and the lock's address at the bridge, so that no relay can redirect it
// to another lock.
type Door [8]byte

// DoorID returns the id of the door whose lock the bridge knows by address: the first eight bytes of the SHA-256 of the CBOR array
// ["smartkey door/1", bridge, address].
func DoorID(bridge, address string) Door {
	sum := sha256.Sum256(mustEncode([]string{"smartkey door/1", bridge, address}))
	return Door(sum[:len(Door{})])
}

// String returns the id as 16 hex digits.
func (d Door) String() string { return hex.EncodeToString(d[:]) }
