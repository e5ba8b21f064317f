package bridgelink

import (
	"context"
	"maps"
	"slices"
	"time"

	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/phone"
)

// resyncSubject asks every node to compare its sessions with the database: the sender may have lost wake-ups.
const resyncSubject = "latchkey.bridge.resync"

// resyncer decides when a node compares its sessions with the database, because wake-ups may have been lost.
type resyncer struct {
	connected chan struct{} // of one: the bus is connected again
	asked     chan struct{} // of one: another node was away from the bus
	again     <-chan time.Time
}

func newResyncer() resyncer {
	return resyncer{connected: make(chan struct{}, 1), asked: make(chan struct{}, 1)}
}

// signal leaves a signal in a channel of one. It never waits.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// reconnected makes good what was lost while the bus was away, here and on the other nodes. What this node published into
// a connection that hung is lost as well, so it asks the others to look, too. It does both again a little later, when the
// servers of the cluster know of each other's subscriptions.
func (n *Node) reconnected(ctx context.Context, last bool) {
	if err := n.cfg.Bus.Publish(resyncSubject, []byte(n.cfg.Name)); err != nil {
		n.counters.wakesLost.Inc()
	}
	n.resync(ctx)
	n.resyncs.again = nil
	if !last {
		n.resyncs.again = time.After(n.cfg.pace.resync)
	}
}

// listenResync hears other nodes ask for a resync.
func (n *Node) listenResync() (stop func(), err error) {
	n.cfg.Bus.OnConnect(func() { signal(n.resyncs.connected) })
	return n.cfg.Bus.Subscribe(resyncSubject, func(m bus.Message) {
		if string(m.Payload) != n.cfg.Name {
			signal(n.resyncs.asked)
		}
	})
}

// resync compares what the sessions here told their bridges with the database, in a few queries for all of them.
func (n *Node) resync(ctx context.Context) {
	sessions := n.openSessions()
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(sessions)), 500) {
		newest, err := lock.LatestGenerations(ctx, n.cfg.DB.Read(), ids)
		var behind []string
		if err == nil {
			behind, err = phone.BehindBridges(ctx, n.cfg.DB.Read(), ids)
		}
		if err != nil {
			if ctx.Err() == nil {
				n.log.Warn("looking for wake-ups that were lost failed", "error", err)
			}
			return
		}
		for id, generations := range newest {
			sessions[id].box.compare(generations)
		}
		for _, id := range behind {
			sessions[id].box.touch(lock.KeysChanged)
		}
	}
}

// openSessions are the sessions that count here, by bridge.
func (n *Node) openSessions() map[string]*session {
	n.mu.Lock()
	ids := slices.Collect(maps.Keys(n.sessions))
	n.mu.Unlock()
	open := make(map[string]*session, len(ids))
	for _, id := range ids {
		if s := n.current(id); s != nil {
			open[id] = s
		}
	}
	return open
}

// compare leaves the newest generation of each lock for the session to compare.
func (b *mailbox) compare(generations map[string]int64) {
	b.mu.Lock()
	b.newest = generations
	b.mu.Unlock()
	b.poke()
}

func (b *mailbox) takeNewest() map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	newest := b.newest
	b.newest = nil
	return newest
}

// compareNewest has the locks delivered of which the bridge was not told the newest generation.
func (s *session) compareNewest() {
	for id, generation := range s.box.takeNewest() {
		if m, ok := s.marks[id]; ok && generation > m.generation {
			s.box.touch(id)
		}
	}
}
