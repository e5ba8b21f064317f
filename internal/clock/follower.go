package clock

import (
	"sync"
	"time"
)

// Follower is a clock that follows a reference, such as the clock of the database. Between two measurements it advances with
// this machine's monotonic clock, so that a step of the machine's wall clock does not move it. It is safe for concurrent use.
type Follower struct {
	mu   sync.Mutex
	base time.Time // base is the reference's time at the last measurement
	at   time.Time // at is this machine's time when the reference showed base
}

// Follow returns a follower that begins at the present time of wall. Until the first measurement it advances from there by itself: it does
// not read wall again.
func Follow(wall Clock) *Follower { return &Follower{base: wall.Now().Round(0), at: time.Now()} }

// Now returns the reference's time as estimated from the last measurement.
func (f *Follower) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.timeAt(time.Now())
}

// timeAt returns the reference's time at the moment when this machine's clock shows at. The caller holds f.mu.
func (f *Follower) timeAt(at time.Time) time.Time { return f.base.Add(at.Sub(f.at)).UTC() }

// Measured records a measurement: the reference showed a time at some moment between asked and answered, which are times of [time.Now]. The
// follower jumps to it, forward or back, only if it is off by more than the uncertainty of the measurement, half of answered - asked.
func (f *Follower) Measured(reference, asked, answered time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	uncertain := answered.Sub(asked) / 2
	middle := asked.Add(uncertain)
	if f.timeAt(middle).Sub(reference).Abs() > uncertain {
		f.base, f.at = reference, middle
	}
}

// Ahead returns a clock that always shows the time of another clock plus an offset, such as the wrong clock of a lock.
func Ahead(of Clock, by time.Duration) Clock { return ahead{of, by} }

type ahead struct {
	of Clock
	by time.Duration
}

func (a ahead) Now() time.Time { return a.of.Now().Add(a.by) }
