// Package agent is the software of a bridge on site. It stores what the service desires of each lock, brings the locks to that state
// through drivers, verifies SmartKeys, and reports what it observed. It also works while the service cannot be reached.
package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"latchkey.dev/internal/agent/doorkeeper"
	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

// Config is what a bridge needs.
type Config struct {
	Dir      string        // of the store; only one bridge runs on it
	Driver   driver.Driver // closed by Close
	Log      *slog.Logger
	Clock    clock.Clock // nil: the machine's
	Software string      // name and version, at most 128 bytes
	// Retry is the longest wait between two attempts to reach the service; 0: the default, which spares a service that many bridges
	// reconnect to.
	Retry time.Duration
	// DialOptions are added to the default ones; tests use them to dial in memory.
	DialOptions []grpc.DialOption
	// Local, if set, serves phones on the property's own network.
	Local *Local
	// Settings of the driver, as JSON without secrets, which LastSettings returns. nil: the stored ones stay.
	Settings []byte
}

// Bridge is one enrolled bridge.
type Bridge struct {
	cfg        Config
	store      *store
	clock      clock.Clock
	log        *slog.Logger
	boot       string
	locks      []driver.Lock
	workers    map[string]*lockWorker
	outbox     *outbox
	commands   *commandRunner
	doorkeeper *doorkeeper.Keeper
	refusals   refusals
	timings    linkTimings
	events     chan struct{} // holds one signal: the journal has new entries
	usedCodes  usedCodes
	ready      atomic.Bool // true once locks, workers and doorkeeper are set

	clockSkew atomic.Pointer[time.Duration] // this clock minus the service's; nil: unknown since the start
	minSkew   atomic.Int64                  // at least, as measured by the last greeting

	mu           sync.Mutex
	id           identity
	epoch        uint64 // of the session, 0 without one
	sessionSince time.Time
	noSession    string // why there is no session
	started      time.Time
}

// New is Open followed by loading the locks. It fails if the driver does not know its locks at once.
func New(ctx context.Context, cfg Config) (*Bridge, error) {
	b, err := Open(cfg)
	if err != nil {
		return nil, err
	}
	if err := b.loadLocks(ctx); err != nil {
		return nil, errors.Join(err, b.store.Close())
	}
	return b, nil
}

// Open opens a bridge's store. The bridge must be enrolled. Run finds its locks.
func Open(cfg Config) (*Bridge, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.System
	}
	st, err := openStore(cfg.Dir)
	if err != nil {
		return nil, err
	}
	b := &Bridge{
		cfg: cfg, store: st, clock: cfg.Clock, log: cfg.Log, boot: rand.Text(),
		workers: map[string]*lockWorker{}, outbox: newOutbox(), events: make(chan struct{}, 1), timings: defaultTimings,
		started: cfg.Clock.Now(),
	}
	if cfg.Retry > 0 {
		b.timings.maxRetry = cfg.Retry
	}
	b.commands = &commandRunner{bridge: b, running: map[string]bool{}}
	if b.id, err = st.identity(); err == nil {
		err = st.saveSettings(cfg.Settings)
	}
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return b, nil
}

// loadLocks gets the locks from the driver and loads their stored state.
func (b *Bridge) loadLocks(ctx context.Context) (err error) {
	if b.locks, err = b.findLocks(ctx); err != nil {
		return fmt.Errorf("find the locks: %w", err)
	}
	radios := map[string]radio{}
	for _, l := range b.locks {
		if b.workers[l.Address()] != nil {
			return fmt.Errorf("the driver named lock %s twice", l.Address())
		}
		if radios[l.Radio()] == nil {
			radios[l.Radio()] = make(radio, 1)
		}
		if b.workers[l.Address()], err = newLockWorker(b, l, radios[l.Radio()]); err != nil {
			return err
		}
		b.readStatus(ctx, l)
	}
	if err := b.loadUsedCodes(); err != nil {
		return err
	}
	if b.doorkeeper, err = b.newDoorkeeper(); err != nil {
		return err
	}
	b.ready.Store(true)
	return nil
}

// Run runs the bridge until ctx ends or its store fails. From the start it answers [AskHealth], also while it waits for a program
// such as Zigbee2MQTT.
func (b *Bridge) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { b.serveHealth(ctx); return nil })
	g.Go(func() error {
		if !b.ready.Load() {
			if err := b.loadLocks(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		return b.runLoaded(ctx)
	})
	return g.Wait()
}

// runLoaded drives the locks and keeps the link to the service, once the locks are loaded.
func (b *Bridge) runLoaded(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.runLocks(ctx) })
	g.Go(func() error { b.runLink(ctx); return nil })
	if b.cfg.Local != nil {
		g.Go(func() error { return b.serveLocal(ctx, *b.cfg.Local) })
	}
	return g.Wait()
}

// runLocks runs everything but the link to the service.
func (b *Bridge) runLocks(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, o := range b.workers {
		g.Go(func() error { return o.run(ctx) })
		g.Go(func() error { return o.guard.run(ctx) })
	}
	g.Go(func() error { return b.processDriverEvents(ctx) })
	g.Go(func() error { return b.awaitLockChange(ctx) })
	g.Go(func() error { b.pollStatus(ctx); return nil })
	g.Go(func() error { b.followDriver(ctx); return nil })
	g.Go(func() error { b.searchForeignCodes(ctx); return nil })
	err := g.Wait()
	b.commands.wait.Wait()
	return err
}

