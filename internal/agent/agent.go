// Package agent is the software of a bridge, which runs at the property next to the locks. It stores the desired state of each lock, sets
// codes through drivers, verifies SmartKeys, and reports what it observes. It keeps working while the server cannot be reached.
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

// Config configures a Bridge.
type Config struct {
	Dir      string        // Dir is the directory of the store; only one bridge at a time can use it
	Driver   driver.Driver // Driver is closed by Bridge.Close; after an error of New or Open the caller closes it
	Log      *slog.Logger  // Log must not be nil
	Clock    clock.Clock   // Clock is the machine's clock if nil
	Software string        // Software is the name and version that the server shows, at most 128 bytes
	// Retry is the longest wait between two attempts to reach the server, unless the server refused the bridge or asked for a longer one.
	// 0 means the default, which spreads the reconnects of many bridges.
	Retry time.Duration
	// StatusEvery is how often the status of all locks is read. 0 means once a minute, which saves batteries.
	StatusEvery time.Duration
	// DialOptions are added to the default gRPC options. Tests use them to connect in memory.
	DialOptions []grpc.DialOption
	// Local, if set, lets phones on the property's own network use SmartKeys without the server.
	Local *Local
	// Settings are the driver's settings as JSON without secrets. The bridge stores them for LastSettings. nil keeps the stored ones.
	Settings []byte
}

// Bridge is a running bridge that is enrolled at a server.
type Bridge struct {
	cfg        Config
	store      *store
	clock      clock.Clock
	log        *slog.Logger
	boot       string // random id of this start of the bridge
	locks      []driver.Lock
	workers    map[string]*lockWorker
	outbox     *outbox
	commands   *commandRunner
	doorkeeper *doorkeeper.Verifier
	refusals   refusals
	timings    linkTimings
	events     chan struct{} // signal that the journal has new entries
	usedCodes  usedCodes
	ready      atomic.Bool // true once locks, workers and doorkeeper are loaded; other goroutines must not read them before

	clockSkew atomic.Pointer[time.Duration] // this clock minus the server's clock; nil: not measured since the start
	minSkew   atomic.Int64                  // lower bound of clockSkew in nanoseconds, by the last Hello and its answer; 0 before the first
	skewMu    sync.Mutex                    // held to change clockSkew and minSkew, which are read without it, and to use steps
	steps     clockSteps

	mu           sync.Mutex
	id           identity
	epoch        uint64 // epoch of the session with the server; 0 without a session
	sessionSince time.Time
	noSession    string // why there is no session with the server; empty in a session and until the first attempt has ended
	started      time.Time
}

// New opens a bridge and loads its locks. With a [driver.Remote] it waits until the driver knows its locks or ctx ends. Callers that must
// not wait use [Open] and [Bridge.Run]. After an error the store is closed again, but cfg.Driver is not.
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

