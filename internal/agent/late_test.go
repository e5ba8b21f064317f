package agent

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// stubborn is a driver that ignores deadlines of calls. Set on its slow lock takes a given time.
type stubborn struct {
	driver.Driver
	slow  string
	takes time.Duration

	mu      sync.Mutex
	sets    map[string]int
	unlocks int
}

func (d *stubborn) Locks(ctx context.Context) ([]driver.Lock, error) {
	locks, err := d.Driver.Locks(ctx)
	for i := range locks {
		locks[i] = stubbornLock{locks[i], d}
	}
	return locks, err
}

func (d *stubborn) setsOf(address string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sets[address]
}

type stubbornLock struct {
	driver.Lock
	of *stubborn
}

func (l stubbornLock) Set(ctx context.Context, s driver.Setting) driver.Answer {
	l.of.mu.Lock()
	l.of.sets[l.Address()]++
	l.of.mu.Unlock()
	if l.Address() == l.of.slow {
		time.Sleep(l.of.takes)
	}
	return l.Lock.Set(context.WithoutCancel(ctx), s)
}

func (l stubbornLock) Unlock(context.Context) driver.Answer {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.unlocks++
	return driver.Answer{Result: slot.OK}
}

// restartWith runs the site's bridge again, with another driver.
func (s *site) restartWith(d driver.Driver) {
	s.t.Helper()
	s.kill()
	s.drv = d
	s.start()
}

// If a call has waited for the radio so long that it could take effect after its lifetime, it is not made.
func TestCallThatWaitedTooLongForTheRadioIsNotMade(t *testing.T) {
	lifetime := sim.Profiles()[sim.TTLock].Capabilities.Lifetime()
	for name, tt := range map[string]struct {
		takes time.Duration // of the call on the other lock, of the two lifetimes that both have from their start
		sets  int
	}{
		"just in time":  {lifetime - time.Millisecond, 1},
		"just too late": {lifetime + time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t,
					sim.Spec{Address: "a", Profile: sim.TTLock, Radio: "one"}, sim.Spec{Address: "b", Profile: sim.TTLock, Radio: "one"})
				d := &stubborn{Driver: s.locks.Driver(), slow: "a", takes: tt.takes, sets: map[string]int{}}
				s.restartWith(d)
				s.pass(time.Minute)
				s.want("a", 1, stay("345678", 0, time.Hour))
				synctest.Wait() // it has the radio
				s.want("b", 2, stay("456789", 0, time.Hour))
				s.pass(tt.takes + time.Millisecond/2)
				if n := d.setsOf("b"); n != tt.sets {
					t.Errorf("the second lock was called %d times, want %d", n, tt.sets)
				}
				if o := s.observed("b", 2); tt.sets == 0 && o.Result != slot.Busy {
					t.Errorf("the second lock: %+v, want busy", o)
				}
			})
		})
	}
}

// If the radio becomes free exactly at the deadline of an unlock command, nothing opens, even with a driver that ignores deadlines.
func TestCommandThatGetsTheRadioAtItsDeadlineIsNotExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.TTLock})
		d := &stubborn{Driver: s.locks.Driver(), sets: map[string]int{}}
		s.restartWith(d)
		s.pass(time.Minute)
		radio := s.bridge.workers["front"].radio
		for range 200 { // repeated, because select chooses at random between two ready channels
			if !radio.acquire(t.Context()) {
				t.Fatal("the radio is taken")
			}
			deadline := time.Now().Add(time.Second)
			time.AfterFunc(time.Second, radio.release)
			outcome := make(chan string, 1)
			go func() {
				o, _ := s.bridge.commands.unlock(t.Context(), command{id: "act", address: "front", operation: operationUnlock, deadline: deadline})
				outcome <- o
			}()
			if o := <-outcome; o != outcomeExpired {
				t.Fatalf("the act is %s at its deadline", o)
			}
			if time.Now().Before(deadline) {
				t.Fatal("the act ended before its deadline")
			}
			synctest.Wait()
		}
		if d.unlocks != 0 {
			t.Errorf("opened %d times", d.unlocks)
		}
	})
}

// A lock's clock may be slightly more wrong than measured. Even if the bridge is offline at the end of a stay, the lock must refuse the code in
// time.
func TestSlightlyDriftedLockClosesInTimeWithoutItsBridge(t *testing.T) {
	for _, more := range []time.Duration{-clockSlack, 0, clockSlack} {
		t.Run(more.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const drift = 40 * time.Second
				s := newSite(t, sim.Spec{Address: "front", Profile: sim.Matter, Drift: drift})
				s.pass(10 * time.Second)
				to := time.Now().Truncate(time.Minute).Add(10 * time.Hour)
				s.want("front", 1, stay("345678", 0, time.Until(to)))
				s.pass(time.Hour)
				if !s.opens("front", "345678") {
					t.Fatal("does not open during the stay")
				}
				s.locks.SetDrift("front", drift+more)
				s.pass(time.Hour) // the offset was measured, and is too small to set the windows again
				s.kill()
				s.pass(time.Until(to.Add(-30 * time.Second)))
				if !s.opens("front", "345678") {
					t.Error("does not open just before the end")
				}
				for range 15 {
					s.pass(time.Until(to))
					if s.opens("front", "345678") {
						t.Fatalf("opens %v after the end", time.Since(to))
					}
					to = to.Add(time.Second)
				}
			})
		})
	}
}