// ErrLocksChanged ends Run when the driver's list of locks has changed: open the bridge again.
var ErrLocksChanged = errors.New("the list of locks changed")

// awaitLockChange waits until the driver's list of locks changes.
func (b *Bridge) awaitLockChange(ctx context.Context) error {
	d, ok := b.cfg.Driver.(driver.Changing)
	if !ok {
		return nil
	}
	select {
	case <-d.Changes():
		return ErrLocksChanged
	case <-ctx.Done():
		return nil
	}
}

// Close closes the driver and the store, after Run has ended.
func (b *Bridge) Close() error { return errors.Join(b.cfg.Driver.Close(), b.store.Close()) }

// ID is the service's id of this bridge.
func (b *Bridge) ID() string { return b.identity().BridgeID }

// Epoch is the epoch of the current session with the service, 0 without one.
func (b *Bridge) Epoch() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.epoch
}

func (b *Bridge) identity() identity {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.id
}

// setEpoch records the start of a session, or its end and the reason.
func (b *Bridge) setEpoch(e uint64, reason error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch, b.sessionSince, b.noSession = e, b.clock.Now(), ""
	if e == 0 {
		b.sessionSince = time.Time{}
	}
	if reason != nil {
		b.noSession = rpcMessage(reason)
	}
}

// processDriverEvents processes the driver's events.
func (b *Bridge) processDriverEvents(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-b.cfg.Driver.Events():
			if err := b.onEvent(ctx, e); err != nil {
				return err
			}
		}
	}
}

// onEvent processes one event of the driver.
func (b *Bridge) onEvent(ctx context.Context, e driver.Event) error {
	w := b.workers[e.Address]
	switch {
	case e.Kind == driver.SlotChanged:
		b.onSlotChanged(ctx, e)
		return nil
	case e.Kind == driver.Opened && e.Slot != 0 && w != nil:
		return b.onCodeUsed(ctx, w, e)
	}
	if e.Kind == driver.Denied && e.Reason == driver.WrongPIN && w != nil {
		w.guard.recordWrongPIN(e.At)
	}
	if e.Kind == driver.Jammed {
		b.markJammed(e.Address)
	}
	return b.journalEvent(e)
}

// onSlotChanged tells the lock's worker that a slot was changed at the lock itself; slot 0 means that any slot may have changed.
func (b *Bridge) onSlotChanged(ctx context.Context, e driver.Event) {
	w := b.workers[e.Address]
	switch {
	case w == nil:
	case e.Slot == 0:
		signal(w.slotsAltered)
	default:
		w.enqueue(ctx, []slot.Event{{Kind: slot.ChangedAtLock, Slot: e.Slot}})
	}
}

// journalEvent journals an event and wakes the link.
func (b *Bridge) journalEvent(e driver.Event) error {
	return b.appendEntry(b.newEntry(e))
}

// appendEntry journals an entry and wakes the link.
func (b *Bridge) appendEntry(e journalEntry) error {
	dropped, err := b.store.appendEntry(e)
	if err != nil {
		return fmt.Errorf("journal an event: %w", err)
	}
	if dropped > 0 {
		b.log.Warn("the journal is full: its oldest events were dropped", "dropped", dropped)
	}
	signal(b.events)
	return nil
}

// newEntry is the journal entry of an event.
func (b *Bridge) newEntry(e driver.Event) journalEntry {
	entry := journalEntry{Address: e.Address, Kind: e.Kind, Slot: e.Slot, Reason: e.Reason, At: e.At.UTC(), Quality: b.clockQuality()}
	if e.Slot != 0 {
		entry.Generation = b.outbox.generationAt(e.Address, e.Slot, e.At)
	}
	return entry
}

const maxSkewCreep = 10 * time.Millisecond

// measureSkew compares this clock with the service's. A delayed message makes this clock look fast, so the smallest difference counts;
// it may creep up, since clocks drift. greeting is the time between Hello and its answer, which bounds the delay; 0: the message is not
// that answer.
func (b *Bridge) measureSkew(theirs time.Time, greeting time.Duration) {
	if theirs.IsZero() {
		return
	}
	skew := b.clock.Now().Sub(theirs)
	if greeting > 0 {
		b.minSkew.Store(int64(skew - greeting))
	} else if last := b.clockSkew.Load(); last != nil {
		skew = min(skew, *last+maxSkewCreep)
	}
	b.clockSkew.Store(&skew)
	b.doorkeeper.ObserveTime(skew)
}

// clockError is how wrong this clock may be, as measured against the service. Less than doorkeeper.CloseEnough counts as correct.
func (b *Bridge) clockError() time.Duration {
	if skew := b.clockSkew.Load(); skew != nil && skew.Abs() > doorkeeper.CloseEnough {
		return skew.Abs()
	}
	return 0
}

func (b *Bridge) clockQuality() string {
	switch skew := b.clockSkew.Load(); {
	case skew == nil:
		return "drifting"
	case skew.Abs() > doorkeeper.Drifting:
		return "untrusted"
	case skew.Abs() > doorkeeper.CloseEnough:
		return "drifting"
	}
	return "synchronized"
}

// toLocalTime converts a time of the service to the earliest time on this clock that it can be, because deadlines are computed from it.
func (b *Bridge) toLocalTime(theirs time.Time) time.Time {
	if skew := b.clockSkew.Load(); skew != nil {
		return theirs.Add(min(*skew, time.Duration(b.minSkew.Load())))
	}
	return theirs
}
