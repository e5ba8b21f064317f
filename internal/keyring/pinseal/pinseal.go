// Package pinseal encrypts PINs for a bridge. HPKE (RFC 9180: X25519, HKDF-SHA256, export only) establishes a key that only
// the server and the bridge know. AES-256-GCM with that key binds each PIN to its lock, slot and generation. HPKE is the slow
// part, so it runs once per session and not for each PIN.
package pinseal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/binary"
	"errors"
	"fmt"
)

// Target identifies the slot (a numbered place for a code on a lock) that a PIN is for, and its generation.
type Target struct {
	Address    string // Address is the address of the lock at its bridge, not the service's id
	Slot       int
	Generation int64 // Generation is a number that grows with each change of the slot
}

const (
	maxPIN  = 64 // the longest PIN in bytes
	encSize = 32 // size of an encapsulated key in bytes
	keySize = 32 // size of an AES-256 key in bytes
)

var (
	kem  = hpke.DHKEM(ecdh.X25519())
	info = []byte("latchkey pin/1")
)

// GenerateKey generates a bridge's key pair of 32 bytes each. The private key stays on the bridge; the public key is part of
// the enrolment.
func GenerateKey() (private, public []byte, err error) {
	k, err := kem.GenerateKey()
	if err != nil {
		return nil, nil, err
	}
	private, err = k.Bytes()
	return private, k.PublicKey().Bytes(), err
}

// CheckPublicKey returns an error if a bridge's public key is not usable: it has another length, or is one of the points of low order, such
// as 32 zero bytes.
func CheckPublicKey(public []byte) error {
	_, err := NewSealer(public)
	return err
}

// Sealer encrypts PINs for one bridge, at most 2^32 of them.
type Sealer struct {
	encapsulated []byte
	codes        cipher.AEAD
}

// NewSealer establishes a new key with the bridge that has the private key for public. It fails for a key that [CheckPublicKey] refuses.
func NewSealer(public []byte) (*Sealer, error) {
	k, err := kem.NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("pinseal: public key: %w", err)
	}
	encapsulated, sender, err := hpke.NewSender(k, hpke.HKDFSHA256(), hpke.ExportOnly(), info)
	if err != nil {
		return nil, fmt.Errorf("pinseal: %w", err)
	}
	codes, err := sessionCipher(sender)
	return &Sealer{encapsulated, codes}, err
}

// Seal encrypts a PIN for a target. It fails if the PIN has more than maxPIN (64) bytes. The result is the encapsulated key, a nonce, and
// the ciphertext with its tag.
func (s *Sealer) Seal(at Target, pin string) ([]byte, error) {
	if len(pin) > maxPIN {
		return nil, fmt.Errorf("pinseal: a code of %d characters", len(pin))
	}
	return s.codes.Seal(bytes.Clone(s.encapsulated), nil, []byte(pin), at.bytes()), nil
}

// Opener decrypts PINs for the holder of a private key. It caches the latest session key, and is not safe for concurrent use.
type Opener struct {
	Private []byte // Private is the private key of the bridge, from GenerateKey

	encapsulated []byte
	codes        cipher.AEAD
}

var errWrongTarget = errors.New("pinseal: not a code for this bridge, lock, slot and generation")

// Open decrypts a result of [Sealer.Seal]. It fails if the PIN was encrypted for another bridge, lock, slot or generation, if sealed was
// changed, or if Private is no key.
func (o *Opener) Open(at Target, sealed []byte) (string, error) {
	if len(sealed) < encSize {
		return "", errWrongTarget
	}
	if err := o.deriveCipher(sealed[:encSize]); err != nil {
		return "", err
	}
	pin, err := o.codes.Open(nil, nil, sealed[encSize:], at.bytes())
	if err != nil {
		return "", errWrongTarget
	}
	return string(pin), nil
}

// deriveCipher prepares the cipher of the session whose encapsulated key is given. It does nothing if that is the latest session.
func (o *Opener) deriveCipher(encapsulated []byte) error {
	if o.codes != nil && bytes.Equal(o.encapsulated, encapsulated) {
		return nil
	}
	k, err := kem.NewPrivateKey(o.Private)
	if err != nil {
		return fmt.Errorf("pinseal: private key: %w", err)
	}
	recipient, err := hpke.NewRecipient(encapsulated, k, hpke.HKDFSHA256(), hpke.ExportOnly(), info)
	if err != nil {
		return errWrongTarget
	}
	codes, err := sessionCipher(recipient)
	if err != nil {
		return err
	}
	o.encapsulated, o.codes = bytes.Clone(encapsulated), codes
	return nil
}

// sessionCipher returns the cipher of a session. side is the HPKE sender or recipient, both of which export the same key.
func sessionCipher(side interface {
	Export(context string, length int) ([]byte, error)
}) (cipher.AEAD, error) {
	key, err := side.Export("codes", keySize)
	if err != nil {
		return nil, fmt.Errorf("pinseal: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("pinseal: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// bytes encodes the target, and no two targets in the same way. The encryption authenticates it together with the PIN, so that a PIN cannot
// be moved to another slot.
func (t Target) bytes() []byte {
	b := binary.AppendUvarint(nil, uint64(len(t.Address)))
	b = append(b, t.Address...)
	b = binary.BigEndian.AppendUint64(b, uint64(t.Slot))
	return binary.BigEndian.AppendUint64(b, uint64(t.Generation))
}
