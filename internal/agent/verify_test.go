package agent

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// A lock that enforces windows with its own clock opens exactly in the real window, even if its clock is wrong, is set, or drifts during
// the stay.
func TestWrongLockClockOpensNothingOutsideTheWindow(t *testing.T) {
	for _, profile := range []string{sim.Matter, sim.Nuki, sim.TTLock} {
		for _, drift := range []time.Duration{0, 40 * time.Second, -10 * time.Minute, 3 * time.Hour, -26 * time.Hour} {
			t.Run(fmt.Sprint(profile, drift), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t, sim.Spec{Address: "front", Profile: profile, Drift: drift})
					s.pass(10 * time.Second)
					from := time.Now().Truncate(time.Minute).Add(20 * time.Hour)
					to := from.Add(10 * time.Hour)
					s.want("front", 1, stay("345678", time.Until(from), time.Until(to)))
					step := sim.Profiles()[profile].Capabilities.Granularity
					slack := clockSlack + step + 10*time.Second
					look := func(at time.Time) {
						s.pass(time.Until(at))
						now, opens := time.Now(), s.opens("front", "345678")
						if opens && (now.Before(from) || !now.Before(to)) {
							t.Fatalf("opens %v after the start, %v before the end", now.Sub(from), to.Sub(now))
						}
						if !opens && now.After(from.Add(slack)) && now.Before(to.Add(-slack)) {
							t.Fatalf("does not open %v after the start, %v before the end", now.Sub(from), to.Sub(now))
						}
					}
					for _, near := range []time.Duration{-3 * time.Hour, -10 * time.Minute, -time.Minute, -time.Second, slack + time.Second, time.Hour} {
						look(from.Add(near))
					}
					s.locks.SetDrift("front", drift+7*time.Minute) // a person sets the clock at the lock
					s.pass(2 * time.Minute)                        // the bridge measures the new offset
					s.kill()
					s.start()
					for _, near := range []time.Duration{-5 * time.Hour, -10 * time.Minute, -slack - time.Second, 0, time.Second, 8 * time.Minute, 3 * time.Hour} {
						look(to.Add(near))
					}
				})
			})
		}
	}
}

func TestSlotIsReadWhenTheLockReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		s.want("front", 1, stay("345678", 0, 100*time.Hour))
		s.pass(2 * time.Minute)
		s.locks.SetOffline("front", true)
		s.pass(2 * time.Minute)
		if err := s.locks.Reset("front", false); err != nil { // a person changed the batteries
			t.Fatal(err)
		}
		s.locks.SetOffline("front", false)
		s.pass(2 * time.Minute)
		if !s.opens("front", "345678") {
			t.Error("a lock that lost its codes while it was away did not get them again")
		}
	})
}

func TestSlotsAreReadOncePerSessionNotPerReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		s.want("front", 1, stay("345678", 0, 100*time.Hour))
		s.pass(2 * time.Hour)
		s.kill()
		c := &reads{Driver: s.locks.Driver()}
		s.drv = c
		s.start()
		s.pass(time.Minute)
		for range 20 {
			driver.Signal(s.bridge.workers["front"].sessionOpened)
			s.pass(time.Minute)
		}
		if n := c.n.Load(); n != 1 {
			t.Errorf("read %d times, want once", n)
		}
		s.pass(time.Hour)
		driver.Signal(s.bridge.workers["front"].sessionOpened)
		s.pass(time.Minute)
		if n := c.n.Load(); n != 2 {
			t.Errorf("read %d times within two hours, want twice", n)
		}
	})
}

// reads counts readings of slot 1, and may leave all unanswered. Slots without a code of the server are read by the search as well.
type reads struct {
	driver.Driver
	n    atomic.Int32
	deaf atomic.Bool
}

func (d *reads) Locks(ctx context.Context) ([]driver.Lock, error) {
	locks, err := d.Driver.Locks(ctx)
	for i := range locks {
		locks[i] = readLock{locks[i], d}
	}
	return locks, err
}

type readLock struct {
	driver.Lock
	of *reads
}

func (l readLock) Read(ctx context.Context, n uint32) (driver.Content, driver.Answer) {
	if n == 1 {
		l.of.n.Add(1)
	}
	if l.of.deaf.Load() {
		return driver.Content{}, driver.Answer{Result: slot.Timeout}
	}
	return l.Lock.Read(ctx, n)
}

func TestUnreadableLockIsRetriedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		s.want("front", 1, stay("345678", 0, 1000*time.Hour))
		s.pass(time.Minute)
		s.kill()
		c := &reads{Driver: s.locks.Driver()}
		c.deaf.Store(true)
		s.drv = c
		s.start()
		s.pass(100 * time.Hour)
		if n := c.n.Load(); n > 40 {
			t.Errorf("asked %d times in 100 hours", n)
		}
		c.deaf.Store(false)
		s.locks.SetOffline("front", true)
		s.pass(2 * time.Minute)
		s.locks.SetOffline("front", false)
		n := c.n.Load()
		s.pass(2 * time.Minute)
		if c.n.Load() == n {
			t.Error("a lock that came back is not asked")
		}
	})
}

func TestUnconfirmingLockIsRetriedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.TTLock})
		s.pass(10 * time.Second)
		for range 1000 {
			if err := s.locks.Inject("front", sim.Fault{Kind: sim.Unconfirmed}); err != nil {
				t.Fatal(err)
			}
		}
		s.want("front", 1, stay("345678", 0, 1000*time.Hour))
		s.pass(24 * time.Hour)
		if n := s.locks.WriteCount("front"); n > 70 {
			t.Errorf("%d writes in a day to a lock that confirms none", n)
		}
		if o := s.observed("front", 1); o.Evidence != slot.Unconfirmed || o.Result != slot.NotConfirmed {
			t.Errorf("observed %+v", o)
		}
	})
}

func TestLowBatteryIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave, Battery: 60})
		for _, percent := range []uint32{40, 20, 19, 15} {
			s.locks.SetBattery("front", percent)
			s.pass(2 * time.Minute)
		}
		s.locks.SetBattery("front", 100)
		s.pass(2 * time.Minute)
		if got := s.journal(); len(got) != 1 || got[0].Kind != driver.BatteryLow {
			t.Errorf("journal %+v", got)
		}
	})
}

func TestAllSlotsAreReadAfterAReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		for n := range uint32(3) {
			s.want("front", n+1, stay(slot.PIN(fmt.Sprintf("34567%d", n)), 0, 100*time.Hour))
		}
		s.pass(time.Minute)
		if err := s.locks.Reset("front", true); err != nil {
			t.Fatal(err)
		}
		s.pass(10 * time.Second)
		for n := range 3 {
			if !s.opens("front", slot.PIN(fmt.Sprintf("34567%d", n))) {
				t.Errorf("code %d was not set again", n)
			}
		}
		tampered := 0
		for _, e := range s.journal() {
			if e.Kind == driver.Tampered {
				tampered++
			}
		}
		if tampered != 4 { // the reset, and each slot that it changed
			t.Errorf("%d events of tampering: %+v", tampered, s.journal())
		}
	})
}

// pairing signals that there is another lock.
type pairing struct {
	driver.Driver
	changes chan struct{}
}

func (d pairing) Changes() <-chan struct{} { return d.changes }

func TestRunEndsWhenTheListOfLocksChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		s.kill()
		changes := make(chan struct{}, 1)
		s.drv = pairing{s.locks.Driver(), changes}
		s.start()
		changes <- struct{}{}
		if err := <-s.done; err != ErrLocksChanged {
			t.Errorf("ended with %v", err)
		}
		s.done <- nil
	})
}

// A verification that finds nothing to read does not delay the next wake-up.
func TestEmptyVerificationKeepsTheNextWakeUp(t *testing.T) {
	for name, look := range map[string]func(o *lockWorker) chan struct{}{
		"a session begins":            func(o *lockWorker) chan struct{} { return o.sessionOpened },
		"the lock is in reach again":  func(o *lockWorker) chan struct{} { return o.reconnected },
		"the clock of the lock moved": func(o *lockWorker) chan struct{} { return o.clock.moved },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
				from := time.Now().Add(time.Hour)
				s.want("front", 1, slot.Desired{Intent: slot.Present, PIN: "345671", NotBefore: from, NotAfter: from.Add(time.Hour)})
				s.pass(time.Minute)
				driver.Signal(look(s.bridge.workers["front"]))
				s.pass(time.Hour)
				if !s.opens("front", "345671") {
					t.Error("the window does not open")
				}
			})
		})
	}
}
