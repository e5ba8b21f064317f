package db

import "slices"

// Topic names a kind of change that other parts of the process must learn of. The package that makes the change declares it.
type Topic string

// notice is a change of a topic.
type notice struct {
	topic Topic
	key   string // what changed
}

// Notify tells the subscribers of a topic after the commit which key changed: once, however often the change calls it, and not at all
// if the change or the savepoint around the call is rolled back.
func (t *Tx) Notify(topic Topic, key string) {
	if n := (notice{topic, key}); !slices.Contains(t.notices, n) {
		t.notices = append(t.notices, n)
	}
}

// Subscribe makes each later [Tx.Notify] of a topic in this process call deliver, on the goroutine of Write's caller and before Write
// returns. deliver must not wait.
func (d *DB) Subscribe(topic Topic, deliver func(key string)) {
	d.subscribing.Lock()
	defer d.subscribing.Unlock()
	if d.subscribers == nil {
		d.subscribers = map[Topic][]func(string){}
	}
	d.subscribers[topic] = append(d.subscribers[topic], deliver)
}

// deliver calls the subscribers of what a committed change notified of.
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
