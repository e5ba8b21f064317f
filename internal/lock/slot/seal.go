package slot

import (
	"crypto/ecdh"
	"crypto/hpke"
	"fmt"
	"strconv"
)

// sealInfo binds sealed PINs to this use and version.
const sealInfo = "latchkey/pin/v1"

// encLen is the length of an encapsulated X25519 key.
const encLen = 32

// Seal names the one place a sealed PIN is for: moved to another, it does not open.
type Seal struct {
	BridgeID   string
	Address    string
	Slot       uint32
	Generation uint64
}

func (s Seal) associated() []byte {
	return []byte(s.BridgeID + "\x00" + s.Address + "\x00" +
		strconv.FormatUint(uint64(s.Slot), 10) + "\x00" + strconv.FormatUint(s.Generation, 10))
}

// Close seals pin to a bridge's X25519 public key (32 bytes): encapsulated key, then ciphertext.
func (s Seal) Close(public []byte, pin PIN) ([]byte, error) {
	key, err := hpke.DHKEM(ecdh.X25519()).NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("the bridge's HPKE key: %w", err)
	}
	enc, sender, err := hpke.NewSender(key, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(sealInfo))
	if err != nil {
		return nil, fmt.Errorf("seal a PIN: %w", err)
	}
	sealed, err := sender.Seal(s.associated(), []byte(pin))
	if err != nil {
		return nil, fmt.Errorf("seal a PIN: %w", err)
	}
	return append(enc, sealed...), nil
}

// Open is the PIN that Close sealed for this very place.
func (s Seal) Open(private hpke.PrivateKey, sealed []byte) (PIN, error) {
	if len(sealed) < encLen {
		return "", fmt.Errorf("a sealed PIN of %d bytes, want more than %d", len(sealed), encLen)
	}
	r, err := hpke.NewRecipient(sealed[:encLen], private, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(sealInfo))
	if err != nil {
		return "", fmt.Errorf("open a PIN: %w", err)
	}
	pin, err := r.Open(s.associated(), sealed[encLen:])
	if err != nil {
		return "", fmt.Errorf("open the PIN of slot %d generation %d: sealed for another place or key: %w", s.Slot, s.Generation, err)
	}
	return PIN(pin), nil
}

// NewSealKey makes a bridge's key pair for sealed PINs.
func NewSealKey() (hpke.PrivateKey, error) { return hpke.DHKEM(ecdh.X25519()).GenerateKey() }

// ParseSealKey reads a private key as its Bytes gave it.
func ParseSealKey(raw []byte) (hpke.PrivateKey, error) { return hpke.DHKEM(ecdh.X25519()).NewPrivateKey(raw) }
