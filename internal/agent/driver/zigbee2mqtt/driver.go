// Package zigbee2mqtt drives locks behind Zigbee2MQTT, over the MQTT broker that it uses. It speaks
// MQTT 5: a message that expires cannot be delivered late, which the fence and an act's deadline rest
// on, and the broker says at once when nobody listens. MQTT 3.1.1 has neither.
//
// Zigbee2MQTT has no answers. It publishes what locks report, so an operation is done when the lock
// told of it, or showed it when read; else it is unconfirmed.
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
	"latchkey.dev/internal/lock/slot"
)

// Config says where Zigbee2MQTT is.
type Config struct {
	URL  string // mqtt://host:port, or mqtts:// with TLS
	Base string // Zigbee2MQTT's base topic, of one or more levels; empty: zigbee2mqtt
	User string
	// Password is worth nothing without User.
	Password string
	TLS      *tls.Config // with mqtts; nil: the machine's roots
	// Insecure allows mqtt:// to another machine: PINs then cross the network in the clear.
	Insecure bool
	Tunings  map[string]Tuning // by address
	Log      *slog.Logger
	Clock    clock.Clock // nil: the machine's
}

const (
	usualBase    = "zigbee2mqtt"
	maxEvents    = 256
	inboxLen     = 64
	discoverWait = 30 * time.Second
)

// pace is how long things take.
type pace struct {
	answer   time.Duration // for a lock to tell that it stored or cleared a code
	read     time.Duration // for a lock to show a slot
	acquaint time.Duration // for a lock never heard to say anything at all
	expiry   time.Duration // a command not delivered by then never is
	// lifetime is the fence: after it nothing of an operation can land. A command leaves in its first
	// send, waits at most expiry at the broker, is tried for ten seconds by Zigbee2MQTT, and is held
	// at most 7.68 s for a sleeping lock by its parent.
	lifetime, send time.Duration
	first, most    time.Duration // before dialing again
	quiet          time.Duration // a lock not heard for this long is offline
}

var usualPace = pace{
	answer: 8 * time.Second, read: 4 * time.Second, acquaint: 3 * time.Second, expiry: 5 * time.Second,
	lifetime: 45 * time.Second, send: 22 * time.Second, first: 500 * time.Millisecond, most: 30 * time.Second,
	quiet: 25 * time.Hour, // battery devices call in within a day
}

// Driver speaks with one Zigbee2MQTT.
type Driver struct {
	cfg    Config
	place  place
	host   string
	secure bool
	clock  clock.Clock
	log    *slog.Logger
	pace   pace

	stop  context.CancelFunc
	done  chan struct{}
	inbox chan message

	events  chan driver.Event
	changes chan struct{} // holds one signal: the locks are others than Locks returned
	updates chan struct{} // holds one signal: a status or the connection may have changed
	resub   chan struct{} // holds one signal: other topics are wanted

	mu       sync.Mutex
	conn     *conn     // nil: no broker
	trouble  string    // why there is none
	cause    string    // why no lock can be reached; empty: connected
	since    time.Time // when the cause began or ended
	bridge   string    // online, offline, or empty: Zigbee2MQTT's own word
	shown    func(address string) bool
	devices  []byte // bridge/devices as it was last read
	found    map[string]found
	settled  bool // Locks returned
	ready    chan struct{}
	isReady  bool
	locks    map[string]*lock // by address
	dropped  int
	warnings map[string]bool // refused locks that were told of
}

// New checks a configuration and begins to connect. Close ends it.
func New(cfg Config) (*Driver, error) { return start(cfg, usualPace) }

func start(cfg Config, p pace) (*Driver, error) {
	if cfg.Base == "" {
		cfg.Base = usualBase
	}
	if err := checkBase(cfg.Base); err != nil {
		return nil, err
	}
	host, secure, err := address(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System
	}
	ctx, stop := context.WithCancel(context.Background())
	d := &Driver{
		cfg: cfg, place: place(cfg.Base), host: host, secure: secure, clock: cfg.Clock, log: cfg.Log, pace: p,
		stop: stop, done: make(chan struct{}), inbox: make(chan message, inboxLen), trouble: "not connected yet",
		events: make(chan driver.Event, maxEvents), changes: make(chan struct{}, 1), resub: make(chan struct{}, 1),
		updates: make(chan struct{}, 1), cause: slot.BrokerUnreachable, since: cfg.Clock.Now(),
		shown: func(string) bool { return false }, ready: make(chan struct{}),
		locks: map[string]*lock{}, warnings: map[string]bool{},
	}
	var both sync.WaitGroup
	both.Go(func() { d.connect(ctx) })
	both.Go(func() { d.attend(ctx) })
	go func() { both.Wait(); close(d.done) }()
	return d, nil
}

// address takes a broker's URL apart. What could leave PINs or a password where others read them is
// refused.
func address(cfg Config) (host string, secure bool, err error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Hostname() == "" || (u.Scheme != "mqtt" && u.Scheme != "mqtts") {
		return "", false, errors.New("the broker's URL: want mqtt://host:1883 or mqtts://host:8883")
	}
	if u.User != nil {
		return "", false, errors.New("the broker's URL holds a user: give user and password apart from it, where other users of this machine do not see them")
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
	if ip := net.ParseIP(u.Hostname()); !secure && !cfg.Insecure && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", false, fmt.Errorf("mqtt://%s would carry PINs across the network in the clear: use mqtts, or run the bridge beside the broker", u.Hostname())
	}
	return net.JoinHostPort(u.Hostname(), port), secure, nil
}

// Locks waits for Zigbee2MQTT to say which locks it knows.
func (d *Driver) Locks(ctx context.Context) ([]driver.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, discoverWait)
	defer cancel()
	select {
	case <-d.ready:
	case <-ctx.Done():
		return nil, errors.New(d.Connection().Detail)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settled = true
	var out []driver.Lock
	for _, a := range slices.Sorted(maps.Keys(d.locks)) {
		out = append(out, d.locks[a])
	}
	if len(out) == 0 {
		d.log.Warn("Zigbee2MQTT knows no lock yet; pair one", "base", d.cfg.Base)
	}
	return out, nil
}

// Events tells what happens at the locks.
func (d *Driver) Events() <-chan driver.Event { return d.events }

// Changes signals that a lock was paired, removed, or can do other things than Locks said: the
// bridge has to ask anew.
func (d *Driver) Changes() <-chan struct{} { return d.changes }

// Close disconnects.
func (d *Driver) Close() error {
	d.stop()
	<-d.done
	return nil
}

// tell needs d.mu. The oldest events give way when nobody listens.
func (d *Driver) tell(e driver.Event) {
	for {
		select {
		case d.events <- e:
			return
		default:
		}
		select {
		case <-d.events:
			d.dropped++
			d.log.Warn("events are not taken up: the oldest was dropped", "dropped", d.dropped)
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
