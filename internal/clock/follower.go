package clock

import (
	"sync"
	"time"
)

// Follower is a clock that follows a reference, such as the database's. Between two measurements it runs on this machine's
// monotonic clock, so that a step of the machine's own wall clock does not move it. It is safe for concurrent use.
type Follower struct {
	mu   sync.Mutex
	base time.Time // of the reference
	at   time.Time // when it showed base, by the monotonic clock
}

// Follow returns a follower that shows the time of wall until it is told of a measurement.
func Follow(wall Clock) *Follower { return &Follower{base: wall.Now().Round(0), at: time.Now()} }

// Now is the reference's time, in UTC.
func (f *Follower) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.show(time.Now())
}

func (f *Follower) show(at time.Time) time.Time { return f.base.Add(at.Sub(f.at)).UTC() }

// Measured tells that the reference showed a time at some moment between asked and answered, which are times of [time.Now].
// The follower moves only if it is certainly wrong.
func (f *Follower) Measured(reference, asked, answered time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	uncertain := answered.Sub(asked) / 2
	middle := asked.Add(uncertain)
	if f.show(middle).Sub(reference).Abs() > uncertain {
		f.base, f.at = reference, middle
	}
}

// Ahead is a clock that is ahead of another by an offset.
func Ahead(of Clock, by time.Duration) Clock { return ahead{of, by} }

type ahead struct {
	of Clock
	by time.Duration
}

func (a ahead) Now() time.Time { return a.of.Now().Add(a.by) }
