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

// KEK is a key-encryption key: it encrypts data keys and nothing else. An implementation for a KMS calls the KMS; the
// implementation in this package has the key in memory.
type KEK interface {
	// ID returns the key's id, 16 hex digits. It is stored with each data key that the key encrypted.
	ID() string
	// Wrap encrypts a data key and Unwrap decrypts it. Unwrap fails if associated differs from that at Wrap.
	Wrap(ctx context.Context, plaintext, associated []byte) ([]byte, error)
	Unwrap(ctx context.Context, sealed, associated []byte) ([]byte, error)
}

// KEKs has the key that encrypts first, followed by older keys that only decrypt.
type KEKs []KEK

const (
	keyPrefix = "lkkek_" // the prefix is followed by base64url of 32 bytes; a file has one key per line
	keyBytes  = 32
)

// localKEK is a key-encryption key in memory, for AES-256-GCM. text is its line in the key file.
type localKEK struct {
	id   string
	gcm  *aead.AESGCM
	text string
}

// NewKEK generates a key.
func NewKEK() (KEK, error) {
	raw := make([]byte, keyBytes)
	rand.Read(raw)
	return newLocalKEK(raw)
}

// newLocalKEK returns the key-encryption key with these 32 bytes. Its id is derived from them.
func newLocalKEK(raw []byte) (*localKEK, error) {
	gcm, err := aead.NewAESGCM(raw)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte("latchkey kek id "), raw...))
	return &localKEK{hex.EncodeToString(sum[:8]), gcm, keyPrefix + base64.RawURLEncoding.EncodeToString(raw)}, nil
}

// ID implements KEK. The id is 16 hex digits, from a hash of the key.
func (k *localKEK) ID() string { return k.id }

// Wrap implements KEK. It encrypts with AES-256-GCM; associated is not part of the result.
func (k *localKEK) Wrap(_ context.Context, plaintext, associated []byte) ([]byte, error) {
	return k.gcm.Encrypt(plaintext, associated)
}

// Unwrap implements KEK. It fails if sealed was changed, or if associated differs from that at Wrap.
func (k *localKEK) Unwrap(_ context.Context, sealed, associated []byte) ([]byte, error) {
	return k.gcm.Decrypt(sealed, associated)
}

// String keeps the key out of logs.
func (k *localKEK) String() string { return "KEK " + k.id }

// GoString keeps the key out of logs.
func (k *localKEK) GoString() string { return k.String() }

// ParseKEKs parses keys in the format of the key file and of the environment: one key per line, the encrypting one first. It ignores empty
// lines and lines that begin with #, and fails if there is no key.
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

// CommandKEKs runs the program argv[0], without a shell, that prints the keys, such as a KMS decrypt command. It parses the output like
// [ParseKEKs]. The program gets 30 seconds. Its output is never logged.
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

// byID returns the key with an id, or false if there is none.
func (ks KEKs) byID(id string) (KEK, bool) {
	for _, k := range ks {
		if k.ID() == id {
			return k, true
		}
	}
	return nil, false
}
