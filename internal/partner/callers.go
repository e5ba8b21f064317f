package partner

import (
	"crypto/sha256"
	"sync"
	"time"

	"latchkey.dev/internal/actor"
)

const (
	// cacheDuration is how long a process may still accept a credential that another process has revoked.
	cacheDuration = time.Second
	// maxCallers bounds the cache, which is emptied when it is full. An integration uses few credentials.
	maxCallers = 10_000
)

// callerCache caches authenticated callers for a second, so that the credentials of a frequent caller are loaded only
// once a second.
type callerCache struct {
	mu            sync.Mutex
	epoch         uint64 // epoch counts the calls of clear, so that store can drop a caller that was loaded before one
	byCredentials map[[sha256.Size]byte]caller
}

// caller is an authenticated caller in the cache, which is used until expires.
type caller struct {
	actor   actor.Actor
	expires time.Time
}

// newCallerCache returns an empty cache.
func newCallerCache() *callerCache {
	return &callerCache{byCredentials: map[[sha256.Size]byte]caller{}}
}

// lookup returns the cached caller with the hash of credentials, and true. If there is none, it returns false and the epoch of the cache,
// to be passed to store.
func (c *callerCache) lookup(key [sha256.Size]byte, now time.Time) (actor.Actor, uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.byCredentials[key]
	if !ok || !now.Before(known.expires) {
		return actor.Actor{}, c.epoch, false
	}
	return known.actor, c.epoch, true
}

// store caches a caller under the hash of its credentials for cacheDuration, but not past until, when they expire (nil: never). epoch is
// the result of lookup before the caller was loaded: if the cache was cleared since, store does nothing, because the caller may have been
// loaded before the change.
func (c *callerCache) store(key [sha256.Size]byte, epoch uint64, a actor.Actor, now time.Time, until *time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != epoch {
		return
	}
	if len(c.byCredentials) >= maxCallers {
		clear(c.byCredentials)
	}
	end := now.Add(cacheDuration)
	if until != nil && until.Before(end) {
		end = *until
	}
	c.byCredentials[key] = caller{actor: a, expires: end}
}

// clear removes all cached callers after a change of credentials or integrations.
func (c *callerCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	clear(c.byCredentials)
}
