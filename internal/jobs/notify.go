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
	inserted <-chan struct{}
}

// SupportsListener makes River create a listener.
func (sqliteDriver) SupportsListener() bool { return true }

// GetListener creates a listener.
func (d sqliteDriver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return &listener{inserted: d.inserted}
}

// insertTopic is the topic on which River announces new jobs.
const insertTopic = "river_insert"

// listener notifies River of new jobs. The other topics coordinate several processes, which SQLite does not have.
type listener struct {
	inserted  <-chan struct{}
	mu        sync.Mutex
	listening bool
}

func (*listener) Close(context.Context) error   { return nil }
func (*listener) Connect(context.Context) error { return nil }
func (*listener) Ping(context.Context) error    { return nil }
func (*listener) Schema() string                { return "" }
func (*listener) SetAfterConnectExec(string)    {}

func (l *listener) Listen(_ context.Context, topic string) error {
	l.setListening(topic, true)
	return nil
}

func (l *listener) Unlisten(_ context.Context, topic string) error {
	l.setListening(topic, false)
	return nil
}

func (l *listener) setListening(topic string, on bool) {
	if topic != insertTopic {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listening = on
}

// notifications returns the channel while River listens to new jobs, otherwise nil, which blocks.
func (l *listener) notifications() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.listening {
		return nil
	}
	return l.inserted
}

// WaitForNotification waits for a new job. River interrupts the wait when it subscribes to other topics.
func (l *listener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.notifications():
		return &riverdriver.Notification{Topic: insertTopic, Payload: fmt.Sprintf(`{"queue":%q}`, river.QueueDefault)}, nil
	}
}
