package bridgelink

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// errCrowded means that the queue of a limiter is full, or that the caller's wait in the queue timed out.
var errCrowded = errors.New("too many callers wait already")

// limits are the settings of a limiter, which bounds how many callers do something at the same time.
type limits struct {
	active  int           // maximum number of callers that run at the same time
	waiting int           // maximum number of callers in the queue; further ones get errCrowded
	timeout time.Duration // longest wait in the queue
}

// openingLimits returns how many sessions may be opened in the database at the same time; connections is the limit of PostgreSQL
// connections. Further bridges wait in this long queue, because in the database's shorter one they would delay API calls. SQLite opens
// many sessions in one commit; PostgreSQL needs a connection for each.
func openingLimits(sqlite bool, connections int) limits {
	l := limits{active: 32, waiting: 10_000, timeout: 20 * time.Second}
	if !sqlite {
		l.active = max(connections/4, 1)
	}
	return l
}

// limiter lets a bounded number of callers run at the same time. Further callers wait in a bounded queue, first in, first out. If that is
// full, a caller gets errCrowded.
type limiter struct {
	limits  limits
	slots   *semaphore.Weighted
	waiting atomic.Int64 // callers in the queue
}

// newLimiter returns a limiter that no caller uses yet.
func newLimiter(l limits) *limiter {
	return &limiter{limits: l, slots: semaphore.NewWeighted(int64(l.active))}
}

// acquire waits until the caller may run; the caller must then call release. It returns errCrowded, or the error of ctx, if the caller may
// not run.
func (l *limiter) acquire(ctx context.Context) error {
	if l.slots.TryAcquire(1) {
		return nil
	}
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > int64(l.limits.waiting) {
		return errCrowded
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.limits.timeout, errCrowded)
	defer cancel()
	if l.slots.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// release ends the use of the limiter that a successful acquire began.
func (l *limiter) release() { l.slots.Release(1) }
