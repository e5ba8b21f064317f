package smartkey

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"
)

// Limits of a nonce's length. Issue generates 32 bytes.
const (
	minNonce = 16
	maxNonce = 32
)

// MaxSpent limits the stored spent nonces: while so many are stored, Verify refuses every nonce (Busy). Only the holder of a token that the
// issuer signed, also an expired one, and of its key can spend a nonce, so a stranger cannot fill the memory.
const MaxSpent = 1024

// Layout of a nonce, in bytes: the time of issue, random bytes, and a MAC over both.
const (
	nonceTime   = 8
	nonceChance = 8
	nonceBody   = nonceTime + nonceChance
	nonceMAC    = maxNonce - nonceBody
)

// Nonces is the state of a bridge's nonces, as a value: Verify takes a state and returns the next one. A nonce contains its time under a
// MAC, so issued nonces need no memory; only spent ones are stored, for NonceLife.
//
// A caller of Verify must use the returned value for the next call, under one lock or in one goroutine: two calls with the
// same value would accept the same nonce twice.
type Nonces struct {
	bridge string
	key    [32]byte
	spent  []spentNonce // used nonces, as long as they would be valid
}

// spentNonce is a used nonce, and when it was issued, counted from the start of the bridge.
type spentNonce struct {
	nonce  [maxNonce]byte
	issued time.Duration
}

// NewNonces returns the nonces of a bridge with a new random key. A bridge calls it once per start and never stores the key: nonces do not
// outlive the process that issued them.
func NewNonces(random io.Reader, bridge string) (Nonces, error) {
	n := Nonces{bridge: bridge}
	if !isName(bridge) {
		return Nonces{}, errors.New("smartkey: a bridge's id is 1 to 64 visible ASCII characters")
	}
	if _, err := io.ReadFull(random, n.key[:]); err != nil {
		return Nonces{}, fmt.Errorf("smartkey: generate a nonce key: %w", err)
	}
	return n, nil
}

// Issue generates a nonce for the greeting, the first message from a bridge to a phone. The nonce contains elapsed, the monotonic time
// since the bridge started, so that it expires without being stored. It fails for the zero Nonces, for a negative elapsed, and if random
// fails.
func (n Nonces) Issue(random io.Reader, elapsed time.Duration) ([]byte, error) {
	if n.bridge == "" || elapsed < 0 {
		return nil, errors.New("smartkey: issue a nonce: there is no key, or elapsed is negative")
	}
	nonce := make([]byte, nonceBody, maxNonce)
	binary.BigEndian.PutUint64(nonce, uint64(elapsed/time.Millisecond))
	if _, err := io.ReadFull(random, nonce[nonceTime:]); err != nil {
		return nil, fmt.Errorf("smartkey: generate a nonce: %w", err)
	}
	return append(nonce, n.mac(nonce)...), nil
}

// mac returns the MAC in a nonce over its time and random bytes, which binds it to this bridge.
func (n Nonces) mac(body []byte) []byte {
	h := hmac.New(sha256.New, n.key[:])
	h.Write([]byte("smartkey nonce/1\x00" + n.bridge + "\x00"))
	h.Write(body)
	return h.Sum(nil)[:nonceMAC]
}

// spend marks a nonce as used. It returns the next state, and when the nonce expires. Both times are since the start of the bridge. It
// refuses a nonce that this process did not issue or that has expired (UnknownNonce), that was used (Replayed), and any nonce while
// MaxSpent are spent (Busy). The nonce must have at least minNonce bytes, or spend panics; ReadProof checks that. With a refusal it returns
// the unchanged state.
func (n Nonces) spend(nonce []byte, elapsed time.Duration) (Nonces, time.Duration, error) {
	if n.bridge == "" || !hmac.Equal(nonce[nonceBody:], n.mac(nonce[:nonceBody])) {
		return n, 0, refuse(UnknownNonce, "this bridge did not issue the nonce since it started")
	}
	issued := time.Duration(binary.BigEndian.Uint64(nonce)) * time.Millisecond
	if issued > elapsed || elapsed-issued >= NonceLife {
		return n, 0, refuse(UnknownNonce, "the nonce is older than thirty seconds")
	}
	if slices.ContainsFunc(n.spent, func(s spentNonce) bool { return bytes.Equal(s.nonce[:], nonce) }) {
		return n, 0, refuse(Replayed, "the nonce was used before")
	}
	kept := make([]spentNonce, 0, len(n.spent)+1)
	for _, s := range n.spent {
		if elapsed-s.issued < NonceLife {
			kept = append(kept, s)
		}
	}
	if len(kept) >= MaxSpent {
		return n, 0, refuse(Busy, "too many keys were used within thirty seconds")
	}
	n.spent = append(kept, spentNonce{nonce: [maxNonce]byte(nonce), issued: issued})
	return n, issued + NonceLife, nil
}

// String, GoString and LogValue leave out the key with which the nonces are made, so that no log shows it.
func (n Nonces) String() string { return fmt.Sprintf("%d spent nonces", len(n.spent)) }

// GoString returns String, so that %#v does not show the key.
func (n Nonces) GoString() string { return n.String() }

// LogValue implements slog.LogValuer: it returns n.String().
func (n Nonces) LogValue() slog.Value { return slog.StringValue(n.String()) }
