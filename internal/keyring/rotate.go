package keyring

import (
	"context"
	"fmt"
)

// Rotate makes the ring encrypt with kek from now on, also after an error, and re-encrypts every data key with it. After an interruption it
// can run again. Until it has returned without an error, the old keys and kek are both needed. It returns the number of data keys that it
// re-encrypted.
func (r *Ring) Rotate(ctx context.Context, kek KEK) (int, error) {
	r.mu.Lock()
	old := r.keks
	if old[0].ID() != kek.ID() {
		r.keks = append(KEKs{kek}, old...)
	}
	r.mu.Unlock()
	ids, err := r.store.KeyIDs(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, id := range ids {
		changed, err := r.rewrapKey(ctx, id, kek)
		if err != nil {
			return n, fmt.Errorf("data key of %q: %w", id, err)
		}
		if changed {
			n++
		}
	}
	return n, nil
}

// rewrapKey re-encrypts with kek, which must be the ring's first key, the stored data key that has this id. It returns false if kek
// encrypts the stored key already.
func (r *Ring) rewrapKey(ctx context.Context, id string, kek KEK) (bool, error) {
	sealed, err := r.store.LoadKey(ctx, id)
	if err != nil {
		return false, err
	}
	by, err := kekIDOf(sealed)
	if err != nil || by == kek.ID() {
		return false, err
	}
	raw, err := r.unwrap(ctx, id, sealed)
	if err != nil {
		return false, err
	}
	resealed, err := r.wrap(ctx, id, raw)
	if err != nil {
		return false, err
	}
	return true, r.store.ReplaceKey(ctx, id, sealed, resealed)
}

// RotateFile generates a new key, re-encrypts every data key with it, and leaves only the new key in the key file. It returns the number of
// data keys that it re-encrypted. In between the file contains both keys: run RotateFile again after a crash. If the file has several keys,
// it generates none and finishes with the first. No server may run meanwhile, because it would continue to encrypt with the old key.
func RotateFile(ctx context.Context, path string, store Store) (int, error) {
	keys, err := LoadFile(path)
	if err != nil {
		return 0, err
	}
	if len(keys) > 1 {
		// An earlier rotation was interrupted: finish it with the key that it generated.
		return rotateTo(ctx, path, keys, keys[0], store)
	}
	if _, err := Open(ctx, Source{Keys: keys}, store); err != nil {
		return 0, err // the key is of another database: leave the file unchanged
	}
	kek, err := NewKEK()
	if err != nil {
		return 0, err
	}
	both := append(KEKs{kek}, keys...)
	if err := replaceFile(path, both); err != nil {
		return 0, err
	}
	return rotateTo(ctx, path, both, kek, store)
}

// rotateTo re-encrypts every data key with kek, and then leaves only kek in the key file. keys has kek first and the older keys after it.
func rotateTo(ctx context.Context, path string, keys KEKs, kek KEK, store Store) (int, error) {
	r, err := Open(ctx, Source{Keys: keys}, store)
	if err != nil {
		return 0, err
	}
	n, err := r.Rotate(ctx, kek)
	if err != nil {
		return n, err
	}
	return n, replaceFile(path, KEKs{kek})
}
