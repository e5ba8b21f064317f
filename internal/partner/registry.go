// Package partner manages partner apps: their integrations with properties, credentials and scopes, and the endpoints
// at which the server calls them.
package partner

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
)

// Registry stores apps, integrations, their credentials and endpoints, and authenticates callers. It caches authenticated
// callers, so changes of credentials go through it or call [Registry.NotifyCredentialsChanged]. A change in this process
// takes effect immediately, one in another process within a second. It is safe for concurrent use.
type Registry struct {
	db    *db.DB
	keys  *keyring.Ring
	clock clock.Clock
	cache *callerCache
}

// New creates the registry. A process has one.
func New(d *db.DB, keys *keyring.Ring, c clock.Clock) *Registry {
	r := &Registry{db: d, keys: keys, clock: c, cache: newCallerCache()}
	d.Subscribe(credentialsChanged, func(string) { r.cache.clear() })
	return r
}

// credentialsChanged is the topic of changes after which cached callers must be authenticated again. Its key is empty.
const credentialsChanged db.Topic = "partner.credentialsChanged"

// NotifyCredentialsChanged clears the cached callers after the commit, so that each is authenticated again. A change
// of credentials outside the registry must call it.
func (*Registry) NotifyCredentialsChanged(tx *db.Tx) { tx.Notify(credentialsChanged, "") }

// rotateToken creates a token and ends the other tokens of its owner after the overlap; 0: at once. It clears the cached callers after the
// commit. The string is the secret, which is shown once.
func (r *Registry) rotateToken(tx *db.Tx, s credential.Spec, overlap time.Duration) (*ent.Token, string, error) {
	tx.Notify(credentialsChanged, "")
	return credential.Rotate(tx, r.keys, s, overlap)
}

// createToken creates a token, and clears the cached callers after the commit. The string is the secret, which is shown once.
func (r *Registry) createToken(tx *db.Tx, s credential.Spec) (*ent.Token, string, error) {
	tx.Notify(credentialsChanged, "")
	return credential.Mint(tx, r.keys, s)
}

// wrapError adds the failed action to an error, which must not be nil.
func wrapError(action string, err error) error { return fmt.Errorf("%s: %w", action, err) }
