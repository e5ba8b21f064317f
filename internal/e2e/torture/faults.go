package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/proxytest"
)

// calmOdds are the probabilities, from 0 to 1, of random faults of each lock operation during the whole run. The faults that disturbLock
// and killBridge inject are additional.
var calmOdds = sim.Odds{Lost: 0.02, LostAck: 0.02, Late: 0.03, Busy: 0.02, Offline: 0.01}

// recordFault adds a fault of the bridge or its network to the stories (logs) of all locks at the site.
func (s *site) recordFault(w *world, format string, args ...any) {
	w.count.add("link faults and kills", 1)
	for _, l := range w.locks {
		if l.site == s {
			l.story.add(w.began, "bridge "+s.name+" "+format, args...)
		}
	}
}

// injectLinkFaults disturbs a bridge's process and network until ctx ends.
func (w *world) injectLinkFaults(ctx context.Context, s *site, rng *rand.Rand) {
	for ctx.Err() == nil {
		clock.Sleep(ctx, time.Duration(500+rng.IntN(5000))*time.Millisecond)
		lasts := time.Duration(200+rng.IntN(8000)) * time.Millisecond
		switch n := rng.IntN(20); {
		case n < 5:
			c := proxytest.Cut{Way: proxytest.Direction(rng.IntN(2)), After: rng.IntN(8)}
			s.recordFault(w, "link: cut after %d records of way %d", c.After, c.Way)
			s.link.Cut(c)
		case n < 8:
			ways := [][]proxytest.Direction{{proxytest.Up}, {proxytest.Down}, {proxytest.Up, proxytest.Down}}[rng.IntN(3)]
			if rng.IntN(12) == 0 {
				lasts = 55 * time.Second // longer than bridge and service need to notice the fault
			}
			s.recordFault(w, "link: records of ways %v are dropped for %v", ways, lasts)
			s.link.Drop(ways...)
			clock.Sleep(ctx, lasts)
		case n < 10:
			way := proxytest.Direction(rng.IntN(2))
			s.recordFault(w, "link: way %d is half closed", way)
			s.link.HalfClose(way)
			clock.Sleep(ctx, lasts/4)
		case n < 12:
			d := time.Duration(20+rng.IntN(400)) * time.Millisecond
			s.recordFault(w, "link: each record is delayed by %v for %v", d, lasts)
			s.link.Delay(d)
			clock.Sleep(ctx, lasts)
		case n < 14:
			s.recordFault(w, "link: refused for %v", lasts)
			s.link.Refuse()
			clock.Sleep(ctx, lasts)
		default:
			w.killBridge(ctx, s, rng)
		}
		s.link.EndFaults()
	}
}

// killBridge kills a bridge and restarts it up to four seconds later. In three of four cases it makes the next operation of each lock late,
// and waits up to three seconds for one that has timed out at the bridge, because the lock may still execute that operation.
func (w *world) killBridge(ctx context.Context, s *site, rng *rand.Rand) {
	inFlight := ""
	if rng.IntN(4) > 0 {
		for _, l := range w.locks {
			if l.site == s {
				_ = s.locks.Inject(l.address, sim.Fault{Kind: sim.Late, After: time.Duration(500+rng.IntN(1300)) * time.Millisecond})
			}
		}
		for len(s.lateOps) > 0 {
			<-s.lateOps
		}
		select {
		case inFlight = <-s.lateOps:
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
		}
	}
	s.manualChanges.Lock()
	defer s.manualChanges.Unlock()
	s.recordFault(w, "is killed; in flight: %q", inFlight)
	s.bridge.Kill()
	s.recordKill(time.Now())
	w.count.add("bridge kills", 1)
	if inFlight != "" {
		w.count.add("bridge kills with an operation in flight", 1)
	}
	clock.Sleep(ctx, time.Duration(rng.IntN(rng.IntN(4000)+1))*time.Millisecond)
	w.startBridge(s)
}

// startBridge starts the bridge of a site, and reports a violation if it does not start.
func (w *world) startBridge(s *site) {
	if err := s.bridge.Start(context.Background()); err != nil {
		w.report.add("a bridge does not start", s.name, err.Error())
	}
	s.recordFault(w, "is started")
}

// killServerRepeatedly kills and restarts the server at random times until ctx ends or the server does not start. After each restart it
// checks that every acknowledged change is still stored.
func (w *world) killServerRepeatedly(ctx context.Context, rng *rand.Rand) {
	for {
		clock.Sleep(ctx, 4*time.Second+time.Duration(rng.Int64N(int64(min(w.faultDuration/4, 40*time.Second)))))
		if ctx.Err() != nil {
			return
		}
		for _, s := range w.sites {
			s.recordFault(w, "loses the server: it is killed")
		}
		w.server.Kill()
		w.count.add("server kills", 1)
		clock.Sleep(ctx, time.Duration(rng.IntN(2000))*time.Millisecond)
		if err := w.server.Start(context.Background()); err != nil {
			w.report.add("the server does not start", "", err.Error())
			return
		}
		w.readBack(context.Background())
		w.readBackStaff(context.Background())
	}
}

