// Package pinseal seals a PIN on its way to a bridge (HPKE, RFC 9180: X25519,
// HKDF-SHA256, ChaCha20-Poly1305, which is fast on small boards). Only the bridge's key
// opens it, and only as the code of the lock, slot and generation it was meant for.
package pinseal

import (
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/binary"
	"fmt"
)

// Place is where a code belongs.
type Place struct {
	LockID     string
	Slot       int
	Generation int64
}

const maxPIN = 64 // bytes

var kem = hpke.DHKEM(ecdh.X25519())

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

// Seal encrypts pin for the holder of the private half.
func Seal(public []byte, at Place, pin string) ([]byte, error) {
	if len(pin) > maxPIN {
		return nil, fmt.Errorf("pinseal: a code of %d characters", len(pin))
	}
	k, err := kem.NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("pinseal: %w", err)
	}
	return hpke.Seal(k, hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), at.context(), []byte(pin))
}

// Open decrypts what Seal made for the same place.
func Open(private []byte, at Place, sealed []byte) (string, error) {
	k, err := kem.NewPrivateKey(private)
	if err != nil {
		return "", fmt.Errorf("pinseal: private key: %w", err)
	}
	pin, err := hpke.Open(k, hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), at.context(), sealed)
	if err != nil {
		return "", fmt.Errorf("pinseal: not a code for this bridge, lock, slot and generation")
	}
	return string(pin), nil
}

func (p Place) context() []byte {
	b := []byte("latchkey pin/1")
	b = binary.AppendUvarint(b, uint64(len(p.LockID)))
	b = append(b, p.LockID...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Slot))
	return binary.BigEndian.AppendUint64(b, uint64(p.Generation))
}
