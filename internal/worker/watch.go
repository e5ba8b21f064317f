package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/watch"
)

// changesSubject is the subject of the message bus on which nodes announce changes to the watchers of other nodes.
const changesSubject = "latchkey.changes"

const (
	// announceChanges is the minimum time between two announcements of changes by one node.
	announceChanges = 20 * time.Millisecond
	// announceBeat is the interval of announcements without a change. The number in such an announcement shows whether an earlier one was
	// lost.
	announceBeat = 2 * time.Second
	// nodeSilence is the time without an announcement after which a node counts as gone. Then watchers read everything again, because it
	// perhaps did not announce its last changes.
	nodeSilence = 5 * announceBeat
	// disconnectedBeat is the interval at which watchers read everything again while the bus is not connected.
	disconnectedBeat = 20 * time.Second
	// forgetInterval is how often a node without other nodes drops the changes of properties that have no stream.
	forgetInterval = 20 * time.Second
	// maxAnnounced is the most changes in one announcement. More are sent in several.
	maxAnnounced = 200
)

// announcement is a message with changes. Each node numbers its announcements, so that another node notices a lost one.
type announcement struct {
	Node    string   `json:"node"` // Node is a new name for each start of a process
	Number  uint64   `json:"number"`
	Changes []string `json:"changes,omitempty"`
}

// Watch brings changes to the watchers on all nodes. If an announcement is lost, or a node stops without notice, the watchers read
// everything again.
type Watch struct {
	bus  *bus.Bus // bus is nil if there is one node only
	feed *watch.Feed
	node string
	news chan struct{}

	mu      sync.Mutex
	pending map[watch.Key]map[string]struct{} // pending has the ids that changed, by a key without id; nil: everything of the topic
	number  uint64
	peers   map[string]*peer
}

// peer is another node, as known from its latest announcement: the number of that, and when it arrived.
type peer struct {
	number uint64
	seenAt time.Time
}

// NewWatch creates the distribution of changes, which works while [Watch.Run] runs. b is nil if the installation has one node. With a bus,
// all watchers read everything again after each reconnect.
func NewWatch(b *bus.Bus, feed *watch.Feed) *Watch {
	w := &Watch{
		bus: b, feed: feed, node: rand.Text(), news: make(chan struct{}, 1), peers: map[string]*peer{},
		pending: map[watch.Key]map[string]struct{}{},
	}
	if b != nil {
		b.OnConnect(feed.AddEverything)
	}
	return w
}

// Notify passes a change that this node stored to its own watchers, and by [Watch.Run] to the other nodes. key is a key of the topic
// [watch.Changed]. It does not block.
func (w *Watch) Notify(key string) {
	k, ok := watch.ParseKey(key)
	if !ok {
		return
	}
	w.feed.Add(k)
	if w.bus == nil {
		return
	}
	w.mu.Lock()
	w.queueChange(k)
	w.mu.Unlock()
	bus.Signal(w.news)
}

// queueChange keeps a change until the next announcement. The caller holds the mutex. With more than [watch.MaxIDs] ids of a topic,
// everything of the topic counts as changed.
func (w *Watch) queueChange(k watch.Key) {
	id := k.ID
	k.ID = ""
	ids, ok := w.pending[k]
	switch {
	case ok && ids == nil:
		return
	case !ok:
		ids = map[string]struct{}{}
		w.pending[k] = ids
	}
	if ids[id] = struct{}{}; id == "" || len(ids) > watch.MaxIDs {
		w.pending[k] = nil
	}
}

// Run announces the changes of this node and receives those of others, until ctx ends. It fails only if it cannot subscribe. Without a bus
// it only calls forget.
func (w *Watch) Run(ctx context.Context) error {
	if w.bus == nil {
		return w.forget(ctx)
	}
	stop, err := w.bus.Subscribe(changesSubject, func(m bus.Message) { w.receive(m.Payload, time.Now()) })
	if err != nil {
		return err
	}
	defer stop()
	w.feed.AddEverything() // announcements from before the subscription did not arrive
	beat, disconnected := time.NewTicker(announceBeat), time.NewTicker(disconnectedBeat)
	defer beat.Stop()
	defer disconnected.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.news:
		case now := <-beat.C:
			w.checkPeers(now)
			w.feed.Forget(now)
		case <-disconnected.C:
			if !w.bus.Connected() {
				w.feed.AddEverything()
			}
			continue
		}
		w.announce()
		if !clock.Sleep(ctx, announceChanges) {
			return nil
		}
	}
}

// forget deletes the changes of properties that no stream watches from memory, at intervals until ctx ends. [Watch.Run] calls it if there
// is only one node. With several nodes, Run deletes them itself. The error is always nil.
func (w *Watch) forget(ctx context.Context) error {
	for clock.Sleep(ctx, forgetInterval) {
		w.feed.Forget(time.Now())
	}
	return nil
}

// announce sends the pending changes to the other nodes. Without changes it still sends an announcement, as a sign of life. It ignores
// failures: the other nodes notice by the numbers that one is missing.
func (w *Watch) announce() {
	for _, a := range w.takeAnnouncements() {
		if raw, err := json.Marshal(a); err == nil {
			_ = w.bus.Publish(changesSubject, raw) // the other nodes notice by the number that one is missing
		}
	}
}

// takeAnnouncements empties the list of pending changes and returns announcements of them. Without changes it returns one empty
// announcement with the last number, so that other nodes notice if they lost one.
func (w *Watch) takeAnnouncements() (all []announcement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var keys []string
	for k, ids := range w.pending {
		if ids == nil {
			keys = append(keys, k.String())
		}
		for id := range ids {
			keys = append(keys, watch.Key{PropertyID: k.PropertyID, Topic: k.Topic, ID: id}.String())
		}
	}
	for part := range slices.Chunk(keys, maxAnnounced) {
		w.number++
		all = append(all, announcement{w.node, w.number, part})
	}
	clear(w.pending)
	if len(all) == 0 {
		all = []announcement{{Node: w.node, Number: w.number}}
	}
	return all
}

// receive applies an announcement of another node. If the node is new, or the number shows that an announcement was lost, all watchers read
// everything again. It ignores announcements of this node.
func (w *Watch) receive(payload []byte, now time.Time) {
	var a announcement
	if err := json.Unmarshal(payload, &a); err != nil || a.Node == w.node {
		return
	}
	w.mu.Lock()
	p := w.peers[a.Node]
	expected := p != nil
	if p == nil {
		p = &peer{}
		w.peers[a.Node] = p
	}
	next := p.number
	if len(a.Changes) > 0 {
		next++
	}
	expected = expected && a.Number == next
	p.number, p.seenAt = a.Number, now
	w.mu.Unlock()
	if !expected {
		w.feed.AddEverything()
		return
	}
	for _, key := range a.Changes {
		if k, ok := watch.ParseKey(key); ok {
			w.feed.Add(k)
		}
	}
}

// checkPeers forgets nodes that are silent for too long. Then all watchers read everything again: a node that was killed may have stored a
// change that it did not announce.
func (w *Watch) checkPeers(now time.Time) {
	w.mu.Lock()
	gone := false
	for name, p := range w.peers {
		if now.Sub(p.seenAt) > nodeSilence {
			delete(w.peers, name)
			gone = true
		}
	}
	w.mu.Unlock()
	if gone {
		w.feed.AddEverything()
	}
}