// disturbLocks disturbs the locks of a site until ctx ends, a random one at a time: see disturbLock.
func (w *world) disturbLocks(ctx context.Context, s *site, rng *rand.Rand) {
	var locks []*lockState
	for _, l := range w.locks {
		if l.site == s {
			locks = append(locks, l)
		}
	}
	for n := 0; ctx.Err() == nil; n++ {
		clock.Sleep(ctx, time.Duration(300+rng.IntN(1500))*time.Millisecond)
		w.count.add("disturbances of locks", 1)
		w.disturbLock(ctx, s, locks[rng.IntN(len(locks))], rng)
	}
}

// operationFaults are the faults that disturbLock can inject into a lock's next operation.
var operationFaults = []sim.FaultKind{sim.Lost, sim.LostAck, sim.Late, sim.Offline, sim.Busy, sim.Unconfirmed, sim.Hang, sim.Jammed, sim.LowPower,
	sim.Duplicate, sim.FalseDuplicate, sim.Occupied, sim.Full, sim.ClockUntrusted, sim.Lost, sim.Late}

// disturbLock applies one random disturbance to a lock: offline, jammed, low battery, a wrong clock, a code change at the keypad, or a
// fault of the next operation. It ends the first three itself, after at most seven seconds, before it returns. The wrong clock and the code
// change stay.
func (w *world) disturbLock(ctx context.Context, s *site, l *lockState, rng *rand.Rand) {
	h, lasts := s.locks, time.Duration(200+rng.IntN(6000))*time.Millisecond
	note := func(format string, args ...any) { l.story.add(w.began, format, args...) }
	switch rng.IntN(14) {
	case 0, 1:
		note("is offline for %v", lasts)
		h.SetOffline(l.address, true)
		clock.Sleep(ctx, lasts)
		h.SetOffline(l.address, false)
		note("is online again")
	case 2:
		note("jams for %v", lasts)
		h.SetJammed(l.address, true)
		clock.Sleep(ctx, lasts)
		h.SetJammed(l.address, false)
		note("is no longer jammed")
	case 3:
		percent := rng.Uint32N(8)
		note("has %d %% of battery for %v", percent, lasts)
		h.SetBattery(l.address, percent)
		clock.Sleep(ctx, lasts)
		h.SetBattery(l.address, 100)
		note("has a new battery")
	case 4:
		drift := time.Duration(rng.Int64N(int64(2*maxDrift))) - maxDrift
		note("has a clock that is wrong by %v", drift)
		h.SetDrift(l.address, drift)
	case 5, 6:
		w.changeSlotByHand(ctx, s, l, rng)
	default:
		f := sim.Fault{Kind: operationFaults[rng.IntN(len(operationFaults))], After: time.Duration(rng.IntN(1500)) * time.Millisecond}
		note("gets the fault %s at its next operation", f.Kind)
		_ = h.Inject(l.address, f)
	}
}

// changeSlotByHand overwrites or clears an occupied slot at the lock itself, resets the lock, or does nothing. It does not use free slots:
// a lock reports that a code of the service is removed, but not that a code is added.
func (w *world) changeSlotByHand(ctx context.Context, s *site, l *lockState, rng *rand.Rand) {
	s.manualChanges.Lock()
	defer s.manualChanges.Unlock()
	held := s.locks.Slots(l.address)
	pin := fmt.Sprintf("%d", 333_333+rng.IntN(600_000))
	err := l.changeByHand(func() error {
		switch n := rng.IntN(6); {
		case n == 0:
			l.story.add(w.began, "is reset to factory by hand, and reports it")
			return s.locks.Reset(l.address, true)
		case n < 4 && len(held) > 0:
			number := held[rng.IntN(len(held))].Slot
			if n == 1 {
				pin = ""
			}
			l.story.add(w.began, "slot %d is set to %q by hand, and reports it", number, pin)
			return s.locks.Program(l.address, number, slot.PIN(pin))
		}
		return nil
	})
	if err != nil {
		w.report.add("a change by hand failed", l.address, err.Error())
	}
	clock.Sleep(ctx, reportStoreTime)
}

// endAllFaults ends all faults of the networks and the locks.
func (w *world) endAllFaults() {
	for _, s := range w.sites {
		s.link.EndFaults()
		s.locks.RepairAll()
		s.recordFault(w, "link and locks have no fault any more")
	}
}
