// Package keyring encrypts secrets at rest. Each property has a data key of its own (a Tink AES-256-GCM keyset); the database
// stores the data keys encrypted by a key-encryption key that is outside of the database. The package also generates and
// parses tokens, and computes the keyed hashes under which tokens and PINs are stored.
package keyring

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"sync"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// System is the property id of secrets that belong to no property.
const System = ""

// macKey is the id under which the key of the keyed hashes is stored.
const macKey = "mac"

// Store stores sealed keys by property id. The ids [System] and "mac" belong to no property.
type Store interface {
	Reader
	// CreateKey stores sealed unless a key with this id exists, and returns the stored key.
	CreateKey(ctx context.Context, id string, sealed []byte) ([]byte, error)
	// ReplaceKey replaces old by sealed. It fails if the stored key is not old.
	ReplaceKey(ctx context.Context, id string, old, sealed []byte) error
}

// Reader reads sealed keys.
type Reader interface {
	// LoadKey returns the sealed key, or nil if there is none.
	LoadKey(ctx context.Context, id string) ([]byte, error)
	// KeyIDs lists the ids of all stored keys.
	KeyIDs(ctx context.Context) ([]string, error)
}

// Ring encrypts and decrypts secrets. It is safe for concurrent use.
type Ring struct {
	store Store
	mac   []byte
	macs  sync.Pool // macs pools hash.Hash values that are keyed with the key mac

	mu   sync.RWMutex
	keks KEKs
	open map[string]tink.AEAD // the ciphers of decrypted data keys, by property id
}

// Source says where the key-encryption key comes from: the first field that is set, in this order.
type Source struct {
	Keys    KEKs     // Keys are keys that the caller has, such as those of a KMS
	Text    string   // Text is from a flag or the environment, in the format of ParseKEKs
	Command []string // Command is a program and its arguments; it prints the keys in the format of ParseKEKs
	File    string   // File is the path of the key file; if it is missing while no key is stored, it is created
	DataDir string   // DataDir is the data directory, which must not contain File
}

// Open loads the key-encryption key and every data key, and creates the keys that a first start needs. It creates a missing key file only
// while no key is stored. It fails if a data key cannot be decrypted.
func Open(ctx context.Context, src Source, store Store) (*Ring, error) {
	keks, err := src.loadKEKs(ctx, store)
	if err != nil {
		return nil, err
	}
	r := &Ring{store: store, keks: keks, open: map[string]tink.AEAD{}}
	if r.mac, err = r.loadOrStoreKey(ctx, macKey, newMACKey); err != nil {
		return nil, err
	}
	if err := r.EnsureKey(ctx, System); err != nil {
		return nil, err
	}
	return r, r.loadAll(ctx)
}

// ErrOtherKey is returned by [Verify] if the key-encryption key can be loaded but does not decrypt the keys in the store.
var ErrOtherKey = errors.New("the key-encryption key is not the one of this database")

// Verify checks that the key-encryption key decrypts every key in a store. It returns an error that matches [ErrOtherKey] if one cannot be
// decrypted, and another error if the store has no key. It creates nothing.
func Verify(ctx context.Context, src Source, store Reader) error {
	ids, err := store.KeyIDs(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return errors.New("the database contains no encrypted key, but every Latchkey database has one")
	}
	keks, err := src.loadKEKs(ctx, store)
	if err != nil {
		return err
	}
	r := &Ring{keks: keks}
	for _, id := range ids {
		sealed, err := store.LoadKey(ctx, id)
		if err != nil {
			return err
		}
		if _, err := r.unwrap(ctx, id, sealed); err != nil {
			return fmt.Errorf("%w: %w", ErrOtherKey, err)
		}
	}
	return nil
}

