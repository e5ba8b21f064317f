// Package zigbee2mqtt drives locks through Zigbee2MQTT and its MQTT broker. It requires MQTT 5 for two features that MQTT 3.1.1 lacks.
// Messages expire, so that a command cannot be delivered after its deadline. And the broker reports at once if a message has no subscriber.
//
// Zigbee2MQTT does not answer commands. It publishes what locks report. So an operation has succeeded if the lock reported it or showed it
// when read. Otherwise it is unconfirmed.
package zigbee2mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/lock/slot"
)

// Config configures the connection to Zigbee2MQTT.
type Config struct {
	URL  string // URL of the broker: mqtt://host:port, or mqtts:// with TLS
	Base string // Base is Zigbee2MQTT's base topic; empty: zigbee2mqtt
	User string
	// Password is sent also without User, which MQTT 5 allows but not every broker accepts. Empty: none is sent.
	Password string
	TLS      *tls.Config // TLS is for mqtts; nil: the machine's root certificates
	// Insecure allows mqtt:// to another machine, where PINs cross the network unencrypted.
	Insecure bool
	Tunings  map[string]Tuning // Tunings by lock address; a lock without one keeps the defaults
	Log      *slog.Logger
	Clock    clock.Clock // Clock is the machine's clock if nil
}

const (
	defaultBase     = "zigbee2mqtt"
	maxEvents       = 256              // lock events that wait for the bridge; a further one drops the oldest
	inboxSize       = 64               // messages of the broker that wait for processMessages; a further one blocks the connection
	discoverTimeout = 30 * time.Second // longest wait of Locks for the device list
)

// timings are the driver's timeouts and waits.
type timings struct {
	answer      time.Duration // timeout for a lock's report that it stored or cleared a code
	read        time.Duration // timeout for a lock to show a slot
	firstReport time.Duration // longest wait, before an operation, for the first message of a lock; the operation then starts without it
	expiry      time.Duration // how long a command waits at the broker before it expires
	// lifetime is the time after which an operation can no longer take effect: send for sending it, expiry for its wait at the broker, ten
	// seconds for retries by Zigbee2MQTT, and 7.68 s for which the parent of a sleeping lock holds it.
	lifetime, send       time.Duration
	firstRetry, maxRetry time.Duration // shortest and longest wait between two attempts to connect
	offlineAfter         time.Duration // a lock that is silent for this long counts as offline, unless Zigbee2MQTT reports it as online
}

var defaultTimings = timings{
	answer: 8 * time.Second, read: 4 * time.Second, firstReport: 3 * time.Second, expiry: 5 * time.Second,
	lifetime: 45 * time.Second, send: 22 * time.Second, firstRetry: 500 * time.Millisecond, maxRetry: 30 * time.Second,
	offlineAfter: 25 * time.Hour, // battery devices report at least once a day
}

// Driver drives the locks of one Zigbee2MQTT.
type Driver struct {
	cfg     Config
	topics  topics
	host    string // host:port of the broker
	secure  bool   // the connection uses TLS
	clock   clock.Clock
	log     *slog.Logger
	timings timings

	stop  context.CancelFunc
	done  chan struct{}
	inbox chan message

	events      chan driver.Event
	changes     chan struct{} // signal that the list of locks differs from what Locks returned: only a new driver returns the new list
	updates     chan struct{} // signal that a status or the connection may have changed
	resubscribe chan struct{} // signal that the topics to subscribe to have changed

	mu            sync.Mutex
	conn          *conn                     // connection to the broker; nil: not connected
	received      []string                  // topics of locks that the connection is subscribed to
	connError     string                    // why the connection ended or was not made; empty: connected
	cause         string                    // why no lock can be reached; empty: connected
	since         time.Time                 // when the cause began or ended
	bridge        string                    // state that Zigbee2MQTT published about itself on this connection: online or offline; empty: none known
	showsPINs     func(address string) bool // whether Zigbee2MQTT publishes the PINs of the lock at an address
	devices       []byte                    // last device list, bridge/devices; nil: none received
	found         map[string]foundLock      // the device list's locks by address, as of the first success of Locks; nil: none received
	locksReturned bool                      // the method Locks has succeeded: from then on the list of locks is fixed
	ready         chan struct{}             // closed when the locks are known and their topics subscribed
	isReady       bool                      // ready is closed
	locks         map[string]*lock          // locks by address
	dropped       int                       // number of events that emit dropped
	warnings      map[string]bool           // reasons for left-out locks that were already logged
}

