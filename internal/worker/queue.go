package worker

import (
	"context"
	"sync"
	"time"

	"latchkey.dev/internal/space"
)

// Bounds of the readings that nobody waits for.
const (
	readers    = 8
	maxPending = 4096
)

// Queue reads the listings of partners soon, several at a time, so that one slow partner
// keeps no other waiting. What is lost with the process is made good by [Queue.Periodic].
type Queue struct {
	spaces *Spaces

	mu      sync.Mutex
	pending []space.Source
	state   map[space.Source]state
	more    chan struct{} // one place for each reader that may be asleep
}

type state int

const (
	waiting state = iota + 1
	reading
	readingAgain // asked for again since the reading under way began
)

// NewQueue makes a queue of readings.
func NewQueue(s *Spaces) *Queue {
	return &Queue{spaces: s, state: make(map[space.Source]state), more: make(chan struct{}, readers)}
}

// Soon has a listing read. It never waits; asking again before it has begun asks once, and
// asking while it is under way has it read once more. It reports false when the queue is full.
func (q *Queue) Soon(propertyID, integrationID string) bool {
	source := space.Source{PropertyID: propertyID, IntegrationID: integrationID}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch q.state[source] {
	case waiting, readingAgain:
		return true
	case reading:
		q.state[source] = readingAgain
		return true
	}
	if len(q.pending) >= maxPending {
		return false
	}
	q.push(source)
	return true
}

func (q *Queue) push(source space.Source) {
	q.pending, q.state[source] = append(q.pending, source), waiting
	select {
	case q.more <- struct{}{}:
	default: // all readers are told already
	}
}

// Run reads what is asked for until ctx ends.
func (q *Queue) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for {
				if source, ok := q.take(); ok {
					q.read(ctx, source)
					continue
				}
				select {
				case <-ctx.Done():
					return
				case <-q.more:
				}
			}
		})
	}
	all.Wait()
	return nil
}

func (q *Queue) take() (space.Source, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending) == 0 {
		return space.Source{}, false
	}
	source := q.pending[0]
	q.pending = q.pending[1:]
	q.state[source] = reading
	return source, true
}

func (q *Queue) read(ctx context.Context, source space.Source) {
	if _, err := q.spaces.Read(ctx, source.PropertyID, source.IntegrationID); err != nil && ctx.Err() == nil {
		q.spaces.Log.Warn("getSpaces was not read", "property", source.PropertyID, "integration", source.IntegrationID, "error", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	again := q.state[source] == readingAgain && ctx.Err() == nil
	delete(q.state, source)
	if again {
		q.push(source)
	}
}

// Periodic is the sweep that has each integration's listing read every interval, give or take
// a tenth. It is for one process of an installation: see [Lease].
func (q *Queue) Periodic(interval time.Duration) Sweep {
	return Sweep{Name: "getSpaces", Every: max(interval/30, time.Second), Run: func(ctx context.Context) error {
		due, err := space.Due(ctx, q.spaces.DB.Read(), q.spaces.now(), interval)
		if err != nil {
			return err
		}
		for _, source := range due {
			q.Soon(source.PropertyID, source.IntegrationID)
		}
		return nil
	}}
}
