// Package smartkey mints and verifies SmartKeys: short-lived CBOR Web Tokens
// (RFC 8392) that open doors, bound to a key which only one phone holds.
//
// The published specification is docs/smartkey.md; docs/smartkey-vectors.json
// holds its test vectors, which the tests of this package run.
//
// Everything here is a function of its arguments: no clock is read, nothing is
// stored, randomness is passed in. What changes from call to call, the pinned
// issuer keys, the status list and the spent nonces, are values that go in and
// come out.
package smartkey

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"
)

// Limits of the format. A verifier refuses what exceeds them before it looks inside.
const (
	MaxTokenSize        = 2048
	MaxProofSize        = 512
	MaxKeySetSize       = 2048
	MaxListSize         = 64 << 10
	MaxPossessionSize   = 512
	MaxPresentationSize = MaxTokenSize + MaxProofSize + MaxListSize + maxCarriedKeySets*MaxKeySetSize + 64

	MaxDoors      = 128
	MaxOperations = 8
	MaxIssuerKeys = 8
	MaxFloors     = 1024
	// MaxStatusIndexes bounds a status list: 32 KiB of bits.
	MaxStatusIndexes = 1 << 18

	maxCarriedKeySets = 8
	maxName           = 64
	maxURI            = 256
	// maxNumber keeps every integer within what a double holds exactly, for verifiers written in JavaScript.
	maxNumber = 1<<53 - 1
)

// Times of the format.
const (
	// MaxLife is the longest a token lives, counted from when it was issued.
	MaxLife = 24 * time.Hour
	// MaxBackdate is how far before its issue a token may begin, so that a
	// verifier that counts its clock's error against the bearer accepts it at once.
	MaxBackdate = 5 * time.Minute
	// NonceLife is how long a nonce serves.
	NonceLife = 30 * time.Second
	// DefaultMaxListAge is how old a status list a door accepts unless it says otherwise.
	DefaultMaxListAge = 96 * time.Hour
	// IssuerSkew is how far the issuer's clock may be ahead of a right verifier's.
	IssuerSkew = 5 * time.Minute
)

// Reason is a stable word that says why something was refused, or "ok".
type Reason string

// The reasons, in the order in which Verify looks for them; the last three belong to
// key sets, status lists and enrolment.
const (
	OK                   Reason = "ok"
	Malformed            Reason = "malformed"
	UnsupportedAlgorithm Reason = "unsupportedAlgorithm"
	UnknownIssuer        Reason = "unknownIssuer"
	BadSignature         Reason = "badSignature"
	Cloned               Reason = "cloned"
	WrongToken           Reason = "wrongToken"
	WrongBridge          Reason = "wrongBridge"
	UnknownNonce         Reason = "unknownNonce"
	Replayed             Reason = "replayed"
	Busy                 Reason = "busy"
	WrongDoor            Reason = "wrongDoor"
	WrongOperation       Reason = "wrongOperation"
	ClockUntrusted       Reason = "clockUntrusted"
	NotYetValid          Reason = "notYetValid"
	Expired              Reason = "expired"
	Superseded           Reason = "superseded"
	Revoked              Reason = "revoked"
	StaleList            Reason = "staleList"

	// LockFailed is no verdict: the key is good, and the lock did not follow.
	LockFailed Reason = "lockFailed"

	NotNewer       Reason = "notNewer"
	WrongChallenge Reason = "wrongChallenge"
	WrongProperty  Reason = "wrongProperty"
)

// Refusal is the error of everything that reads signed documents. Detail is for
// people who look for a fault; it holds nothing of the document's content.
type Refusal struct {
	Reason Reason
	Detail string
}

// Error says both.
func (r *Refusal) Error() string { return "smartkey: " + string(r.Reason) + ": " + r.Detail }

func refuse(reason Reason, detail string) error { return &Refusal{Reason: reason, Detail: detail} }

// ReasonOf returns the reason of an error of this package, OK for nil, and
// Malformed for an error that carries none.
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

// Operation is what a bearer wants of a door.
type Operation uint

// The operations. Check verifies and moves nothing.
const (
	Unlock Operation = 1
	Check  Operation = 2
)

// String returns the operation's word.
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

// Door is the compact id of a door. It follows from the bridge and the lock's
// address there, so that nobody on the way can point an id at another lock.
type Door [8]byte

// DoorID returns the id of the door whose lock the bridge knows by address: the
// first eight bytes of the SHA-256 of the CBOR array
// ["smartkey door/1", bridge, address].
func DoorID(bridge, address string) Door {
	sum := sha256.Sum256(mustEncode([]string{"smartkey door/1", bridge, address}))
	return Door(sum[:len(Door{})])
}

// String returns the id in hexadecimal.
func (d Door) String() string { return hex.EncodeToString(d[:]) }
