// Package pinseal seals PINs on their way to a bridge: HPKE (RFC 9180: X25519, HKDF-SHA256, export only) agrees on a key
// that only the bridge can know too, and AES-256-GCM under it ties each PIN to the lock, slot and generation it was meant
// for. The agreement is what takes time, so it is made once for a session and not for each PIN.
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

// Place is where a code belongs.
type Place struct {
	LockID     string
	Slot       int
	Generation int64
}

const (
	maxPIN  = 64 // bytes
	encSize = 32 // bytes of an encapsulated key
	keySize = 32 // bytes, of AES-256
)

var (
	kem  = hpke.DHKEM(ecdh.X25519())
	info = []byte("latchkey pin/1")
)

// GenerateKey draws a bridge's key pair: the private half stays on the bridge (32
// bytes), the public half (32 bytes) goes into the enrolment.
func GenerateKey() (private, public []byte, err error) {
	k, err := kem.GenerateKey()
	if err != nil {
		return nil, nil, err
	}
	private, err = k.Bytes()
	return private, k.PublicKey().Bytes(), err
}

// CheckPublicKey tells whether a bridge's public key is usable.
func CheckPublicKey(public []byte) error {
	if _, err := kem.NewPublicKey(public); err != nil {
		return fmt.Errorf("HPKE public key: want 32 bytes of X25519, got %d", len(public))
	}
	return nil
}

// Sealer seals PINs for one bridge, at most 2^32 of them.
type Sealer struct {
	encapsulated []byte
	codes        cipher.AEAD
}

// NewSealer agrees on a key with the holder of the private half.
func NewSealer(public []byte) (*Sealer, error) {
	k, err := kem.NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("pinseal: public key: %w", err)
	}
	encapsulated, sender, err := hpke.NewSender(k, hpke.HKDFSHA256(), hpke.ExportOnly(), info)
	if err != nil {
		return nil, fmt.Errorf("pinseal: %w", err)
	}
	codes, err := agreed(sender)
	return &Sealer{encapsulated, codes}, err
}

// Seal encrypts pin: the encapsulated key, a nonce, and the ciphertext with its tag.
func (s *Sealer) Seal(at Place, pin string) ([]byte, error) {
	if len(pin) > maxPIN {
		return nil, fmt.Errorf("pinseal: a code of %d characters", len(pin))
	}
	return s.codes.Seal(bytes.Clone(s.encapsulated), nil, []byte(pin), at.bytes()), nil
}

// Opener opens what was sealed for the holder of a private key. It remembers the key that was agreed on last, and is not
// safe for concurrent use.
type Opener struct {
	Private []byte

	encapsulated []byte
	codes        cipher.AEAD
}

var errForeign = errors.New("pinseal: not a code for this bridge, lock, slot and generation")

// Open decrypts what a Sealer made for the same place.
func (o *Opener) Open(at Place, sealed []byte) (string, error) {
	if len(sealed) < encSize {
		return "", errForeign
	}
	if err := o.agree(sealed[:encSize]); err != nil {
		return "", err
	}
	pin, err := o.codes.Open(nil, nil, sealed[encSize:], at.bytes())
	if err != nil {
		return "", errForeign
	}
	return string(pin), nil
}

func (o *Opener) agree(encapsulated []byte) error {
	if o.codes != nil && bytes.Equal(o.encapsulated, encapsulated) {
		return nil
	}
	k, err := kem.NewPrivateKey(o.Private)
	if err != nil {
		return fmt.Errorf("pinseal: private key: %w", err)
	}
	recipient, err := hpke.NewRecipient(encapsulated, k, hpke.HKDFSHA256(), hpke.ExportOnly(), info)
	if err != nil {
		return errForeign
	}
	codes, err := agreed(recipient)
	if err != nil {
		return err
	}
	o.encapsulated, o.codes = bytes.Clone(encapsulated), codes
	return nil
}

// agreed is the cipher under the key that both sides export.
func agreed(side interface {
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

func (p Place) bytes() []byte {
	b := binary.AppendUvarint(nil, uint64(len(p.LockID)))
	b = append(b, p.LockID...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Slot))
	return binary.BigEndian.AppendUint64(b, uint64(p.Generation))
}
