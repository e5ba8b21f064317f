package db

import (
	"bytes"
	"context"
	"fmt"

	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/propertykey"
)

// KeyStore stores the keyring's sealed data keys in the database.
type KeyStore struct{ DB *DB }

// LoadKey implements keyring.Reader: it returns the sealed data key with an id, or nil if there is none.
func (s KeyStore) LoadKey(ctx context.Context, id string) ([]byte, error) {
	k, err := s.DB.View(ctx).PropertyKey.Get(ctx, id)
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return k.Sealed, nil
}

// CreateKey implements keyring.Store: in a transaction of its own, it stores a sealed data key unless one with this id exists, and returns
// the stored one.
func (s KeyStore) CreateKey(ctx context.Context, id string, sealed []byte) ([]byte, error) {
	var stored []byte
	err := s.DB.Write(ctx, func(tx *Tx) error {
		_, err := tx.Insert(entsql.Insert(propertykey.Table).Columns(propertykey.FieldID, propertykey.FieldSealed, propertykey.FieldCreatedAt).
			Values(id, sealed, tx.Now()).OnConflict(entsql.ConflictColumns(propertykey.FieldID), entsql.DoNothing()))
		if err != nil {
			return err
		}
		k, err := tx.PropertyKey.Get(tx.Context(), id)
		if err != nil {
			return err
		}
		stored = k.Sealed
		return nil
	})
	return stored, err
}

// KeyIDs implements keyring.Reader: it lists the ids of all data keys.
func (s KeyStore) KeyIDs(ctx context.Context) ([]string, error) {
	return s.DB.View(ctx).PropertyKey.Query().Order(ent.Asc(propertykey.FieldID)).IDs(ctx)
}

// ReplaceKey implements keyring.Store: in a transaction of its own, it replaces the sealed data key old by sealed, and fails if the stored
// one differs from old, because another process has changed it meanwhile, or if there is none.
func (s KeyStore) ReplaceKey(ctx context.Context, id string, old, sealed []byte) error {
	return s.DB.Write(ctx, func(tx *Tx) error {
		k, err := tx.PropertyKey.Get(tx.Context(), id)
		if err != nil {
			return err
		}
		if !bytes.Equal(k.Sealed, old) {
			return fmt.Errorf("data key %q was changed by another process", id)
		}
		return tx.PropertyKey.UpdateOneID(id).SetSealed(sealed).Exec(tx.Context())
	})
}
