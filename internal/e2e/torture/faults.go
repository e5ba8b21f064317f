package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/lock/slot"
)

// calmOdds are the faults that every operation may meet while the run goes on.
var calmOdds = sim.Odds{Lost: 0.02, LostAck: 0.02, Late: 0.03, Busy: 0.02, Offline: 0.01}

// tell notes a fault in the stories of all locks of a site.
func (s *site) tell(w *world, format string, args ...any) {
	w.count.add("link faults and kills", 1)
	for _, l := range w.locks {
		if l.site == s {
			l.story.add(w.began, "bridge "+s.name+" "+format, args...)
		}
	}
}

// breakLink disturbs a bridge and its link until ctx ends.
func (w *world) breakLink(ctx context.Context, s *site, rng *rand.Rand) {
	for ctx.Err() == nil {
		pause(ctx, time.Duration(500+rng.IntN(5000))*time.Millisecond)
		for8 := time.Duration(200+rng.IntN(8000)) * time.Millisecond
		switch n := rng.IntN(20); {
		case n < 5:
			c := e2etest.Cut{Way: e2etest.Direction(rng.IntN(2)), After: rng.IntN(8)}
			s.tell(w, "link: cut after %d records of way %d", c.After, c.Way)
			s.link.Cut(c)
		case n < 8:
			ways := [][]e2etest.Direction{{e2etest.Up}, {e2etest.Down}, {e2etest.Up, e2etest.Down}}[rng.IntN(3)]
			if rng.IntN(12) == 0 {
				for8 = 55 * time.Second // longer than both sides need to notice
			}
			s.tell(w, "link: a black hole of ways %v for %v", ways, for8)
			s.link.Swallow(ways...)
			pause(ctx, for8)
		case n < 10:
			way := e2etest.Direction(rng.IntN(2))
			s.tell(w, "link: way %d is half closed", way)
			s.link.HalfClose(way)
			pause(ctx, for8/4)
		case n < 12:
			d := time.Duration(20+rng.IntN(400)) * time.Millisecond
			s.tell(w, "link: each record is delayed by %v for %v", d, for8)
			s.link.Delay(d)
			pause(ctx, for8)
		case n < 14:
			s.tell(w, "link: refused for %v", for8)
			s.link.Refuse()
			pause(ctx, for8)
		default:
			w.killBridge(ctx, s, rng)
		}
		s.link.Heal()
	}
}

// killBridge kills a bridge, mostly while operations are in the air that land after its restart.
func (w *world) killBridge(ctx context.Context, s *site, rng *rand.Rand) {
	air := ""
	if rng.IntN(4) > 0 {
		for _, l := range w.locks {
			if l.site == s {
				_ = s.house.Inject(l.address, sim.Fault{Kind: sim.Late, After: time.Duration(500+rng.IntN(1300)) * time.Millisecond})
			}
		}
		for len(s.aired) > 0 {
			<-s.aired
		}
		select {
		case air = <-s.aired:
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
		}
	}
	s.hands.Lock()
	defer s.hands.Unlock()
	s.tell(w, "is killed; in the air: %q", air)
	s.bridge.Kill()
	s.killedAt(time.Now())
	w.count.add("bridge kills", 1)
	if air != "" {
		w.count.add("bridge kills with an operation in the air", 1)
	}
	pause(ctx, time.Duration(rng.IntN(rng.IntN(4000)+1))*time.Millisecond)
	w.startBridge(s)
}

func (w *world) startBridge(s *site) {
	if err := s.bridge.Start(context.Background()); err != nil {
		w.report.add("a bridge does not start", s.name, err.Error())
	}
	s.tell(w, "is started")
}

// killServer kills the server now and then, and compares what it acknowledged with what it has.
func (w *world) killServer(ctx context.Context, rng *rand.Rand) {
	for {
		pause(ctx, 4*time.Second+time.Duration(rng.Int64N(int64(min(w.lasts/4, 40*time.Second)))))
		if ctx.Err() != nil {
			return
		}
		for _, s := range w.sites {
			s.tell(w, "loses the server: it is killed")
		}
		w.server.Kill()
		w.count.add("server kills", 1)
		pause(ctx, time.Duration(rng.IntN(2000))*time.Millisecond)
		if err := w.server.Start(context.Background()); err != nil {
			w.report.add("the server does not start", "", err.Error())
			return
		}
		w.readBack(context.Background())
		w.readBackStaff(context.Background())
	}
}

