package simulation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
)

var seedFlag = flag.Uint64("seed", 0, "play this world alone")

const locksPerBridge = 10

// newWorld builds a property of bridges and locks of all profiles, and what is going to go wrong.
func newWorld(seed uint64, locks int) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), now: start}
	profiles := sim.Profiles()
	names := []string{sim.ZWave, sim.ZWaveUser, sim.Matter, sim.Zigbee2MQTT, sim.Nuki, sim.TTLock}
	for n := range locks {
		if n%locksPerBridge == 0 {
			w.bridges = append(w.bridges, w.newBridge())
		}
		b := w.bridges[len(w.bridges)-1]
		l := newLock(w, b, n, profiles[names[n%len(names)]])
		b.locks = append(b.locks, l)
		w.locks = append(w.locks, l)
		l.live(40 * time.Minute)
		l.touch(30 * time.Hour)
		l.lapse(4 * time.Hour)
	}
	for _, b := range w.bridges {
		b.trouble(30*time.Minute, func() { w.count.cuts++; b.disconnect(); b.reconnect() })
		b.trouble(3*time.Hour, b.kill)
		b.reconnect()
		w.after(w.between(0, 5*time.Minute), b.resend)
	}
	w.bridges[0].trouble(6*time.Hour, w.killServer)
	return w
}

func (w *world) newBridge() *bridge {
	b := &bridge{world: w, alive: true}
	if w.rng.IntN(3) > 0 { // most clocks are set by the network
		return b
	}
	b.skew = w.between(-90*time.Second, 90*time.Second)
	b.drift = (w.rng.Float64() - 0.5) * 2e-4
	return b
}

// heal ends all trouble: the network, the locks and the bridges are well from here on.
func (w *world) heal() {
	w.calm = true
	for _, l := range w.locks {
		l.offline = time.Time{}
	}
	for _, b := range w.bridges {
		b.restart()
		b.reconnect()
	}
}

// unsettled lists those of some slots that do not hold what is desired, or of which the server does not know it.
func (w *world) unsettled(asked func(*lock, int) bool) []string {
	var out []string
	for _, l := range w.locks {
		for i := 1; i <= slotsUsed; i++ {
			if asked(l, i) && !l.settled(i) {
				s, p := l.slots[i].server, l.slots[i]
				b, _ := l.state.Slot(uint32(i))
				out = append(out, fmt.Sprintf("lock %d (%s) slot %d: %v; observed generation %d %s %s present %v; called %s; touches %d seen %d reported %d; held %d; code of generation %d there",
					l.number, l.profile.Name, i, s.Desired, s.Observed.Generation, s.Observed.Evidence, s.Observed.Result, s.Observed.Present,
					publicEvidence(s, w.now), p.touches, p.noticed, p.reported, b.Content.Kind, p.cell.generation))
			}
		}
	}
	return out
}

// seeds are the worlds to play: all of them, or the seed of the flag.
func seeds(from, to uint64) []uint64 {
	if *seedFlag != 0 {
		return []uint64{*seedFlag}
	}
	var out []uint64
	for s := from; s <= to; s++ {
		out = append(out, s)
	}
	return out
}

// holds fails the test with the world's story and how to play it again.
func (w *world) holds(t *testing.T, seed uint64) {
	t.Helper()
	if w.broken != "" {
		t.Fatalf("%s\n%s", w.broken, again(t, seed))
	}
}

// again is the command that replays a world.
func again(t *testing.T, seed uint64) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return fmt.Sprintf("play it again: go test ./internal/simulation -run '^%s$' -seed %d", name, seed)
}

// wild fails a world in which something did not happen that it is about.
func (c counts) wild(t *testing.T, locks int) {
	t.Helper()
	if least := []int{c.landed, c.edits, c.silent, c.late, c.verified, c.removed}; slices.Min(least) < locks {
		t.Errorf("the world was too tame: %+v", c)
	}
	if rare := []int{c.cuts, c.kills, c.serverKills, c.oldReports, c.touches, c.refused}; slices.Min(rare) == 0 {
		t.Errorf("the world was too tame: %+v", c)
	}
}

// Safety: faults all the time, for a week, over 500 locks in five properties. Not one false word.
func TestAWeekOfFaults(t *testing.T) {
	t.Parallel()
	const locks = 100
	for _, seed := range seeds(1, 5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(seed, locks)
			w.run(start.Add(7 * 24 * time.Hour))
			w.holds(t, seed)
			w.count.wild(t, locks)
			t.Logf("%+v", w.count)
		})
	}
}

// The bound of liveness: a lock's own retries (5 min at most), the sweep (5 min), and the operations
// themselves; six hours more if only a reading shows a change by hand.
const (
	converges       = 12 * time.Minute
	convergesByRead = 6*time.Hour + converges
)

// Liveness: after two days of faults they end, and every slot converges to what is desired.
func TestEverythingConvergesWhenTheFaultsEnd(t *testing.T) {
	t.Parallel()
	const locks = 30
	for _, seed := range seeds(1, 12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(seed, locks)
			w.run(start.Add(48 * time.Hour))
			w.heal()
			w.run(w.now.Add(converges))
			w.holds(t, seed)
			soon := func(l *lock, i int) bool { return l.slots[i].reported >= l.slots[i].touches }
			if slow := w.unsettled(soon); len(slow) > 0 {
				t.Errorf("after %v: %q\n%s", converges, slow, again(t, seed))
			}
			w.run(w.now.Add(convergesByRead - converges))
			w.holds(t, seed)
			if late := w.unsettled(func(*lock, int) bool { return true }); len(late) > 0 {
				t.Errorf("after %v: %q\n%s", convergesByRead, late, again(t, seed))
			}
		})
	}
}

// A world that no fence can hold, since its locks break their promise, breaks; its seed breaks it again, word for word.
func TestAFailingSeedReplays(t *testing.T) {
	t.Parallel()
	const locks = 20
	play := func(seed uint64) (string, counts) {
		w := newWorld(seed, locks)
		w.lingers = true
		w.run(start.Add(7 * 24 * time.Hour))
		return w.broken, w.count
	}
	for seed := uint64(1); seed <= 3; seed++ {
		first, count := play(seed)
		if first == "" {
			t.Fatalf("seed %d: operations that land after their time were not noticed: %+v", seed, count)
		}
		if again, counted := play(seed); again != first || counted != count {
			t.Errorf("seed %d broke otherwise the second time:\n%s\n%s", seed, first, again)
		}
	}
}
