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

// Config says what a bridge is made of.
type Config struct {
	Dir      string        // its store; only one bridge runs on it
	Driver   driver.Driver // closed by Close
	Log      *slog.Logger
	Clock    clock.Clock // nil: the machine's
	Software string      // name and version, at most 128 bytes
	// Retry is the most between two attempts to reach the service; 0: what spares a service that many bridges miss.
	Retry time.Duration
	// DialOptions are added to the link's own; tests dial in memory with them.
	DialOptions []grpc.DialOption
	// Local, when set, has phones served on the property's own network.
	Local *Local
	// Settings are what the driver was made with, as JSON without secrets; LastSettings reads them. nil: the stored ones stay.
	Settings []byte
}

// Bridge is one enrolled bridge.
type Bridge struct {
	cfg    Config
	store  *store
	clock  clock.Clock
	log    *slog.Logger
	boot   string
	locks  []driver.Lock
	owners map[string]*owner
	out    *outbox
	actor  *actor
	// doorkeeper verifies SmartKeys.
	doorkeeper *doorkeeper.Keeper
	refusals   refusals
	pace       pace
	events     chan struct{} // holds one signal: the journal grew
	spent      spent
	ready      atomic.Bool // the locks are known; before, locks, owners and doorkeeper are not set

	skew      atomic.Pointer[time.Duration] // our clock minus the service's; nil: not known since the start
	leastSkew atomic.Int64                  // as far as its last greeting can have lain on the way

	mu        sync.Mutex
	id        identity
	connected uint64 // the session's epoch, 0 when there is none
	since     time.Time
	trouble   string // why there is none
	started   time.Time
}

// New is Open for a bridge whose locks are known at once: it also finds them.
func New(ctx context.Context, cfg Config) (*Bridge, error) {
	b, err := Open(cfg)
	if err != nil {
		return nil, err
	}
	if err := b.load(ctx); err != nil {
		return nil, errors.Join(err, b.store.Close())
	}
	return b, nil
}

// Open opens a bridge's store. The bridge must have been enrolled. Run finds its locks.
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
		owners: map[string]*owner{}, out: newOutbox(), events: make(chan struct{}, 1), pace: usualPace,
		started: cfg.Clock.Now(),
	}
	if cfg.Retry > 0 {
		b.pace.most = cfg.Retry
	}
	b.actor = &actor{bridge: b, now: map[string]bool{}}
	if b.id, err = st.identity(); err == nil {
		err = st.saveSettings(cfg.Settings)
	}
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return b, nil
}

// load finds the locks and loads what is stored of them.
func (b *Bridge) load(ctx context.Context) (err error) {
	if b.locks, err = b.findLocks(ctx); err != nil {
		return fmt.Errorf("find the locks: %w", err)
	}
	radios := map[string]radio{}
	for _, l := range b.locks {
		if b.owners[l.Address()] != nil {
			return fmt.Errorf("the driver named lock %s twice", l.Address())
		}
		if radios[l.Radio()] == nil {
			radios[l.Radio()] = make(radio, 1)
		}
		if b.owners[l.Address()], err = newOwner(b, l, radios[l.Radio()]); err != nil {
			return err
		}
		b.look(ctx, l)
	}
	if err := b.recall(); err != nil {
		return err
	}
	if b.doorkeeper, err = b.newDoorkeeper(); err != nil {
		return err
	}
	b.ready.Store(true)
	return nil
}

// Run works until ctx ends or the store fails. From its first moment it answers AskHealth, also while it waits for the
// program through which its driver reaches the locks.
func (b *Bridge) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { b.serveHealth(ctx); return nil })
	g.Go(func() error {
		if !b.ready.Load() {
			if err := b.load(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		return b.drive(ctx)
	})
	return g.Wait()
}

// drive drives the locks and keeps the link to the service.
func (b *Bridge) drive(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.work(ctx) })
	g.Go(func() error { b.link(ctx); return nil })
	if b.cfg.Local != nil {
		g.Go(func() error { return b.serveLocal(ctx, *b.cfg.Local) })
	}
	return g.Wait()
}

// work is all of the bridge but its link: what goes on while the service is away.
func (b *Bridge) work(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, o := range b.owners {
		g.Go(func() error { return o.run(ctx) })
		g.Go(func() error { return o.guard.run(ctx) })
	}
	g.Go(func() error { return b.watch(ctx) })
	g.Go(func() error { return b.changed(ctx) })
	g.Go(func() error { b.lookAround(ctx); return nil })
	g.Go(func() error { b.followDriver(ctx); return nil })
	g.Go(func() error { b.search(ctx); return nil })
	err := g.Wait()
	b.actor.wait.Wait()
	return err
}