// Open opens the store of an enrolled bridge, without its locks, and stores the settings of cfg. Run loads the locks when the driver knows
// them. It fails if no bridge is enrolled in the directory, where it then creates nothing, or with [ErrInUse] if one runs.
func Open(cfg Config) (*Bridge, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.System
	}
	if err := CheckStored(cfg.Dir); err != nil {
		return nil, err
	}
	st, err := openStore(cfg.Dir)
	if err != nil {
		return nil, err
	}
	b := &Bridge{
		cfg: cfg, store: st, clock: cfg.Clock, log: cfg.Log, boot: rand.Text(),
		workers: map[string]*lockWorker{}, outbox: newOutbox(), events: make(chan struct{}, 1), timings: defaultTimings,
		started: cfg.Clock.Now(), steps: clockSteps{cfg.Clock.Now().Round(0), time.Now()},
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

// loadLocks waits until the driver knows its locks, creates a worker for each, reads its status, and loads what is stored about it and
// about SmartKeys. It then sets b.ready. It fails if ctx ends, if two locks have the same address, or if the store cannot be read or
// written.
func (b *Bridge) loadLocks(ctx context.Context) (err error) {
	if b.locks, err = b.findLocks(ctx); err != nil {
		return fmt.Errorf("find the locks: %w", err)
	}
	radios := map[string]*radio{}
	for _, l := range b.locks {
		if b.workers[l.Address()] != nil {
			return fmt.Errorf("the driver named lock %s twice", l.Address())
		}
		if radios[l.Radio()] == nil {
			radios[l.Radio()] = &radio{}
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

// Run runs the bridge until ctx ends (then it returns nil), its locks cannot be loaded, its store or the listener of [Local] fails, or the
// list of locks changes ([ErrLocksChanged]). It answers [AskHealth] from the start, even while it waits for a program such as Zigbee2MQTT.
// It stops its goroutines before it returns, but closes neither the driver nor the store: see Close.
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

// runLoaded does everything that needs loaded locks: it drives the locks, keeps a session with the server and, if enabled, serves phones.
// It returns nil when ctx ends, or the error that ended runLocks or serveLocal. A lost session is no error. Last of all it waits for the
// running unlock commands, because the link may still start one while the locks stop.
func (b *Bridge) runLoaded(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.runLocks(ctx) })
	g.Go(func() error { b.runLink(ctx); return nil })
	if b.cfg.Local != nil {
		g.Go(func() error { return b.serveLocal(ctx, *b.cfg.Local) })
	}
	err := g.Wait()
	b.commands.wait.Wait()
	return err
}

// runLocks drives the locks until ctx ends (then it returns nil), the store fails or the list of locks changes. It needs no session with
// the server, and does not wait for the running unlock commands.
func (b *Bridge) runLocks(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, o := range b.workers {
		g.Go(func() error { return o.run(ctx) })
		g.Go(func() error { return o.guard.run(ctx) })
	}
	g.Go(func() error { return b.processDriverEvents(ctx) })
	g.Go(func() error { return b.awaitLockChange(ctx) })
	g.Go(func() error { b.pollStatus(ctx); return nil })
	g.Go(func() error { b.watchClock(ctx); return nil })
	g.Go(func() error { b.followDriver(ctx); return nil })
	g.Go(func() error { b.searchForeignCodes(ctx); return nil })
	return g.Wait()
}

// ErrLocksChanged is returned by Run when the driver's list of locks has changed. The caller must open the bridge again.
var ErrLocksChanged = errors.New("the list of locks changed")

// awaitLockChange returns ErrLocksChanged when the driver's list of locks changes, or nil when ctx ends. For a driver that is not
// [driver.Changing] it returns nil at once.
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

// Close closes the driver and the store. Run must have ended.
func (b *Bridge) Close() error { return errors.Join(b.cfg.Driver.Close(), b.store.Close()) }

// ID returns the id that the server gave this bridge.
func (b *Bridge) ID() string { return b.identity().BridgeID }

// Epoch returns the epoch of the current session with the server, 0 without a session.
func (b *Bridge) Epoch() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.epoch
}

// identity returns the bridge's current identity. A renewal of the certificate replaces it.
func (b *Bridge) identity() identity {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.id
}

// setEpoch records that a session with the epoch e has begun. If e is 0, it records that the session has ended, or could not begin, because
// of reason.
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

// processDriverEvents handles the driver's events one after the other until ctx ends. It returns an error if an event cannot be stored.
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

// onEvent handles one event of a lock. It journals the event for the server, except SlotChanged, which only the lock's worker needs. The
// worker also gets the use of a code, the keypad guard a wrong PIN, and the lock's status a jam. An error means that the journal failed.
// After the use of a code, onEvent waits until the worker has stored it.
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

// onSlotChanged notifies the worker of the event's lock that the slot e.Slot was changed at the lock itself. Slot 0 means that any slot may
// have changed. An unknown lock is ignored. It waits while the worker's inbox is full, until ctx ends.
func (b *Bridge) onSlotChanged(ctx context.Context, e driver.Event) {
	w := b.workers[e.Address]
	switch {
	case w == nil:
	case e.Slot == 0:
		driver.Signal(w.slotsAltered)
	default:
		w.enqueue(ctx, []slot.Event{{Kind: slot.ChangedAtLock, Slot: e.Slot}})
	}
}

// journalEvent converts a driver's event to a journal entry and appends it, see appendEntry.
func (b *Bridge) journalEvent(e driver.Event) error {
	return b.appendEntry(b.newEntry(e))
}

// appendEntry stores an entry in the journal and signals the session to send it. A full journal drops its oldest entries.
func (b *Bridge) appendEntry(e journalEntry) error {
	dropped, err := b.store.appendEntry(e)
	if err != nil {
		return fmt.Errorf("journal an event: %w", err)
	}
	if dropped > 0 {
		b.log.Warn("the journal is full: its oldest events were dropped", "dropped", dropped)
	}
	driver.Signal(b.events)
	return nil
}

// newEntry converts a driver's event to a journal entry, without a Sequence. It adds the quality of this clock, and the generation of the
// code in the event's slot (0 if unknown).
func (b *Bridge) newEntry(e driver.Event) journalEntry {
	entry := journalEntry{Address: e.Address, Kind: e.Kind, Slot: e.Slot, Reason: e.Reason, At: e.At.UTC(), Quality: b.clockQuality()}
	if e.Slot != 0 {
		entry.Generation = b.outbox.generationAt(e.Address, e.Slot, e.At)
	}
	return entry
}

// maxSkewCreep is how much one message can increase the measured clock difference. See measureSkew.
const maxSkewCreep = 10 * time.Millisecond

// measureSkew updates the measured difference, this clock minus the server's, for the bridge and its doorkeeper. theirs is the server's
// time in a message; zero is ignored. The answer to Hello replaces the difference: sinceHello is the time since Hello, which bounds the
// delay. For other messages sinceHello is 0. Their delay makes this clock look fast, so the smallest difference counts. It can rise by at
// most maxSkewCreep with each message, because clocks drift. If this clock was set since the last measurement, the step is added to the
// last difference first.
func (b *Bridge) measureSkew(theirs time.Time, sinceHello time.Duration) {
	if theirs.IsZero() {
		return
	}
	b.skewMu.Lock()
	defer b.skewMu.Unlock()
	b.applyClockStep()
	skew := b.clock.Now().Sub(theirs)
	if sinceHello > 0 {
		b.minSkew.Store(int64(skew - sinceHello))
	} else if last := b.clockSkew.Load(); last != nil {
		skew = min(skew, *last+maxSkewCreep)
	}
	b.clockSkew.Store(&skew)
	b.doorkeeper.ObserveTime(skew)
}

// clockError returns the absolute difference between this clock and the server's. It is 0 up to doorkeeper.CloseEnough, and before the
// first measurement.
func (b *Bridge) clockError() time.Duration {
	if skew := b.clockSkew.Load(); skew != nil && skew.Abs() > doorkeeper.CloseEnough {
		return skew.Abs()
	}
	return 0
}

// clockQuality returns how close this clock is to the server's: synchronized, drifting (or not yet measured), or untrusted.
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

// toLocalTime converts a time of the server's clock to the earliest possible time on this clock, because a command must not be executed
// after its deadline. Before the first measurement it returns the time unchanged.
func (b *Bridge) toLocalTime(theirs time.Time) time.Time {
	if skew := b.clockSkew.Load(); skew != nil {
		return theirs.Add(min(*skew, time.Duration(b.minSkew.Load())))
	}
	return theirs
}
