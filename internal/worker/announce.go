package worker

import (
	"context"
	"time"

	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/clock"
)

// eventsSubject is the subject of the message bus on which nodes announce new events.
const eventsSubject = "latchkey.events"

// announceInterval is the minimum time between two announcements by one node. Events of this time share the next announcement.
const announceInterval = 2 * time.Millisecond

// Announcer notifies the node that runs the dispatcher that this node stored new events. It combines many events into
// one message. A lost message only delays the events until the dispatcher's next sweep.
type Announcer struct {
	bus  *bus.Bus
	wake func() // wake wakes the dispatcher of this node
	news chan struct{}
}

// NewAnnouncer creates an announcer. While [Announcer.Run] runs, it calls wake for the announcements of all nodes, also its own.
func NewAnnouncer(b *bus.Bus, wake func()) *Announcer {
	return &Announcer{bus: b, wake: wake, news: make(chan struct{}, 1)}
}

// Notify reports that this node stored events. It ignores its argument, the empty key of the topic event.Appended. It never blocks and is
// safe for concurrent use.
func (a *Announcer) Notify(string) { bus.Signal(a.news) }

// Run announces events and receives announcements until ctx ends. It fails only if it cannot subscribe. If the bus is not connected, it
// wakes only the dispatcher of this node.
func (a *Announcer) Run(ctx context.Context) error {
	stop, err := a.bus.Subscribe(eventsSubject, func(bus.Message) { a.wake() })
	if err != nil {
		return err
	}
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.news:
		}
		if err := a.bus.Publish(eventsSubject, nil); err != nil || !a.bus.Connected() {
			a.wake()
		}
		if !clock.Sleep(ctx, announceInterval) {
			return nil
		}
	}
}