// meddle does things to the locks of a site until ctx ends.
func (w *world) meddle(ctx context.Context, s *site, rng *rand.Rand) {
	var locks []*lockState
	for _, l := range w.locks {
		if l.site == s {
			locks = append(locks, l)
		}
	}
	for n := 0; ctx.Err() == nil; n++ {
		pause(ctx, time.Duration(300+rng.IntN(1500))*time.Millisecond)
		w.count.add("deeds at locks", 1)
		w.deed(ctx, s, locks[rng.IntN(len(locks))], rng)
	}
}

// failures are what the next operation of a lock may meet.
var failures = []sim.FaultKind{sim.Lost, sim.LostAck, sim.Late, sim.Offline, sim.Busy, sim.Unconfirmed, sim.Hang, sim.Jammed, sim.LowPower,
	sim.Duplicate, sim.FalseDuplicate, sim.Occupied, sim.Full, sim.ClockUntrusted, sim.Lost, sim.Late}

// deed does one thing to a lock. What lasts is put right within seconds.
func (w *world) deed(ctx context.Context, s *site, l *lockState, rng *rand.Rand) {
	h, while := s.house, time.Duration(200+rng.IntN(6000))*time.Millisecond
	note := func(format string, args ...any) { l.story.add(w.began, format, args...) }
	switch rng.IntN(14) {
	case 0, 1:
		note("goes off the air for %v", while)
		h.SetOffline(l.address, true)
		pause(ctx, while)
		h.SetOffline(l.address, false)
		note("is on the air again")
	case 2:
		note("jams for %v", while)
		h.SetJammed(l.address, true)
		pause(ctx, while)
		h.SetJammed(l.address, false)
		note("is free again")
	case 3:
		percent := rng.Uint32N(8)
		note("has %d %% of battery for %v", percent, while)
		h.SetBattery(l.address, percent)
		pause(ctx, while)
		h.SetBattery(l.address, 100)
		note("has a new battery")
	case 4:
		drift := time.Duration(rng.Int64N(int64(2*maxDrift))) - maxDrift
		note("has a clock that is wrong by %v", drift)
		h.SetDrift(l.address, drift)
	case 5, 6:
		w.byHand(ctx, s, l, rng)
	default:
		f := sim.Fault{Kind: failures[rng.IntN(len(failures))], After: time.Duration(rng.IntN(1500)) * time.Millisecond}
		note("will meet %s at its next operation", f.Kind)
		_ = h.Inject(l.address, f)
	}
}

// byHand changes a slot at the lock itself. The lock reports the removal of a service's code, but not a new code in a free slot.
func (w *world) byHand(ctx context.Context, s *site, l *lockState, rng *rand.Rand) {
	s.hands.Lock()
	defer s.hands.Unlock()
	held := s.house.Slots(l.address)
	pin := fmt.Sprintf("%d", 333_333+rng.IntN(600_000))
	err := l.byHand(func() error {
		switch n := rng.IntN(6); {
		case n == 0:
			l.story.add(w.began, "is reset to factory by hand, and tells")
			return s.house.Reset(l.address, true)
		case n < 4 && len(held) > 0:
			number := held[rng.IntN(len(held))].Slot
			if n == 1 {
				pin = ""
			}
			l.story.add(w.began, "slot %d is set to %q by hand, and tells", number, pin)
			return s.house.Program(l.address, number, slot.PIN(pin))
		}
		return nil
	})
	if err != nil {
		w.report.add("a deed at a lock failed", l.address, err.Error())
	}
	pause(ctx, storing)
}

// heal puts everything right.
func (w *world) heal() {
	for _, s := range w.sites {
		s.link.Heal()
		s.house.RepairAll()
		s.tell(w, "link and locks are whole again")
	}
}
