package bridgelink

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// errCrowded means that the queue of a limiter is full, or that the caller waited too long in it.
var errCrowded = errors.New("too many callers wait already")

// limits bound the callers of a limiter.
type limits struct {
	active  int           // callers admitted at once
	waiting int           // callers in the queue
	timeout time.Duration // the longest wait in the queue
}

// openingLimits bounds how many sessions are opened in the database at once, by the number of database connections. When
// thousands of bridges reconnect, they queue here. In the shorter queue of the database they would delay calls of the API or get
// them refused. SQLite stores as many in one commit; on PostgreSQL each takes a connection.
func openingLimits(sqlite bool, connections int) limits {
	l := limits{active: 32, waiting: 10_000, timeout: 20 * time.Second}
	if !sqlite {
		l.active = max(connections/4, 1)
	}
	return l
}

// limiter admits a bounded number of callers at once. The others wait in a bounded queue and are admitted in order of arrival.
type limiter struct {
	limits  limits
	slots   *semaphore.Weighted
	waiting atomic.Int64
}

func newLimiter(l limits) *limiter {
	return &limiter{limits: l, slots: semaphore.NewWeighted(int64(l.active))}
}

// acquire returns nil once the caller is admitted, which then must call release. Otherwise it returns errCrowded or the error of ctx.
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

func (l *limiter) release() { l.slots.Release(1) }
