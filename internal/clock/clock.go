// Package clock provides the time as a value, so that tests can set it.
package clock

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Clock returns the current time.
type Clock interface {
	Now() time.Time
}

// System is this machine's clock, in UTC.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time { return time.Now().UTC() }

// Fixed is a clock that changes only through Advance and Set. It is safe for concurrent use.
type Fixed struct {
	mu  sync.Mutex
	now time.Time
}

// At returns a clock fixed at t.
func At(t time.Time) *Fixed { return &Fixed{now: t.UTC()} }

// Now returns the time to which the clock was last set or advanced.
func (f *Fixed) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Advance moves the clock by d and returns the new time.
func (f *Fixed) Advance(d time.Duration) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
	return f.now
}

// Set sets the clock to t.
func (f *Fixed) Set(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = t.UTC()
}

// Sleep waits for d and returns true. It returns false at once when ctx ends. If d is not positive, it only says whether ctx is alive.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Backoff returns first, doubled as often as times says, but at most most.
func Backoff(first, most time.Duration, times int) time.Duration {
	wait := first
	for range times {
		if wait >= most {
			break
		}
		wait *= 2
	}
	return min(wait, most)
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Jitter returns a random duration between half of d and d, so that many callers do not act at the same time. d must not be negative.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// FullJitter returns a random duration from zero to less than d, such as a backoff whose limit is d. d must be positive.
func FullJitter(d time.Duration) time.Duration { return rand.N(d) }

// Spread returns a random duration between d-spread and d+spread, so that many callers do not act at the same time. spread must not be
// negative.
func Spread(d, spread time.Duration) time.Duration { return d - spread + rand.N(2*spread+1) }