// ErrLocksChanged ends Run when the driver knows other locks than it returned: open the bridge again.
var ErrLocksChanged = errors.New("the list of locks changed")

// changed waits until the driver knows other locks.
func (b *Bridge) changed(ctx context.Context) error {
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

// Epoch is the epoch of the present session with the service, 0 when there is none.
func (b *Bridge) Epoch() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.connected
}

func (b *Bridge) identity() identity {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.id
}

// setEpoch notes the beginning of a session, or its end and why.
func (b *Bridge) setEpoch(e uint64, trouble error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.connected, b.since, b.trouble = e, b.clock.Now(), ""
	if e == 0 {
		b.since = time.Time{}
	}
	if trouble != nil {
		b.trouble = plain(trouble)
	}
}

// watch journals what happens at the locks.
func (b *Bridge) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-b.cfg.Driver.Events():
			if err := b.take(ctx, e); err != nil {
				return err
			}
		}
	}
}

// take deals with one event of the driver's.
func (b *Bridge) take(ctx context.Context, e driver.Event) error {
	o := b.owners[e.Address]
	switch {
	case e.Kind == driver.SlotChanged:
		b.alter(ctx, e)
		return nil
	case e.Kind == driver.Opened && e.Slot != 0 && o != nil:
		return b.entered(ctx, o, e)
	}
	if e.Kind == driver.Denied && e.Reason == driver.WrongPIN && o != nil {
		o.guard.struck(e.At)
	}
	if e.Kind == driver.Jammed {
		b.jammed(e.Address)
	}
	return b.happened(e)
}

// alter passes on that somebody changed a slot at its lock, or any slot if the lock does not say which.
func (b *Bridge) alter(ctx context.Context, e driver.Event) {
	o := b.owners[e.Address]
	switch {
	case o == nil:
	case e.Slot == 0:
		signal(o.altered)
	default:
		o.offer(ctx, []slot.Event{{Kind: slot.ChangedAtLock, Slot: e.Slot}})
	}
}

// happened journals an event and wakes the link.
func (b *Bridge) happened(e driver.Event) error {
	return b.keep(b.occurred(e))
}

// keep journals an event and has it told.
func (b *Bridge) keep(o occurrence) error {
	lost, err := b.store.journal(o)
	if err != nil {
		return fmt.Errorf("journal an event: %w", err)
	}
	if lost > 0 {
		b.log.Warn("the journal is full: its oldest events were dropped", "dropped", lost)
	}
	signal(b.events)
	return nil
}

// occurred is an event as it is journaled.
func (b *Bridge) occurred(e driver.Event) occurrence {
	o := occurrence{Address: e.Address, Kind: e.Kind, Slot: e.Slot, Reason: e.Reason, At: e.At.UTC(), Quality: b.clockQuality()}
	if e.Slot != 0 {
		o.Generation = b.out.generation(e.Address, e.Slot, e.At)
	}
	return o
}

const skewCreep = 10 * time.Millisecond

// heardTime compares our clock with the service's. A message that lay on the way makes our clock
// look fast, so the least difference counts; it may creep up, since clocks drift. A greeting took so
// long from our question to its arrival that it cannot have lain longer; 0 is not a greeting.
func (b *Bridge) heardTime(theirs time.Time, greeting time.Duration) {
	if theirs.IsZero() {
		return
	}
	skew := b.clock.Now().Sub(theirs)
	if greeting > 0 {
		b.leastSkew.Store(int64(skew - greeting))
	} else if was := b.skew.Load(); was != nil {
		skew = min(skew, *was+skewCreep)
	}
	b.skew.Store(&skew)
	b.doorkeeper.HearTime(skew)
}

// clockError is what may be wrong with our clock, as far as the service could tell. Less than
// doorkeeper.CloseEnough is as good as right.
func (b *Bridge) clockError() time.Duration {
	if skew := b.skew.Load(); skew != nil && skew.Abs() > doorkeeper.CloseEnough {
		return skew.Abs()
	}
	return 0
}

func (b *Bridge) clockQuality() string {
	switch skew := b.skew.Load(); {
	case skew == nil:
		return "drifting"
	case skew.Abs() > doorkeeper.Drifting:
		return "untrusted"
	case skew.Abs() > doorkeeper.CloseEnough:
		return "drifting"
	}
	return "synchronized"
}

// ours is a time of the service's by our clock: the earliest that it can be, since deadlines are
// reckoned with it.
func (b *Bridge) ours(theirs time.Time) time.Time {
	if skew := b.skew.Load(); skew != nil {
		return theirs.Add(min(*skew, time.Duration(b.leastSkew.Load())))
	}
	return theirs
}
