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

func TestGateJudges(t *testing.T) {
	l := limits{work: 2, wait: 3}
	for _, c := range []struct {
		working, waiting int
		want             verdict
	}{
		{0, 0, work}, {1, 0, work}, {2, 0, wait}, {2, 2, wait}, {2, 3, refuse}, {2, 4, refuse},
		{1, 1, wait}, // the one that waits comes first
		{1, 3, refuse},
	} {
		if got := l.judge(c.working, c.waiting); got != c.want {
			t.Errorf("%d work, %d wait: %d, want %d", c.working, c.waiting, got, c.want)
		}
	}
}

func TestOpeningLeavesConnectionsToCalls(t *testing.T) {
	for _, c := range []struct {
		sqlite            bool
		connections, want int
	}{{true, 4, 32}, {false, 16, 4}, {false, 40, 10}, {false, 2, 1}} {
		if got := openingLimits(c.sqlite, c.connections); got.work != c.want || got.wait < 5000 {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestGateKeepsTheOrderAndTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(limits{work: 2, wait: 100, time: time.Hour})
		var mu sync.Mutex
		var all sync.WaitGroup
		var order []int
		working, most := 0, 0
		for n := range 10 {
			all.Go(func() {
				if err := g.enter(t.Context()); err != nil {
					t.Error(err)
					return
				}
				defer g.leave()
				mu.Lock()
				order = append(order, n)
				working++
				most = max(most, working)
				mu.Unlock()
				time.Sleep(time.Second + time.Duration(n)) // no two end in the same moment
				mu.Lock()
				working--
				mu.Unlock()
			})
			synctest.Wait()
		}
		all.Wait()
		if len(order) != 10 || !slices.IsSorted(order) || most != 2 {
			t.Errorf("order %v, at most %d at once", order, most)
		}
		if g.working != 0 || g.waiting() != 0 {
			t.Errorf("%d work and %d wait when all have left", g.working, g.waiting())
		}
	})
}

func TestGateRefusesWhomItCannotServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(limits{work: 1, wait: 2, time: 10 * time.Second})
		if err := g.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ends := make(chan error, 2)
		for range 2 {
			go func() { ends <- g.enter(ctx) }()
		}
		synctest.Wait()
		if err := g.enter(t.Context()); !errors.Is(err, errCrowded) {
			t.Errorf("one too many: %v", err)
		}
		cancel()
		for range 2 {
			if err := <-ends; !errors.Is(err, context.Canceled) {
				t.Errorf("a caller that left: %v", err)
			}
		}
		began := time.Now()
		if err := g.enter(t.Context()); !errors.Is(err, errCrowded) || time.Since(began) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		go func() { ends <- g.enter(t.Context()) }()
		synctest.Wait()
		g.leave()
		if err := <-ends; err != nil {
			t.Errorf("the last that waits: %v", err)
		}
		g.leave()
		if g.working != 0 || g.waiting() != 0 {
			t.Errorf("%d work and %d wait when all have left", g.working, g.waiting())
		}
	})
}

// A caller gives up in the moment in which its turn comes: the next one gets it.
func TestGatePassesOnATurnThatNobodyTakes(t *testing.T) {
	g := newGate(limits{work: 1, wait: 2, time: time.Hour})
	if err := g.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, second := make(chan struct{}), make(chan struct{})
	g.queue = []chan struct{}{first, second}
	g.leave()
	if err := g.giveUp(first, errCrowded); !errors.Is(err, errCrowded) {
		t.Error(err)
	}
	select {
	case <-second:
	default:
		t.Error("the turn is lost")
	}
}
