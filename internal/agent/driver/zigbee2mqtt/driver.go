// Package zigbee2mqtt drives locks through Zigbee2MQTT, over its MQTT broker. It requires MQTT 5: messages expire, so that a command
// cannot be delivered late, on which fences and deadlines of commands depend, and the broker reports at once if there is no subscriber.
// MQTT 3.1.1 has neither.
//
// Zigbee2MQTT does not answer commands. It publishes what locks report, so an operation succeeded if the lock reported it, or showed it
// when read; otherwise it is unconfirmed.
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

// Config is how to reach Zigbee2MQTT.
type Config struct {
	URL  string // mqtt://host:port, or mqtts:// with TLS
	Base string // Zigbee2MQTT's base topic, of one or more levels; empty: zigbee2mqtt
	User string
	// Password requires User.
	Password string
	TLS      *tls.Config // with mqtts; nil: the machine's roots
	// Insecure allows mqtt:// to another machine: PINs then cross the network unencrypted.
	Insecure bool
	Tunings  map[string]Tuning // by address
	Log      *slog.Logger
	Clock    clock.Clock // nil: the machine's
}

const (
	defaultBase     = "zigbee2mqtt"
	maxEvents       = 256
	inboxSize       = 64
	discoverTimeout = 30 * time.Second
)

// timings are the driver's timeouts and waits.
type timings struct {
	answer      time.Duration // for a lock to report that it stored or cleared a code
	read        time.Duration // for a lock to show a slot
	firstReport time.Duration // for the first message of a lock that has sent none
	expiry      time.Duration // of a command at the broker
	// lifetime is the fence: after it an operation can no longer take effect. A command is sent within send, waits at most expiry at
	// the broker, Zigbee2MQTT retries it for ten seconds, and the parent of a sleeping lock holds it at most 7.68 s.
	lifetime, send       time.Duration
	firstRetry, maxRetry time.Duration // between two attempts to connect
	offlineAfter         time.Duration // a lock without a message for this long is offline
}

var defaultTimings = timings{
	answer: 8 * time.Second, read: 4 * time.Second, firstReport: 3 * time.Second, expiry: 5 * time.Second,
	lifetime: 45 * time.Second, send: 22 * time.Second, firstRetry: 500 * time.Millisecond, maxRetry: 30 * time.Second,
	offlineAfter: 25 * time.Hour, // battery devices report at least daily
}

// Driver is connected to one Zigbee2MQTT.
type Driver struct {
	cfg     Config
	topics  topics
	host    string
	secure  bool
	clock   clock.Clock
	log     *slog.Logger
	timings timings

	stop  context.CancelFunc
	done  chan struct{}
	inbox chan message

	events      chan driver.Event
	changes     chan struct{} // holds one signal: the list of locks differs from what Locks returned
	updates     chan struct{} // holds one signal: a status or the connection may have changed
	resubscribe chan struct{} // holds one signal: the topics to subscribe to changed

	mu            sync.Mutex
	conn          *conn     // nil: not connected
	connError     string    // why it is not connected
	cause         string    // why no lock can be reached; empty: connected
	since         time.Time // when the cause began or ended
	bridge        string    // online, offline, or empty: as Zigbee2MQTT reports itself
	showsPINs     func(address string) bool
	devices       []byte // the last bridge/devices
	found         map[string]foundLock
	locksReturned bool // Locks has returned
	ready         chan struct{}
	isReady       bool
	locks         map[string]*lock // by address
	dropped       int
	warnings      map[string]bool // locks whose refusal was logged
}

// New checks a configuration and starts to connect. Close ends it.
func New(cfg Config) (*Driver, error) { return newDriver(cfg, defaultTimings) }

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

// brokerAddress parses the broker's URL. It refuses a URL that would expose PINs or a password.
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
		return "", false, fmt.Errorf("mqtt://%s would send PINs across the network unencrypted: use mqtts, or run the bridge on the broker's machine", u.Hostname())
	}
	return net.JoinHostPort(u.Hostname(), port), secure, nil
}

// Locks waits for Zigbee2MQTT's list of devices.
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

// Events returns the events of the locks.
func (d *Driver) Events() <-chan driver.Event { return d.events }

// Changes signals that a lock was paired, removed, or changed its capabilities since Locks.
func (d *Driver) Changes() <-chan struct{} { return d.changes }

// Close disconnects.
func (d *Driver) Close() error {
	d.stop()
	<-d.done
	return nil
}

// emit sends an event to the bridge. It drops the oldest event if the bridge does not read them. The caller holds d.mu.
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

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
