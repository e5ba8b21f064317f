package agent

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

// setClock is a machine's clock that can be set: it is off by a duration.
type setClock struct{ off atomic.Int64 }

func (c *setClock) Now() time.Time { return time.Now().UTC().Add(time.Duration(c.off.Load())) }

// wrapped is a driver whose locks are wrapped.
type wrapped struct {
	driver.Driver
	wrap func(driver.Lock) driver.Lock
}

func (d wrapped) Locks(ctx context.Context) ([]driver.Lock, error) {
	locks, err := d.Driver.Locks(ctx)
	for i := range locks {
		locks[i] = d.wrap(locks[i])
	}
	return locks, err
}

// blind is a lock that confirms codes and cannot be read.
type blind struct{ driver.Lock }

func (l blind) Capabilities() slot.Capabilities {
	c := l.Lock.Capabilities()
	c.ReadBack, c.Readable = false, slot.ReadableNone
	return c
}

func TestClockSteps(t *testing.T) {
	start := time.Now()
	s := clockSteps{start.Round(0), start}
	for i, c := range []struct{ passed, off, want time.Duration }{
		{0, 0, 0},
		{time.Hour, 0, 0},
		{2 * time.Hour, 3 * time.Hour, 3 * time.Hour},
		{2 * time.Hour, 3 * time.Hour, 0},
		{3 * time.Hour, 3*time.Hour + 600*time.Millisecond, 0},
		{4 * time.Hour, 3*time.Hour + 1200*time.Millisecond, 1200 * time.Millisecond}, // two small steps
		{4 * time.Hour, 0, -3*time.Hour - 1200*time.Millisecond},
		{1000 * time.Hour, 0, 0},
	} {
		now := start.Add(c.passed)
		if got := s.next(now.Add(c.off), now); got != c.want {
			t.Errorf("call %d, %v later and off by %v: %v, want %v", i, c.passed, c.off, got, c.want)
		}
	}
}

// A machine without a battery clock boots with a wrong time, which NTP corrects when the session has begun.
func TestClockThatIsSetDuringASessionIsTrusted(t *testing.T) {
	for name, off := range map[string]time.Duration{"behind": -3 * time.Hour, "ahead": 3 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
				c := &setClock{}
				c.off.Store(int64(off))
				s.restart(s.drv, c)
				s.pass(time.Minute)
				s.bridge.measureSkew(time.Now().Round(0), 10*time.Millisecond) // Welcome
				if got := s.bridge.clockError(); got != off.Abs() {
					t.Fatalf("clock error %v, want %v", got, off.Abs())
				}
				c.off.Store(0)
				d := s.bridge.decodeCommand(&lockv1.Act{Id: "act_1", Deadline: timestamppb.New(time.Now().Add(5 * time.Second))})
				if left := time.Until(d.deadline); left > 5*time.Second || left < 4*time.Second {
					t.Errorf("%v left to execute a command whose deadline is in 5s", left)
				}
				s.pass(15 * time.Second)
				s.bridge.measureSkew(time.Now().Round(0), 0) // a heartbeat
				if got := s.bridge.clockError(); got != 0 || s.bridge.clockQuality() != "synchronized" {
					t.Errorf("after a heartbeat: clock error %v, quality %s", got, s.bridge.clockQuality())
				}
				s.want("front", 1, stay("345678", -time.Minute, time.Hour))
				s.pass(10 * time.Second)
				if !s.opens("front", "345678") {
					t.Error("the code does not open in its window")
				}
			})
		})
	}
}

// After a power cut without internet, the clock is behind until NTP sets it. Nothing else happens at the lock then.
func TestWindowsFollowAClockThatIsSet(t *testing.T) {
	for name, wrap := range map[string]func(driver.Lock) driver.Lock{
		"readable": func(l driver.Lock) driver.Lock { return l },
		"blind":    func(l driver.Lock) driver.Lock { return blind{l} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
				d := wrapped{s.locks.Driver(), wrap}
				s.restart(d, nil)
				s.want("front", 1, stay("345678", -5*time.Hour, 4*time.Hour))
				s.want("front", 2, stay("567890", 2*time.Hour, 8*time.Hour))
				s.pass(time.Minute)
				c := &setClock{}
				c.off.Store(int64(-3 * time.Hour))
				s.restart(d, c)
				s.pass(time.Minute)
				c.off.Store(0)
				for _, at := range []struct {
					wait  time.Duration
					codes int // typing a code would wake the worker
				}{
					{2*time.Hour - 2*time.Minute - time.Second, 1},
					{15 * time.Second, 2}, // the second window has begun
					{2*time.Hour - 15*time.Second, 2},
					{15 * time.Second, 1}, // the first window has ended
				} {
					s.pass(at.wait)
					if n := len(s.locks.Slots("front")); n != at.codes {
						t.Errorf("%d codes on the lock, want %d", n, at.codes)
					}
				}
				if !s.opens("front", "567890") {
					t.Error("the code does not open in its window")
				}
			})
		})
	}
}

// A window may have begun by the time to which the clock is set.
func TestWindowBeginsWhenTheClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.Zigbee2MQTT})
		c := &setClock{}
		c.off.Store(int64(-3 * time.Hour))
		s.restart(s.drv, c)
		s.want("front", 1, stay("345678", -time.Hour, time.Hour))
		s.pass(time.Minute)
		if s.opens("front", "345678") {
			t.Fatal("opens before its window by the bridge's clock")
		}
		c.off.Store(0)
		s.pass(clockCheckEvery + 5*time.Second)
		if !s.opens("front", "345678") {
			t.Error("does not open after the clock was set")
		}
	})
}
