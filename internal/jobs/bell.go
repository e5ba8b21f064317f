package jobs

import (
	"context"
	"fmt"
	"sync"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
)

// sqliteDriver is River's driver with a listener, so that a job begins when it is stored rather than at the next look.
// PostgreSQL has LISTEN for that; SQLite has one process, where a channel does.
type sqliteDriver struct {
	*riversqlite.Driver
	bell <-chan struct{}
}

// SupportsListener has River make one.
func (sqliteDriver) SupportsListener() bool { return true }

// GetListener makes a listener.
func (d sqliteDriver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return &listener{bell: d.bell}
}

// insertTopic is where River hears of new jobs.
const insertTopic = "river_insert"

// listener tells River of new jobs; the other topics stay silent, as one process has nobody to hear from.
type listener struct {
	bell <-chan struct{}
	mu   sync.Mutex
	on   bool
}

func (*listener) Close(context.Context) error   { return nil }
func (*listener) Connect(context.Context) error { return nil }
func (*listener) Ping(context.Context) error    { return nil }
func (*listener) Schema() string                { return "" }
func (*listener) SetAfterConnectExec(string)    {}

func (l *listener) Listen(_ context.Context, topic string) error {
	l.turn(topic, true)
	return nil
}

func (l *listener) Unlisten(_ context.Context, topic string) error {
	l.turn(topic, false)
	return nil
}

func (l *listener) turn(topic string, on bool) {
	if topic != insertTopic {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on = on
}

// heard is the bell while somebody listens.
func (l *listener) heard() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.on {
		return nil
	}
	return l.bell
}

// WaitForNotification waits for the bell. River cuts the wait short when what it listens to changes.
func (l *listener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.heard():
		return &riverdriver.Notification{Topic: insertTopic, Payload: fmt.Sprintf(`{"queue":%q}`, river.QueueDefault)}, nil
	}
}
