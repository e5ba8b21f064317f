// Package partner is about partner apps: who they are, at which properties they are
// connected, with which credentials and scopes, and at which addresses we call them.
package partner

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/staff/credential"
)

// Registry keeps apps, integrations, their credentials and endpoints, and tells who calls.
// Every change of a credential goes through one, so that what it remembers of callers is
// never older than the last change made here, nor than a second. Safe for concurrent use.
type Registry struct {
	db    *db.DB
	keys  *keyring.Ring
	clock clock.Clock
	known *callers
}

// New returns the registry of an installation. One per process.
func New(d *db.DB, keys *keyring.Ring, c clock.Clock) *Registry {
	return &Registry{db: d, keys: keys, clock: c, known: newCallers()}
}

// changed forgets, once the change is durable, who callers were.
func (r *Registry) changed(tx *db.Tx) { tx.After(r.known.forget) }

// rotate makes a token and ends the others of its owner.
func (r *Registry) rotate(tx *db.Tx, s credential.Spec, overlap time.Duration) (*ent.Token, string, error) {
	r.changed(tx)
	return credential.Rotate(tx, r.keys, s, overlap)
}

func (r *Registry) mint(tx *db.Tx, s credential.Spec) (*ent.Token, string, error) {
	r.changed(tx)
	return credential.Mint(tx, r.keys, s)
}

// failed says what was being done when the database refused.
func failed(doing string, err error) error { return fmt.Errorf("%s: %w", doing, err) }
