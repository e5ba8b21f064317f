// Package clock tells the time through a value, so that what depends on time can
// be tested at any time.
package clock

import (
	"sync"
	"time"
)

// Clock tells the present time.
type Clock interface {
	Now() time.Time
}

// System is the machine's clock, in UTC.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time { return time.Now().UTC() }

// Fixed is a clock that stands still until it is moved. It is safe for concurrent use.
type Fixed struct {
	mu  sync.Mutex
	now time.Time
}

// At returns a clock that stands at t.
func At(t time.Time) *Fixed { return &Fixed{now: t.UTC()} }

// Now returns the time the clock stands at, in UTC.
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

// Set moves the clock to t.
func (f *Fixed) Set(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = t.UTC()
}
