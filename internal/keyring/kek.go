package keyring

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	aead "github.com/tink-crypto/tink-go/v2/aead/subtle"
)

// KEK is a key-encryption key: it seals the data keys and nothing else. A key that
// lives in a KMS implements it by calling there; the ones here hold the key itself.
type KEK interface {
	// ID names the key, 16 hex digits; it is stored beside what the key sealed.
	ID() string
	Wrap(ctx context.Context, plaintext, associated []byte) ([]byte, error)
	Unwrap(ctx context.Context, sealed, associated []byte) ([]byte, error)
}

// KEKs is the key that seals, first, and older ones that still open.
type KEKs []KEK

const (
	keyPrefix = "lkkek_" // then base64url of 32 bytes; one key in a line
	keyBytes  = 32
)

// localKEK is AES-256-GCM with a key held in memory.
type localKEK struct {
	id   string
	gcm  *aead.AESGCM
	text string
}

// NewKEK draws a key.
func NewKEK() (KEK, error) {
	raw := make([]byte, keyBytes)
	rand.Read(raw)
	return newLocalKEK(raw)
}

func newLocalKEK(raw []byte) (*localKEK, error) {
	gcm, err := aead.NewAESGCM(raw)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte("latchkey kek id "), raw...))
	return &localKEK{hex.EncodeToString(sum[:8]), gcm, keyPrefix + base64.RawURLEncoding.EncodeToString(raw)}, nil
}

func (k *localKEK) ID() string { return k.id }

func (k *localKEK) Wrap(_ context.Context, plaintext, associated []byte) ([]byte, error) {
	return k.gcm.Encrypt(plaintext, associated)
}

func (k *localKEK) Unwrap(_ context.Context, sealed, associated []byte) ([]byte, error) {
	return k.gcm.Decrypt(sealed, associated)
}

// String keeps the key out of logs.
func (k *localKEK) String() string { return "KEK " + k.id }

// GoString keeps the key out of logs.
func (k *localKEK) GoString() string { return k.String() }

// ParseKEKs reads keys in the form of the key file and of the environment: a key in a
// line, the one that seals first; empty lines and lines with # are skipped.
func ParseKEKs(text string) (KEKs, error) {
	var keys KEKs
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		encoded, ok := strings.CutPrefix(line, keyPrefix)
		raw, err := base64.RawURLEncoding.DecodeString(encoded)
		if !ok || err != nil || len(raw) != keyBytes {
			return nil, fmt.Errorf("key-encryption key in line %d: want %s and %d bytes in base64url", n+1, keyPrefix, keyBytes)
		}
		k, err := newLocalKEK(raw)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errors.New("no key-encryption key found")
	}
	return keys, nil
}

// CommandKEKs runs a program that prints the keys, such as a KMS's decrypt call, and
// reads them. It gets 30 s; what it prints is never shown.
func CommandKEKs(ctx context.Context, argv []string) (KEKs, error) {
	if len(argv) == 0 {
		return nil, errors.New("key command: empty")
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		return nil, fmt.Errorf("key command %s: %w", argv[0], err)
	}
	return ParseKEKs(string(out))
}

func (ks KEKs) byID(id string) (KEK, bool) {
	for _, k := range ks {
		if k.ID() == id {
			return k, true
		}
	}
	return nil, false
}