// New validates the configuration and returns a driver that connects in the background, and reconnects, until Close. A broker that cannot
// be reached is no error: see Connection.
func New(cfg Config) (*Driver, error) { return newDriver(cfg, defaultTimings) }

// newDriver is New with other timings, for tests.
func newDriver(cfg Config, p timings) (*Driver, error) {
	if cfg.Base == "" {
		cfg.Base = defaultBase
	}
	if err := checkBase(cfg.Base); err != nil {
		return nil, err
	}
	host, secure, err := brokerAddress(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System
	}
	ctx, stop := context.WithCancel(context.Background())
	d := &Driver{
		cfg: cfg, topics: topics(cfg.Base), host: host, secure: secure, clock: cfg.Clock, log: cfg.Log, timings: p,
		stop: stop, done: make(chan struct{}), inbox: make(chan message, inboxSize), connError: "not connected yet",
		events: make(chan driver.Event, maxEvents), changes: make(chan struct{}, 1), resubscribe: make(chan struct{}, 1),
		updates: make(chan struct{}, 1), cause: slot.BrokerUnreachable, since: cfg.Clock.Now(),
		showsPINs: func(string) bool { return false }, ready: make(chan struct{}),
		locks: map[string]*lock{}, warnings: map[string]bool{},
	}
	var both sync.WaitGroup
	both.Go(func() { d.keepConnected(ctx) })
	both.Go(func() { d.processMessages(ctx) })
	go func() { both.Wait(); close(d.done) }()
	return d, nil
}

// brokerAddress returns host:port of the broker's URL, and whether the connection uses TLS. It refuses a URL with a user, and, unless
// cfg.Insecure allows it, one that would send PINs or a password unencrypted to another machine.
func brokerAddress(cfg Config) (host string, secure bool, err error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Hostname() == "" || (u.Scheme != "mqtt" && u.Scheme != "mqtts") {
		return "", false, errors.New("the broker's URL: must be mqtt://host:1883 or mqtts://host:8883")
	}
	if u.User != nil {
		return "", false, errors.New("the broker's URL contains a user: give user and password in separate settings, where other users of this machine cannot see them")
	}
	secure = u.Scheme == "mqtts"
	port := u.Port()
	switch {
	case port != "":
	case secure:
		port = "8883"
	default:
		port = "1883"
	}
	if !secure && !cfg.Insecure && !config.IsLoopback(u.Hostname()) {
		return "", false, fmt.Errorf("mqtt://%s would send PINs across the network unencrypted: use mqtts, run the bridge on the broker's machine, or allow it with --mqtt-insecure", u.Hostname())
	}
	return net.JoinHostPort(u.Hostname(), port), secure, nil
}

// Locks waits for Zigbee2MQTT's device list, up to discoverTimeout, and returns the locks in it, perhaps none, sorted by address. An error
// says what is not reached; Locks can then be called again. After the first success, it always returns the same locks: see Changes.
func (d *Driver) Locks(ctx context.Context) ([]driver.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	select {
	case <-d.ready:
	case <-ctx.Done():
		return nil, errors.New(d.Connection().Detail)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.locksReturned = true
	var out []driver.Lock
	for _, a := range slices.Sorted(maps.Keys(d.locks)) {
		out = append(out, d.locks[a])
	}
	if len(out) == 0 {
		d.log.Warn("Zigbee2MQTT knows no lock yet; pair one", "base", d.cfg.Base)
	}
	return out, nil
}

// Events returns the channel of lock events. It holds at most maxEvents: see emit. It is never closed.
func (d *Driver) Events() <-chan driver.Event { return d.events }

// Changes signals that a lock was added, removed, or changed its model or capabilities since Locks.
func (d *Driver) Changes() <-chan struct{} { return d.changes }

// Close ends the connection to the broker and waits until the driver's goroutines have ended.
func (d *Driver) Close() error {
	d.stop()
	<-d.done
	return nil
}

// emit sends a lock event to the bridge. It drops the oldest event if the bridge does not read events. The caller holds d.mu.
func (d *Driver) emit(e driver.Event) {
	for {
		select {
		case d.events <- e:
			return
		default:
		}
		select {
		case <-d.events:
			d.dropped++
			d.log.Warn("events are not read: the oldest was dropped", "dropped", d.dropped)
		default:
		}
	}
}
