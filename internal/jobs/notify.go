package jobs

import (
	"context"
	"fmt"
	"sync"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
)

// sqliteDriver is River's driver with a listener, so that a job starts when it is stored rather than at the next poll.
// PostgreSQL has LISTEN for that; SQLite has one process, where a channel suffices.
type sqliteDriver struct {
	*riversqlite.Driver
	inserted signals
}

// SupportsListener implements riverdriver.Driver: true makes River call GetListener.
func (sqliteDriver) SupportsListener() bool { return true }

// signals has a channel for each queue, which signals within this process that a job was stored; SQLite only.
type signals struct{ inDefault, inWebhooks chan struct{} }

// newSignals returns channels that keep one signal each, so that a sender never needs to wait.
func newSignals() signals { return signals{make(chan struct{}, 1), make(chan struct{}, 1)} }

// of returns the channel of a queue: inWebhooks for webhooksQueue, and inDefault for every other.
func (s signals) of(queue string) chan struct{} {
	if queue == webhooksQueue {
		return s.inWebhooks
	}
	return s.inDefault
}

// GetListener implements riverdriver.Driver: the listener notifies River of each job that this process stores.
func (d sqliteDriver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return &listener{inserted: d.inserted}
}

// insertTopic is the topic on which River announces new jobs.
const insertTopic = "river_insert"

// listener notifies River of new jobs. The other topics coordinate several processes, which SQLite does not have.
type listener struct {
	inserted  signals
	mu        sync.Mutex
	listening bool
}

// Close does nothing, because there is no connection.
func (*listener) Close(context.Context) error { return nil }

// Connect does nothing: a listener needs no connection.
func (*listener) Connect(context.Context) error { return nil }

// Ping always succeeds, because there is no connection.
func (*listener) Ping(context.Context) error { return nil }

// Schema returns "": SQLite has no schemas.
func (*listener) Schema() string { return "" }

// SetAfterConnectExec ignores the statement, because there is no connection.
func (*listener) SetAfterConnectExec(string) {}

// Listen implements riverdriver.Listener. Only the topic of new jobs has an effect.
func (l *listener) Listen(_ context.Context, topic string) error {
	l.setListening(topic, true)
	return nil
}

// Unlisten implements riverdriver.Listener. Only the topic of new jobs has an effect.
func (l *listener) Unlisten(_ context.Context, topic string) error {
	l.setListening(topic, false)
	return nil
}

// setListening records whether River listens to the topic of new jobs. It ignores all other topics.
func (l *listener) setListening(topic string, on bool) {
	if topic != insertTopic {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listening = on
}

// notifications returns the channels of new jobs while River listens to that topic. Otherwise it returns nil channels, on which a wait
// never ends.
func (l *listener) notifications() signals {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.listening {
		return signals{}
	}
	return l.inserted
}

// WaitForNotification implements riverdriver.Listener: it waits until a job is stored or ctx ends. River ends ctx when it changes its
// topics.
func (l *listener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	queue, inserted := river.QueueDefault, l.notifications()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-inserted.inDefault:
	case <-inserted.inWebhooks:
		queue = webhooksQueue
	}
	return &riverdriver.Notification{Topic: insertTopic, Payload: fmt.Sprintf(`{"queue":%q}`, queue)}, nil
}
