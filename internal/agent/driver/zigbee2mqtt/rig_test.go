package zigbee2mqtt

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/logtest"
	"latchkey.dev/internal/test/z2mtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	front    = "0x00158d0000000001"
	back     = "0x00158d0000000002"
	patience = 20 * time.Second
)

// redialing has timings that reconnect to a broker at once.
func redialing() timings {
	p := defaultTimings
	p.firstRetry, p.maxRetry = 20*time.Millisecond, 50*time.Millisecond
	return p
}

// hasty has short timeouts, for tests in which a lock does not answer.
func hasty(answer time.Duration) timings {
	p := redialing()
	p.answer, p.read, p.firstReport = answer, 3*time.Second, time.Second
	return p
}

type rig struct {
	t      *testing.T
	broker *z2mtest.Broker
	z2m    *z2mtest.Z2M
	driver *Driver
	log    *logtest.Buffer
}

// newRig connects a driver to a Zigbee2MQTT with locks.
func newRig(t *testing.T, p timings, locks ...z2mtest.Lock) *rig {
	t.Helper()
	return rigAt(t, z2mtest.StartBroker(t), "zigbee2mqtt", p, locks...)
}

func rigAt(t *testing.T, broker *z2mtest.Broker, base string, p timings, locks ...z2mtest.Lock) *rig {
	t.Helper()
	r := &rig{t: t, broker: broker, z2m: z2mtest.Start(t, broker, base, locks...), log: &logtest.Buffer{}}
	r.driver = r.drive(Config{URL: "mqtt://" + broker.Addr, Base: base}, p)
	return r
}

func (r *rig) drive(c Config, p timings) *Driver {
	r.t.Helper()
	if r.log == nil {
		r.log = &logtest.Buffer{}
	}
	c.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d, err := newDriver(c, p)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := d.Close(); err != nil {
			r.t.Error(err)
		}
	})
	return d
}

func (r *rig) lock(address string) *lock {
	r.t.Helper()
	locks, err := r.driver.Locks(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, l := range locks {
		if l.Address() == address {
			own := l.(*lock)
			r.until("the lock's topics are subscribed", func() bool { return r.reported(own) })
			return own
		}
	}
	r.t.Fatalf("no lock %s", address)
	return nil
}

// reported sends a report of a lock and returns whether the driver has received one.
func (r *rig) reported(l *lock) bool {
	r.z2m.Report(l.address, map[string]any{})
	r.driver.mu.Lock()
	defer r.driver.mu.Unlock()
	return !l.seen.IsZero()
}

// until waits until a condition becomes true.
func (r *rig) until(what string, is func() bool) {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); !is(); {
		select {
		case <-tick.C:
		case <-end:
			r.t.Fatalf("gave up waiting: %s; log:\n%s", what, r.log)
		}
	}
}

// event returns the next event. It skips events of the given kinds.
func (r *rig) event() driver.Event {
	r.t.Helper()
	select {
	case e := <-r.driver.Events():
		e.At = time.Time{}
		return e
	case <-time.After(patience):
		r.t.Fatal("no event")
	}
	return driver.Event{}
}

func (r *rig) within() context.Context {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	return ctx
}

func (r *rig) set(l *lock, number uint32, pin slot.PIN, replace bool) driver.Answer {
	r.t.Helper()
	return l.Set(r.within(), driver.Setting{Slot: number, PIN: pin, Replace: replace})
}

func (r *rig) online(l *lock) bool {
	r.t.Helper()
	s, err := l.Status(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return s.Online
}

func base(n int) string { return fmt.Sprintf("site/zigbee %d", n) }

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}
