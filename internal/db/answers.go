package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/idempotency"
	"latchkey.dev/ent/predicate"
)

// AnswerKey identifies a stored answer to a call with an Idempotency-Key. Holder is the caller's actor.Actor.Subject, Method the full name
// of the called RPC, and Key the header's value.
type AnswerKey struct{ Holder, PropertyID, Method, Key string }

// Answer is a stored answer, encrypted, with the hash of its request.
type Answer struct{ RequestHash, Sealed []byte }

// ErrAnswerExists means that a concurrent call has stored an answer with the same key. The change must not be stored.
var ErrAnswerExists = errors.New("an answer with this key is stored already")

// where returns the query condition that selects the row with this key.
func (k AnswerKey) where() predicate.Idempotency {
	return idempotency.And(idempotency.PropertyID(k.PropertyID), idempotency.Holder(k.Holder), idempotency.Method(k.Method), idempotency.Key(k.Key))
}

// LoadAnswer returns the answer with a key, or nil if there is none or it has expired.
func (d *DB) LoadAnswer(ctx context.Context, k AnswerKey) (*Answer, error) {
	view := d.View(ctx)
	row, err := view.Idempotency.Query().Where(k.where(), idempotency.ExpiresAtGT(view.Now())).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load an idempotency key: %w", err)
	}
	return &Answer{RequestHash: row.RequestHash, Sealed: row.Answer}, nil
}

// StoreAnswer stores the answer to a call for the duration keep. It returns [ErrAnswerExists] if another call with the same key has stored
// one that has not expired. The transaction must then fail.
func (tx *Tx) StoreAnswer(k AnswerKey, a Answer, keep time.Duration) error {
	if _, err := tx.Idempotency.Delete().Where(k.where(), idempotency.ExpiresAtLTE(tx.Now())).Exec(tx.Context()); err != nil {
		return fmt.Errorf("delete an expired idempotency key: %w", err)
	}
	err := tx.Idempotency.Create().SetHolder(k.Holder).SetMethod(k.Method).SetKey(k.Key).SetRequestHash(a.RequestHash).
		SetAnswer(a.Sealed).SetPropertyID(k.PropertyID).SetExpiresAt(tx.Now().Add(keep)).SetCreatedAt(tx.Now()).Exec(tx.Context())
	if ent.IsConstraintError(err) {
		return ErrAnswerExists
	}
	if err != nil {
		return fmt.Errorf("store an idempotency key: %w", err)
	}
	return nil
}
