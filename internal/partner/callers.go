package partner

import (
	"crypto/sha256"
	"sync"
	"time"

	"latchkey.dev/internal/actor"
)

const (
	// rememberFor bounds how long a credential that another process revoked still counts here.
	rememberFor = time.Second
	// mostCallers bounds what is remembered: one integration calls from few credentials.
	mostCallers = 10_000
)

// callers remembers who showed which credentials, for a second. A partner that calls often is
// looked up once a second instead of at each call.
type callers struct {
	mu    sync.Mutex
	epoch uint64 // of the last forget
	by    map[[sha256.Size]byte]caller
}

type caller struct {
	actor actor.Actor
	until time.Time
}

func newCallers() *callers { return &callers{by: map[[sha256.Size]byte]caller{}} }

// find returns who it was, or else the epoch to remember the answer of a lookup under.
func (c *callers) find(key [sha256.Size]byte, now time.Time) (actor.Actor, uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.by[key]
	if !ok || !now.Before(known.until) {
		return actor.Actor{}, c.epoch, false
	}
	return known.actor, c.epoch, true
}

// remember keeps an answer unless something was forgotten since the lookup began: it could
// have seen the state before the change.
func (c *callers) remember(key [sha256.Size]byte, epoch uint64, a actor.Actor, now time.Time, until *time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != epoch {
		return
	}
	if len(c.by) >= mostCallers {
		clear(c.by)
	}
	end := now.Add(rememberFor)
	if until != nil && until.Before(end) {
		end = *until
	}
	c.by[key] = caller{actor: a, until: end}
}

func (c *callers) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	clear(c.by)
}
