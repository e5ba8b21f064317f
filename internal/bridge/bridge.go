// Package bridge is the on-site agent: it keeps its own durable store, brings locks to the state
// that the service desires through drivers, and tells what it saw. It works on without the service:
// what it knows it does on time.
package bridge

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

	"latchkey.dev/internal/bridge/doorkeeper"
	"latchkey.dev/internal/bridge/driver"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

const (
	statusEvery   = time.Minute
	statusTimeout = 5 * time.Second
	heardEpsilon  = 10 * time.Minute // a status that differs by less in its times alone is no news
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

	skew      atomic.Pointer[time.Duration] // our clock minus the service's; nil: not known since the start
	leastSkew atomic.Int64                  // as far as its last greeting can have lain on the way

	mu        sync.Mutex
	id        identity
	connected uint64 // the session's epoch, 0 when there is none
	since     time.Time
	trouble   string // why there is none
	started   time.Time
}

// New opens a bridge's store and finds its locks. The bridge must have been enrolled.
func New(ctx context.Context, cfg Config) (*Bridge, error) {
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
	if err := b.load(ctx); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return b, nil
}

func (b *Bridge) load(ctx context.Context) (err error) {
	if b.id, err = b.store.identity(); err != nil {
		return err
	}
	if b.locks, err = b.cfg.Driver.Locks(ctx); err != nil {
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
	b.doorkeeper, err = b.newDoorkeeper()
	return err
}

// Run works until ctx ends or the store fails.
func (b *Bridge) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.work(ctx) })
	g.Go(func() error { b.link(ctx); return nil })
	g.Go(func() error { b.tellHealth(ctx); return nil })
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
	}
	g.Go(func() error { return b.watch(ctx) })
	g.Go(func() error { return b.changed(ctx) })
	g.Go(func() error { b.lookAround(ctx); return nil })
	g.Go(func() error { b.search(ctx); return nil })
	err := g.Wait()
	b.actor.wait.Wait()
	return err
}

// ErrLocksChanged ends Run when the driver knows other locks than it told: make the bridge anew.
var ErrLocksChanged = errors.New("the locks are others than they were: the bridge starts anew")

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
	if e.Kind == driver.Jammed {
		b.jammed(e.Address)
	}
	return b.happened(e)
}

// jammed notes that a bolt does not move, before the next look at the lock: an event or a refused opening said so.
func (b *Bridge) jammed(address string) {
	_, was := b.out.known(address)
	now := was
	now.Bolt = string(slot.Jammed)
	b.out.look(address, now, news(was, now))
}

// alter passes on that somebody changed a slot at its lock, or any slot if the lock does not say which.
func (b *Bridge) alter(ctx context.Context, e driver.Event) {
	o := b.owners[e.Address]
	switch {
	case o == nil:
	case e.Slot == 0:
		signal(o.altered)
	default:
		o.offer(ctx, []slot.Event{{Kind: slot.Altered, Slot: e.Slot}})
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
		o.Generation = b.out.generation(e.Address, e.Slot)
	}
	return o
}

// lookAround asks the locks how they do, now and then.
func (b *Bridge) lookAround(ctx context.Context) {
	t := time.NewTicker(statusEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			for _, l := range b.locks {
				b.look(ctx, l)
			}
		}
	}
}

func (b *Bridge) look(ctx context.Context, l driver.Lock) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	_, was := b.out.known(l.Address())
	now, err := l.Status(ctx)
	b.owners[l.Address()].trouble.looked(b.log.With("lock", l.Address()), err)
	if err != nil {
		now = was
		now.Online = false
	}
	b.out.look(l.Address(), now, news(was, now))
	b.noticed(l, was, now)
}

// noticed acts on what has changed at a lock.
func (b *Bridge) noticed(l driver.Lock, was, now driver.Status) {
	o := b.owners[l.Address()]
	if now.ClockOffset != nil && l.Capabilities().Schedule == slot.ScheduleWindow {
		o.clock.see(*now.ClockOffset)
	}
	if was == (driver.Status{}) { // the first look: the service hears of it in Hello
		return
	}
	if now.Online && !was.Online { // it may have been taken apart meanwhile
		signal(o.doubted)
	}
	if low(now) && !low(was) {
		if err := b.happened(driver.Event{Address: l.Address(), Kind: driver.BatteryLow, At: b.clock.Now()}); err != nil {
			b.log.Error("a low battery was not journaled", "lock", l.Address(), "error", err)
		}
	}
}

// lowBattery in percent, and below.
const lowBattery = 20

func low(s driver.Status) bool { return s.BatteryPercent != nil && *s.BatteryPercent <= lowBattery }

// news reports whether a status is worth telling.
func news(was, now driver.Status) bool {
	if now.LastSeenAt.Sub(was.LastSeenAt) > heardEpsilon {
		return true
	}
	return was.Bolt != now.Bolt || was.Door != now.Door || was.Online != now.Online || was.Firmware != now.Firmware ||
		differ(was.BatteryPercent, now.BatteryPercent) || differ(was.ClockOffset, now.ClockOffset)
}

func differ[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a != b
	}
	return *a != *b
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
