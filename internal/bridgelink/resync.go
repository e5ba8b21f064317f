package bridgelink

import (
	"context"
	"maps"
	"slices"
	"time"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/mobilekey"
)

// resyncSubject is the bus subject that asks every node to compare its sessions with the database, after lost notifications.
const resyncSubject = "latchkey.bridge.resync"

// resyncer holds the signals that start a resync, which compares the sessions with the database.
type resyncer struct {
	connected chan struct{}    // signal: the bus is connected again, so that this node and the others resync
	requested chan struct{}    // signal: another node, which was disconnected from the bus, asks this one to compare its sessions with the database
	repeat    <-chan time.Time // signal: the second resync after a reconnect is due; nil: none is
}

// newResyncer returns a resyncer without signals.
func newResyncer() resyncer {
	return resyncer{connected: make(chan struct{}, 1), requested: make(chan struct{}, 1)}
}

// onReconnect runs when the bus is connected again. It resyncs this node and asks other nodes to resync, because both sides have lost
// notifications. Unless last is true, it runs again a little later, when the NATS servers know each other's subscriptions.
func (n *Node) onReconnect(ctx context.Context, last bool) {
	if err := n.cfg.Bus.Publish(resyncSubject, []byte(n.cfg.Name)); err != nil {
		n.counters.lostWakes.Inc()
	}
	n.resync(ctx)
	n.resyncs.repeat = nil
	if !last {
		n.resyncs.repeat = time.After(n.cfg.timings.secondResync)
	}
}

// subscribeResync makes Run resync after a reconnect of the bus and on request of other nodes.
func (n *Node) subscribeResync() (stop func(), err error) {
	n.cfg.Bus.OnConnect(func() { bus.Signal(n.resyncs.connected) })
	return n.cfg.Bus.Subscribe(resyncSubject, func(m bus.Message) {
		if string(m.Payload) != n.cfg.Name {
			bus.Signal(n.resyncs.requested)
		}
	})
}

// resync finds what the sessions on this node have not sent yet, in a few queries, and makes them send it. It replaces lost
// notifications.
func (n *Node) resync(ctx context.Context) {
	sessions := n.openSessions()
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(sessions)), 500) {
		newest, err := lock.LatestGenerations(n.cfg.DB.View(ctx), ids)
		var behind []string
		if err == nil {
			behind, err = mobilekey.BehindBridges(n.cfg.DB.View(ctx), ids)
		}
		if err != nil {
			if ctx.Err() == nil {
				n.log.Warn("resync after lost wake-ups failed", "error", err)
			}
			return
		}
		for id, generations := range newest {
			sessions[id].mailbox.setNewest(generations)
		}
		for _, id := range behind {
			sessions[id].mailbox.markDirty(bridge.KeysChanged)
		}
	}
}

// openSessions returns the open sessions on this node by bridge id.
func (n *Node) openSessions() map[string]*session {
	n.mu.Lock()
	ids := slices.Collect(maps.Keys(n.sessions))
	n.mu.Unlock()
	open := make(map[string]*session, len(ids))
	for _, id := range ids {
		if s := n.currentSession(id); s != nil {
			open[id] = s
		}
	}
	return open
}

// setNewest stores the newest generation of each lock and wakes the session, which compares them with what it has sent.
func (b *mailbox) setNewest(generations map[string]int64) {
	b.mu.Lock()
	b.newest = generations
	b.mu.Unlock()
	b.notify()
}

// takeNewest removes and returns the generations that setNewest stored, or nil.
func (b *mailbox) takeNewest() map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	newest := b.newest
	b.newest = nil
	return newest
}

// markBehind marks those locks dirty that, according to the last resync, have a newer generation than was sent. It skips locks that the
// bridge has not reported in this session.
func (s *session) markBehind() {
	for id, generation := range s.mailbox.takeNewest() {
		if c, ok := s.cursors[id]; ok && generation > c.generation {
			s.mailbox.markDirty(id)
		}
	}
}
