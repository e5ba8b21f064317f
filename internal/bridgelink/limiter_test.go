package bridgelink

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// isIdle reports whether no caller is admitted and none waits.
func (l *limiter) isIdle() bool {
	all := int64(l.limits.active)
	if l.waiting.Load() != 0 || !l.slots.TryAcquire(all) {
		return false
	}
	l.slots.Release(all)
	return true
}

func TestOpeningLimitsLeaveConnectionsToCalls(t *testing.T) {
	for _, c := range []struct {
		sqlite            bool
		connections, want int
	}{{true, 4, 32}, {false, 16, 4}, {false, 40, 10}, {false, 2, 1}} {
		if got := openingLimits(c.sqlite, c.connections); got.active != c.want || got.waiting < 5000 {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestLimiterKeepsOrderAndBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(limits{active: 2, waiting: 100, timeout: time.Hour})
		var mu sync.Mutex
		var all sync.WaitGroup
		var order []int
		active, most := 0, 0
		for n := range 10 {
			all.Go(func() {
				if err := l.acquire(t.Context()); err != nil {
					t.Error(err)
					return
				}
				defer l.release()
				mu.Lock()
				order = append(order, n)
				active++
				most = max(most, active)
				mu.Unlock()
				time.Sleep(time.Second + time.Duration(n)) // no two end at the same time
				mu.Lock()
				active--
				mu.Unlock()
			})
			synctest.Wait()
		}
		all.Wait()
		if len(order) != 10 || !slices.IsSorted(order) || most != 2 {
			t.Errorf("order %v, at most %d at once", order, most)
		}
		if !l.isIdle() {
			t.Error("the limiter is not idle after the last release")
		}
	})
}

func TestLimiterRefusesWhenQueueIsFullOrWaitTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(limits{active: 1, waiting: 2, timeout: 10 * time.Second})
		if err := l.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ends := make(chan error, 2)
		for range 2 {
			go func() { ends <- l.acquire(ctx) }()
		}
		synctest.Wait()
		if err := l.acquire(t.Context()); !errors.Is(err, errCrowded) {
			t.Errorf("one too many: %v", err)
		}
		cancel()
		for range 2 {
			if err := <-ends; !errors.Is(err, context.Canceled) {
				t.Errorf("a caller whose context ended: %v", err)
			}
		}
		began := time.Now()
		if err := l.acquire(t.Context()); !errors.Is(err, errCrowded) || time.Since(began) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		go func() { ends <- l.acquire(t.Context()) }()
		synctest.Wait()
		l.release()
		if err := <-ends; err != nil {
			t.Errorf("the last caller in the queue: %v", err)
		}
		l.release()
		if !l.isIdle() {
			t.Error("the limiter is not idle after the last release")
		}
	})
}
