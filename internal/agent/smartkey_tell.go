package agent

import (
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/smartkey"
)

const (
	// keyRefused begins the reason of a denial of a SmartKey; the word of docs/smartkey.md follows.
	keyRefused = smartKeys + ":"

	// What is told of refusals at one door: enough for the alarm on guessing, and too little to push anything else out of the
	// journal while the service is away. Whoever is near may ask as often as the local interface lets anybody.
	refusalsAtOnce    = 20
	refusalsPerMinute = 1

	// And at all doors of a bridge together: a day of refusals without end is a seventh of what the journal keeps.
	allRefusalsAtOnce    = 100
	allRefusalsPerMinute = 5
)

// refusals bounds what is told of refusals, by door and in all.
type refusals struct {
	mu   sync.Mutex
	left map[string]*budget // by address, of locks only
	all  *budget
}

// tell says whether one more is told at a door.
func (r *refusals) tell(address string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.left[address]
	if b == nil {
		if r.left == nil {
			r.left, r.all = map[string]*budget{}, &budget{left: allRefusalsAtOnce, at: now}
		}
		b = &budget{left: refusalsAtOnce, at: now}
		r.left[address] = b
	}
	// The door's first: what one door may not tell takes nothing from the others.
	return b.take(now, refusalsAtOnce, refusalsPerMinute) && r.all.take(now, allRefusalsAtOnce, allRefusalsPerMinute)
}

// refusedKey tells that a SmartKey was refused at a door of ours, whichever way it came. Where a presentation names no door
// that this bridge drives there is nothing to tell.
func (b *Bridge) refusedKey(address string, v smartkey.Verdict) {
	if _, ours := b.owners[address]; !ours {
		return
	}
	if !b.refusals.tell(address, time.Now()) {
		b.log.Debug("one more SmartKey was refused, of which the service is not told", "lock", address, "reason", v.Reason)
		return
	}
	b.tellKey(driver.Event{Address: address, Kind: driver.Denied, Reason: keyRefused + string(v.Reason)}, v)
}

// tellKey journals what came of a SmartKey at a door, and of whose phone where that is known: where the signatures of token
// and proof hold.
func (b *Bridge) tellKey(e driver.Event, v smartkey.Verdict) {
	e.At = b.clock.Now()
	o := b.occurred(e)
	if v.Proof.Bridge != "" {
		o.Phone = v.Token.Phone.KeyID().String()
	}
	if err := b.keep(o); err != nil {
		b.log.Error("what came of a SmartKey was not journaled", "lock", e.Address, "kind", e.Kind, "error", err)
	}
}
