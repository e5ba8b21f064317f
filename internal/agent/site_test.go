package agent

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

// site is a bridge without a service, with simulated locks that outlive it. Everything runs in a synctest bubble: time passes when the
// test waits.
type site struct {
	t      *testing.T
	dir    string
	locks  *sim.Site
	drv    driver.Driver
	clock  clock.Clock // clock of the machine; nil: the bubble's
	bridge *Bridge
	cancel context.CancelFunc
	done   chan error
	gen    map[uint32]uint64
}

func newSite(t *testing.T, specs ...sim.Spec) *site {
	t.Helper()
	locks, err := sim.NewSite(sim.Config{Locks: specs, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: t.TempDir(), locks: locks, drv: locks.Driver(), gen: map[uint32]uint64{}}
	st, err := openStore(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.resetTo(identity{BridgeID: "brg_1"}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() { s.kill(); _ = locks.Close() })
	return s
}

func (s *site) start() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b, err := New(ctx, Config{Dir: s.dir, Driver: s.drv, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Clock: s.clock})
	if err != nil {
		s.t.Fatal(err)
	}
	b.store.db.NoSync = true // kill_test.go tests the durability on disk
	s.bridge, s.cancel, s.done = b, cancel, make(chan error, 1)
	go func() { s.done <- b.runLocks(ctx) }()
}

// restart kills the bridge and starts it with another driver and clock.
func (s *site) restart(d driver.Driver, c clock.Clock) {
	s.t.Helper()
	s.kill()
	s.drv, s.clock = d, c
	s.start()
}

// kill stops the bridge as a power cut would: an answer that was on its way is lost.
func (s *site) kill() {
	s.t.Helper()
	if s.bridge == nil {
		return
	}
	s.cancel()
	if err := <-s.done; err != nil {
		s.t.Error(err)
	}
	if err := s.bridge.Close(); err != nil {
		s.t.Error(err)
	}
	s.bridge = nil
}

func (s *site) want(address string, number uint32, d slot.Desired) {
	s.gen[number]++
	d.Generation = s.gen[number]
	s.bridge.workers[address].enqueue(s.t.Context(), []slot.Event{{Kind: slot.DesiredChanged, Slot: number, Desired: d}})
}

func (s *site) pass(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}

func (s *site) opens(address string, pin slot.PIN) bool {
	s.t.Helper()
	p, err := s.locks.Press(address, pin)
	if err != nil {
		s.t.Fatal(err)
	}
	return p.Opened
}

// journal returns the journaled events, without times.
func (s *site) journal() []journalEntry {
	s.t.Helper()
	synctest.Wait()
	events, err := s.bridge.store.entriesAfter(0, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range events {
		events[i].At = time.Time{}
	}
	return events
}

func (s *site) observed(address string, number uint32) slot.Observed {
	s.t.Helper()
	synctest.Wait()
	s.bridge.outbox.mu.Lock()
	defer s.bridge.outbox.mu.Unlock()
	for _, r := range s.bridge.outbox.rows[address] {
		if r.Slot == number {
			return r.Observed
		}
	}
	return slot.Observed{}
}

// crowd counts the calls that run at the same time.
type crowd struct {
	driver.Driver
	mu        sync.Mutex
	now, most int
}

func (c *crowd) Locks(ctx context.Context) ([]driver.Lock, error) {
	locks, err := c.Driver.Locks(ctx)
	for i := range locks {
		locks[i] = counted{locks[i], c}
	}
	return locks, err
}

func (c *crowd) enter() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.most = max(c.most, c.now)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now--
	}
}

type counted struct {
	driver.Lock
	crowd *crowd
}

func (l counted) Set(ctx context.Context, s driver.Setting) driver.Answer {
	defer l.crowd.enter()()
	return l.Lock.Set(ctx, s)
}

func (l counted) Clear(ctx context.Context, n uint32) driver.Answer {
	defer l.crowd.enter()()
	return l.Lock.Clear(ctx, n)
}

func (l counted) Read(ctx context.Context, n uint32) (driver.Content, driver.Answer) {
	defer l.crowd.enter()()
	return l.Lock.Read(ctx, n)
}

func (l counted) Unlock(ctx context.Context) driver.Answer {
	defer l.crowd.enter()()
	return l.Lock.Unlock(ctx)
}
