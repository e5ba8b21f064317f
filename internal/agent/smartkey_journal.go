package agent

import (
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/smartkey"
)

const (
	// keyRefused is the prefix of the reason why a SmartKey was denied. A reason from docs/smartkey.md follows.
	keyRefused = smartKeys + ":"

	// Rate limit of reported refusals at one door. It is enough to raise the alarm about guessing. A higher limit would let strangers
	// nearby fill the journal while the server is unreachable.
	doorRefusalsBurst     = 20
	doorRefusalsPerMinute = 1

	// Rate limit of reported refusals at all doors of a bridge. A day of continuous refusals fills a seventh of the journal.
	allRefusalsBurst     = 100
	allRefusalsPerMinute = 5
)

// refusals limits how many refusals are reported, by door and in total.
type refusals struct {
	mu   sync.Mutex
	left map[string]*budget // budget per lock address
	all  *budget
}

// allow reports whether one more refusal at the lock with this address is within both rate limits, and counts it. One beyond the limit of
// the lock does not count for all locks.
func (r *refusals) allow(address string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.left[address]
	if b == nil {
		if r.left == nil {
			r.left, r.all = map[string]*budget{}, &budget{left: allRefusalsBurst, at: now}
		}
		b = &budget{left: doorRefusalsBurst, at: now}
		r.left[address] = b
	}
	// The budget of the door is checked first, so that excess refusals at one door do not use up the budget of all doors.
	return b.spend(now, doorRefusalsBurst, doorRefusalsPerMinute) && r.all.spend(now, allRefusalsBurst, allRefusalsPerMinute)
}

// reportRefusedKey journals for the server that a SmartKey was refused at a lock, with the reason in v. Refusals above the rate limit, or
// at unknown locks, are not journaled.
func (b *Bridge) reportRefusedKey(address string, v smartkey.Verdict) {
	if _, ours := b.workers[address]; !ours {
		return
	}
	if !b.refusals.allow(address, time.Now()) {
		b.log.Debug("a SmartKey was refused; too many refusals to report each", "lock", address, "reason", v.Reason)
		return
	}
	b.journalSmartKey(driver.Event{Address: address, Kind: driver.Denied, Reason: keyRefused + string(v.Reason)}, v)
}

// journalSmartKey journals e, an opening or refusal by SmartKey, at the current time. It adds the phone's key id if v shows that the
// signatures of token and proof are valid. A failure is only logged.
func (b *Bridge) journalSmartKey(e driver.Event, v smartkey.Verdict) {
	e.At = b.clock.Now()
	o := b.newEntry(e)
	if v.Proof.Bridge != "" {
		o.Phone = v.Token.Phone.KeyID().String()
	}
	if err := b.appendEntry(o); err != nil {
		b.log.Error("journaling a SmartKey failed", "lock", e.Address, "kind", e.Kind, "error", err)
	}
}
