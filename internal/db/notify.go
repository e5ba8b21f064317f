package db

import "slices"

// Topic is a kind of change of which other parts of the process are notified. The package that makes the change
// declares it.
type Topic string

type notice struct {
	topic Topic
	key   string // key identifies what changed
}

// Notify tells the subscribers of a topic after the commit which key changed. Each key is notified once per
// transaction, and not at all if the transaction or the enclosing savepoint is rolled back.
func (t *Tx) Notify(topic Topic, key string) {
	if n := (notice{topic, key}); !slices.Contains(t.notices, n) {
		t.notices = append(t.notices, n)
	}
}

// Subscribe registers a callback for the topic's [Tx.Notify] calls in this process. deliver runs after the commit on
// the goroutine of Write's caller, before Write returns, and must not block.
func (d *DB) Subscribe(topic Topic, deliver func(key string)) {
	d.subscribing.Lock()
	defer d.subscribing.Unlock()
	if d.subscribers == nil {
		d.subscribers = map[Topic][]func(string){}
	}
	d.subscribers[topic] = append(d.subscribers[topic], deliver)
}

func (d *DB) deliver(notices []notice) {
	for _, n := range notices {
		d.subscribing.RLock()
		subscribers := d.subscribers[n.topic]
		d.subscribing.RUnlock()
		for _, f := range subscribers {
			f(n.key)
		}
	}
}
