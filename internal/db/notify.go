package db

import (
	"slices"
	"sync"
)

// Topic is a kind of change of which other parts of the process are notified. The package that makes the change declares it.
type Topic string

type subscriptions struct {
	mu      sync.RWMutex
	byTopic map[Topic][]func(key string)
}

type notice struct {
	topic Topic
	key   string // key identifies what changed
}

// Notify calls the subscribers of topic after the commit, with key, which names what changed. They are called once per key and transaction,
// and not at all if the transaction or the enclosing savepoint is rolled back. In a View it has no effect.
func (t *Tx) Notify(topic Topic, key string) {
	if n := (notice{topic, key}); !slices.Contains(t.notices, n) {
		t.notices = append(t.notices, n)
	}
}

// Subscribe registers a callback for the topic's [Tx.Notify] calls in this process, until the process ends. deliver runs after the commit
// on the goroutine of Write's caller, before Write returns, and must not block. It also runs if PostgreSQL did not answer the commit, so
// that the change may be stored or not.
func (d *DB) Subscribe(topic Topic, deliver func(key string)) {
	s := d.subscriptions
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byTopic == nil {
		s.byTopic = map[Topic][]func(string){}
	}
	s.byTopic[topic] = append(s.byTopic[topic], deliver)
}

// deliver calls the subscribers of the topics that a change notified.
func (d *DB) deliver(notices []notice) {
	for _, n := range notices {
		d.subscriptions.mu.RLock()
		subscribers := d.subscriptions.byTopic[n.topic]
		d.subscriptions.mu.RUnlock()
		for _, f := range subscribers {
			f(n.key)
		}
	}
}
