// Package kiosk manages a property's check-in tablets: their enrolment, their credentials and their health.
package kiosk

import (
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/big"
	"time"

	entkiosk "latchkey.dev/ent/kiosk"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

// tokenMAC returns the keyed hash under which a tablet's token is stored and found.
func tokenMAC(keys *keyring.Ring, token string) []byte { return keys.MAC("kiosk", token) }

// Authenticate returns the kiosk that has the token, or the error [credential.Refused] if none has.
func Authenticate(view *db.Tx, keys *keyring.Ring, token string) (actor.Actor, error) {
	if !keyring.IsToken(token, keyring.KioskToken) {
		return actor.Actor{}, credential.Refused()
	}
	k, found, err := findByMAC(view, tokenMAC(keys, token))
	if err != nil {
		return actor.Actor{}, err
	}
	if !found {
		return actor.Actor{}, credential.Refused()
	}
	return actor.Actor{Kind: actor.Kiosk, ID: k.ID, PropertyID: k.PropertyID, TokenID: k.ID}, nil
}

// A challenge contains the time of its creation in microseconds, and a MAC over that time and the kiosk's id. So the server stores nothing
// until a tablet answers the challenge. challengeTime and challengeMAC are the lengths of both in bytes.
const (
	challengeLife = 15 * time.Minute
	// maxSkew is how much the clocks of two nodes may differ. The tablet's clock does not count: the service sets the time of a challenge.
	maxSkew       = time.Minute
	challengeTime = 8
	challengeMAC  = 16
)

var errProof = fault.New(fault.Invalid, fault.ProofInvalid, "the challenge has expired or was used, or its signature is not by this tablet's key; get a new challenge, and reset the kiosk if that does not help")

// NewChallenge returns a text that the tablet signs with its key for its next search for a stay: see [UseProof]. It expires after
// challengeLife.
func NewChallenge(keys *keyring.Ring, kioskID string, now time.Time) string {
	body := binary.BigEndian.AppendUint64(nil, uint64(now.UnixMicro())) // verifyChallenge reads it again
	return base64.RawURLEncoding.EncodeToString(append(body, macOfChallenge(keys, kioskID, body)...))
}

// macOfChallenge returns the keyed hash that proves that this service made a challenge for a kiosk. body is the encoded time of the
// challenge.
func macOfChallenge(keys *keyring.Ring, kioskID string, body []byte) []byte {
	return keys.MAC("kioskChallenge", kioskID, string(body))[:challengeMAC]
}

// verifyChallenge returns when a challenge of a kiosk was created, and false if it is forged, expired, or more than maxSkew in the future.
func verifyChallenge(keys *keyring.Ring, kioskID, challenge string, now time.Time) (time.Time, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(challenge)
	if err != nil || len(raw) != challengeTime+challengeMAC || !hmac.Equal(raw[challengeTime:], macOfChallenge(keys, kioskID, raw[:challengeTime])) {
		return time.Time{}, false
	}
	at := time.UnixMicro(int64(binary.BigEndian.Uint64(raw))) // inverse of the conversion in NewChallenge
	age := now.Sub(at)
	return at, age >= -maxSkew && age < challengeLife
}

// isReplay reports whether a challenge is not newer than the last used one. A last use more than maxSkew in the future does not count: the
// clock was wrong then, and no challenge of that time is valid before that time comes.
func isReplay(at time.Time, lastUse *time.Time, now time.Time) bool {
	return lastUse != nil && !at.After(*lastUse) && !lastUse.After(now.Add(maxSkew))
}

// UseProof checks the signature of a challenge by the tablet's key, so that a copied token is of no use without the tablet. It stores the
// use of the challenge, which works once, and not after a newer one was used. If the check fails, it returns errProof, and for an unknown
// kiosk errNotFound.
func UseProof(tx *db.Tx, keys *keyring.Ring, propertyID, kioskID, challenge string, signature []byte) error {
	row, err := Get(tx, propertyID, kioskID)
	if err != nil {
		return err
	}
	at, ok := verifyChallenge(keys, kioskID, challenge, tx.Now())
	if !ok || isReplay(at, row.ProvedAt, tx.Now()) || !isSigned(row.PublicKey, challenge, signature) {
		return errProof
	}
	if err := tx.Kiosk.Update().Where(entkiosk.PropertyID(propertyID), entkiosk.ID(kioskID)).SetProvedAt(at).Exec(tx.Context()); err != nil {
		return fmt.Errorf("store the use of a challenge: %w", err)
	}
	return nil
}

// isSigned reports whether a challenge has the right signature of a public key: r and s of ECDSA, 32 bytes each.
func isSigned(publicKey []byte, challenge string, signature []byte) bool {
	key, err := parseKey(publicKey)
	if err != nil || len(signature) != 64 {
		return false
	}
	digest := sha256.Sum256([]byte(challenge))
	return ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
}
