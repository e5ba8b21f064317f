package agent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// A week of random trouble at a lock: faults, silence, dead batteries, jams, codes cleared by hand, power cuts at the bridge, and changing
// stays. At every check, the slots that are reported as confirmed must be right. After the trouble the lock must hold the desired codes.
func TestAWeekOfRandomFaults(t *testing.T) {
	for seed, profile := range []string{sim.ZWave, sim.ZWaveUser, sim.Matter, sim.Zigbee2MQTT, sim.TTLock, sim.Nuki} {
		t.Run(profile, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { week(t, profile, uint64(seed)) })
		})
	}
}

func week(t *testing.T, profile string, seed uint64) {
	const long = 7 * 24 * time.Hour
	s := newSite(t, sim.Spec{Address: "front", Profile: profile, Latency: 100 * time.Millisecond})
	script := slices.DeleteFunc(sim.RandomScript(seed, []string{"front"}, 120, long), func(m sim.Move) bool {
		blind := !sim.Profiles()[profile].Capabilities.ReadBack
		return m.Deed == sim.Drifts || (m.Deed == sim.IsQuiet && blind) // has a test of its own; it cannot be known
	})
	began := time.Now()
	played := make(chan error, 1)
	go func() { played <- s.locks.Play(t.Context(), script) }()
	rng := rand.New(rand.NewPCG(seed, 3))
	want := map[uint32]slot.PIN{}
	for i := range 120 {
		s.pass(time.Duration(rng.Int64N(int64(long / 130))))
		switch n := 1 + rng.Uint32N(5); rng.IntN(6) {
		case 0:
			s.kill()
			s.start()
		case 1, 2:
			s.want("front", n, gone)
			delete(want, n)
		default:
			want[n] = slot.PIN(fmt.Sprintf("%d%05d", 4+n, 34567+i*11))
			if sim.Profiles()[profile].Capabilities.CheckPIN(want[n]) != "" {
				want[n] = slot.PIN(fmt.Sprintf("%d%d%d%d%d%d", 4+n, 1+i%9, 1+i/9%9, 3+i%7, 5, 7))
			}
			s.want("front", n, stay(want[n], 0, 1000*time.Hour))
		}
		s.truthfulBut(want, meddled(script, time.Since(began)))
	}
	s.pass(time.Until(began.Add(long)) + 8*time.Hour)
	if err := <-played; err != nil {
		t.Fatal(err)
	}
	s.truthfulBut(want, nil)
	got := map[uint32]slot.PIN{}
	for _, c := range s.locks.Slots("front") {
		got[c.Slot] = c.PIN
	}
	if !cmp.Equal(want, got) {
		t.Errorf("slots wanted %d, on the lock %d, or other codes in them", len(want), len(got))
	}
	for n := range s.gen {
		if o := s.observed("front", n); o.Generation != s.gen[n] || !o.Evidence.ConfirmedByLock() {
			t.Errorf("slot %d generation %d: observed %+v", n, s.gen[n], o)
		}
	}
}

// meddled are the slots that were emptied at the lock within the day before: this cannot be known until the lock
// was in reach and read.
func meddled(script []sim.Move, now time.Duration) map[uint32]bool {
	out := map[uint32]bool{}
	for _, m := range script {
		if at := time.Duration(m.At); m.Deed == sim.IsQuiet && at <= now && now-at < 24*time.Hour {
			out[m.Slot] = true
		}
	}
	return out
}

// truthfulBut is truthful for all slots except some.
func (s *site) truthfulBut(want map[uint32]slot.PIN, but map[uint32]bool) {
	s.t.Helper()
	synctest.Wait()
	in := map[uint32]slot.PIN{}
	for _, c := range s.locks.Slots("front") {
		in[c.Slot] = c.PIN
	}
	for n, gen := range s.gen {
		o := s.observed("front", n)
		if o.Generation == gen && o.Evidence.ConfirmedByLock() && in[n] != want[n] && !but[n] {
			s.t.Fatalf("slot %d generation %d is reported as settled and is not", n, gen)
		}
	}
}
