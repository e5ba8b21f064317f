package bridgelink

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errCrowded means that too many callers wait at a gate already, or that the caller waited too long.
var errCrowded = errors.New("too many wait already")

// limits bound the callers of a gate.
type limits struct {
	work int           // callers that work at once
	wait int           // callers that wait
	time time.Duration // how long each of them waits
}

// openingLimits bounds the sessions that are opened in the database at once, by the connections that it has. When thousands of
// bridges return, the others wait here. In the queue of the database, which is shorter, calls of the API would wait behind them or
// be refused. SQLite stores as many in one commit; on PostgreSQL each takes a connection.
func openingLimits(sqlite bool, connections int) limits {
	l := limits{work: 32, wait: 10_000, time: 20 * time.Second}
	if !sqlite {
		l.work = max(connections/4, 1)
	}
	return l
}

// verdict is what a gate does with a caller that comes.
type verdict int

const (
	work verdict = iota
	wait
	refuse
)

// judge decides about a caller that comes while so many work and wait.
func (l limits) judge(working, waiting int) verdict {
	switch {
	case working < l.work && waiting == 0:
		return work
	case waiting < l.wait:
		return wait
	}
	return refuse
}

// gate lets a bounded number of callers work at once. The others wait, and work in the order in which they came.
type gate struct {
	limits limits

	mu      sync.Mutex
	working int
	queue   []chan struct{} // of those that wait, the first to come first; closed: the caller may work
}

func newGate(l limits) *gate { return &gate{limits: l} }

// enter returns once the caller may work; it then calls leave when it has. Otherwise it returns errCrowded, or why ctx ended.
func (g *gate) enter(ctx context.Context) error {
	g.mu.Lock()
	switch g.limits.judge(g.working, len(g.queue)) {
	case refuse:
		g.mu.Unlock()
		return errCrowded
	case work:
		g.working++
		g.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	g.queue = append(g.queue, turn)
	g.mu.Unlock()
	timer := time.NewTimer(g.limits.time)
	defer timer.Stop()
	select {
	case <-turn:
		return nil
	case <-timer.C:
		return g.giveUp(turn, errCrowded)
	case <-ctx.Done():
		return g.giveUp(turn, ctx.Err())
	}
}

// giveUp takes a caller out of the queue. A caller whose turn has come meanwhile passes it on.
func (g *gate) giveUp(turn chan struct{}, why error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range g.queue {
		if other == turn {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			return why
		}
	}
	g.next()
	return why
}

// leave ends the work of a caller and lets the next one work.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next()
}

// next gives the place of a caller that works to the first that waits.
func (g *gate) next() {
	if len(g.queue) == 0 {
		g.working--
		return
	}
	close(g.queue[0])
	g.queue[0] = nil
	g.queue = g.queue[1:]
}

// waiting is how many callers wait.
func (g *gate) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue)
}