// loadKEKs loads the key-encryption keys from the source. It creates a missing key file, unless store already has keys that the lost file
// encrypted.
func (s Source) loadKEKs(ctx context.Context, store Reader) (KEKs, error) {
	switch {
	case len(s.Keys) > 0:
		return s.Keys, nil
	case s.Text != "":
		keys, err := ParseKEKs(s.Text)
		if err != nil {
			return nil, fmt.Errorf("--key or LATCHKEY_KEY: %w", err)
		}
		return keys, nil
	case len(s.Command) > 0:
		keys, err := CommandKEKs(ctx, s.Command)
		if err != nil {
			return nil, fmt.Errorf("--key-command: %w", err)
		}
		return keys, nil
	case s.File == "":
		return nil, errors.New("no source of a key-encryption key: set --key-file, LATCHKEY_KEY or --key-command")
	}
	keys, err := LoadFile(s.File)
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	sealed, err := store.KeyIDs(ctx)
	if err != nil {
		return nil, err
	}
	if len(sealed) > 0 {
		return nil, fmt.Errorf("key file %s is missing but the database has data that only this file can decrypt: restore the file from its copy", s.File)
	}
	return CreateFile(s.File, s.DataDir)
}

// loadAll loads and caches every data key, so that Seal and Open inside a transaction seldom have to read one.
func (r *Ring) loadAll(ctx context.Context) error {
	ids, err := r.store.KeyIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id == macKey {
			continue
		}
		if _, err := r.cipherFor(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// EnsureKey creates the data key of the property, or of [System], if it has none. It writes to the database: call it before the transaction
// that needs the key, not inside it.
func (r *Ring) EnsureKey(ctx context.Context, propertyID string) error {
	raw, err := r.loadOrStoreKey(ctx, propertyID, newKeyset)
	if err != nil {
		return err
	}
	_, err = r.cacheCipher(propertyID, raw)
	return err
}

// Seal encrypts plaintext with the data key of the property or of [System], which [Ring.EnsureKey] must have created. Open needs the same
// purpose: it names the kind of secret and the id of its object, as in "pin/slt_...".
func (r *Ring) Seal(ctx context.Context, propertyID, purpose string, plaintext []byte) ([]byte, error) {
	a, err := r.cipherFor(ctx, propertyID)
	if err != nil {
		return nil, err
	}
	return a.Encrypt(plaintext, associatedData(propertyID, purpose))
}

// Open decrypts a result of Seal for the same property and purpose. It fails for any other text.
func (r *Ring) Open(ctx context.Context, propertyID, purpose string, sealed []byte) ([]byte, error) {
	a, err := r.cipherFor(ctx, propertyID)
	if err != nil {
		return nil, err
	}
	plain, err := a.Decrypt(sealed, associatedData(propertyID, purpose))
	if err != nil {
		return nil, fmt.Errorf("keyring: cannot decrypt %s of property %q: it was changed, moved, or encrypted with another key", purpose, propertyID)
	}
	return plain, nil
}

// MAC returns a keyed hash of 32 bytes. A secret stored under it can be found again but not read. Equal kinds and values give
// equal hashes.
func (r *Ring) MAC(kind string, values ...string) []byte {
	h, ok := r.macs.Get().(hash.Hash)
	if !ok {
		h = hmac.New(sha256.New, r.mac)
	}
	defer r.macs.Put(h)
	h.Reset()
	h.Write(lengthPrefixed(append([]string{kind}, values...)...))
	return h.Sum(nil)
}

// lengthPrefixed joins strings with their lengths, so that different lists never give the same bytes.
func lengthPrefixed(parts ...string) []byte {
	size := 0
	for _, p := range parts {
		size += len(p) + 2 // most lengths need 1 or 2 bytes
	}
	b := make([]byte, 0, size)
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return b
}

// associatedData returns the bytes that bind a ciphertext to its property and purpose: it cannot be decrypted for another one.
func associatedData(propertyID, purpose string) []byte {
	return lengthPrefixed("latchkey/1", propertyID, purpose)
}

// cipherFor returns the cipher of the data key with an id, which is the property's id or [System]. It loads the key if it is not cached,
// and fails if none is stored.
func (r *Ring) cipherFor(ctx context.Context, id string) (tink.AEAD, error) {
	r.mu.RLock()
	a, ok := r.open[id]
	r.mu.RUnlock()
	if ok {
		return a, nil
	}
	sealed, err := r.store.LoadKey(ctx, id)
	if err != nil {
		return nil, err
	}
	if sealed == nil {
		return nil, fmt.Errorf("keyring: property %q has no data key; EnsureKey must create it before the first secret", id)
	}
	raw, err := r.unwrap(ctx, id, sealed)
	if err != nil {
		return nil, err
	}
	return r.cacheCipher(id, raw)
}

// loadOrStoreKey returns the decrypted key with that id. If none is stored, it stores a new key from generate, unless another process
// stores one first: the result is then that key.
func (r *Ring) loadOrStoreKey(ctx context.Context, id string, generate func() ([]byte, error)) ([]byte, error) {
	sealed, err := r.store.LoadKey(ctx, id)
	if err != nil {
		return nil, err
	}
	if sealed == nil {
		raw, err := generate()
		if err != nil {
			return nil, err
		}
		mine, err := r.wrap(ctx, id, raw)
		if err != nil {
			return nil, err
		}
		if sealed, err = r.store.CreateKey(ctx, id, mine); err != nil {
			return nil, err
		}
	}
	return r.unwrap(ctx, id, sealed)
}

// cacheCipher caches and returns the cipher of the data key with an id. raw is the decrypted keyset.
func (r *Ring) cacheCipher(id string, raw []byte) (tink.AEAD, error) {
	h, err := keyset.Read(keyset.NewBinaryReader(bytes.NewReader(raw)), noEncryption{})
	if err != nil {
		return nil, err
	}
	a, err := aead.New(h)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.open[id] = a
	r.mu.Unlock()
	return a, nil
}

// newKeyset generates a property's data key, as an unencrypted Tink keyset.
func newKeyset() ([]byte, error) {
	h, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = h.Write(keyset.NewBinaryWriter(&b), noEncryption{})
	return b.Bytes(), err
}

// newMACKey generates the key of the keyed hashes that [Ring.MAC] returns.
func newMACKey() ([]byte, error) {
	raw := make([]byte, 32)
	rand.Read(raw)
	return raw, nil
}

// noEncryption makes Tink read and write unencrypted keysets. Ring.wrap encrypts them before they are stored.
type noEncryption struct{}

// Encrypt returns a copy of plaintext, a keyset that Ring.wrap encrypts later.
func (noEncryption) Encrypt(plaintext, _ []byte) ([]byte, error) { return bytes.Clone(plaintext), nil }

// Decrypt returns a copy of ciphertext, which Encrypt did not encrypt.
func (noEncryption) Decrypt(ciphertext, _ []byte) ([]byte, error) {
	return bytes.Clone(ciphertext), nil
}

// A stored key is version 1, the KEK's id (8 bytes), and the output of the KEK.
const (
	sealVersion = 1
	sealHeader  = 1 + 8
)

// wrap encrypts the data key raw with the first key-encryption key, for storage under id.
func (r *Ring) wrap(ctx context.Context, id string, raw []byte) ([]byte, error) {
	r.mu.RLock()
	kek := r.keks[0]
	r.mu.RUnlock()
	kekID, err := hex.DecodeString(kek.ID())
	if err != nil || len(kekID) != sealHeader-1 {
		return nil, fmt.Errorf("keyring: key id %q: want 16 hex digits", kek.ID())
	}
	sealed, err := kek.Wrap(ctx, raw, associatedData(id, "data key"))
	if err != nil {
		return nil, err
	}
	return append(append([]byte{sealVersion}, kekID...), sealed...), nil
}

// unwrap decrypts the data key sealed, which must be stored under id. The key-encryption key is the one whose id is part of sealed.
func (r *Ring) unwrap(ctx context.Context, id string, sealed []byte) ([]byte, error) {
	kekID, err := kekIDOf(sealed)
	if err != nil {
		return nil, err
	}
	r.mu.RLock()
	kek, ok := r.keks.byID(kekID)
	r.mu.RUnlock()
	if !ok {
		return nil, fmt.Errorf("keyring: the data key of %q was encrypted with key %s, which is not in the key file: restore the key file", id, kekID)
	}
	raw, err := kek.Unwrap(ctx, sealed[sealHeader:], associatedData(id, "data key"))
	if err != nil {
		return nil, fmt.Errorf("keyring: cannot decrypt the data key of %q with key %s: it was changed or moved", id, kekID)
	}
	return raw, nil
}

// kekIDOf returns the id of the key-encryption key that encrypted a stored data key. It fails if the format of sealed is unknown.
func kekIDOf(sealed []byte) (string, error) {
	if len(sealed) <= sealHeader || sealed[0] != sealVersion {
		return "", errors.New("keyring: stored key in an unknown format")
	}
	return hex.EncodeToString(sealed[1:sealHeader]), nil
}
