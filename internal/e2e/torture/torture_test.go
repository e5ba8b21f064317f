package torture

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"latchkey.dev/internal/e2e/program"
	"latchkey.dev/internal/test/dbtest"
)

func TestMain(m *testing.M) { program.Main(m) }

// setting reads a number from the environment.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	value, set := os.LookupEnv(name)
	if !set || value == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		t.Fatalf("%s=%q: want a number", name, value)
	}
	return n
}

// engine is where the server keeps its data: LATCHKEY_TORTURE_ENGINE, sqlite or postgres.
func engine(t *testing.T) string {
	t.Helper()
	name := os.Getenv("LATCHKEY_TORTURE_ENGINE")
	if name == "" {
		return "sqlite"
	}
	if name != "sqlite" && name != "postgres" {
		t.Fatalf("LATCHKEY_TORTURE_ENGINE=%q: want sqlite or postgres", name)
	}
	return name
}

// TestTorture is `make torture SECONDS= SEED=`; without settings, a short run of one seed.
func TestTorture(t *testing.T) {
	seconds, seed := setting(t, "LATCHKEY_TORTURE_SECONDS", 40), setting(t, "LATCHKEY_TORTURE_SEED", 1)
	on := engine(t)
	w := newWorld(t, seed, on, dbtest.URL(t, on))
	for n := range stayCount {
		w.stays = append(w.stays, w.newStay(n))
	}
	w.chaos(time.Duration(seconds) * time.Second)
	w.endAllFaults()
	w.fillDoorsWithoutLock()
	w.awaitRest(t.Context())
	w.readBack(t.Context())
	w.readBackStaff(t.Context())
	w.checkRemoteUnlocks()
	for _, s := range w.stays {
		s.mu.Lock()
		w.checkExplanation(t.Context(), s, true)
		s.mu.Unlock()
	}
	w.checkAllLocks(t.Context())
	t.Logf("seed %d, %d s: %v", seed, seconds, &w.count)
	if n, lines := w.report.total(); n > 0 {
		t.Errorf("%d violations:%s\nrepeat with: make torture SECONDS=%d SEED=%d ENGINE=%s", n, lines, seconds, seed, on)
	}
	for _, s := range w.sites {
		w.failOnError(s.bridge.Stop())
	}
	w.failOnError(w.server.Stop())
}

// chaos runs all actors and faults concurrently for a time. Each has its own source of randomness, derived from the seed.
func (w *world) chaos(d time.Duration) {
	w.faultDuration = max(d, time.Second)
	ctx, cancel := context.WithTimeout(w.t.Context(), d)
	defer cancel()
	var all sync.WaitGroup
	who := uint64(0)
	start := func(run func(context.Context, *rand.Rand)) {
		who++
		rng := rand.New(rand.NewPCG(w.seed, who))
		all.Go(func() { run(ctx, rng) })
	}
	for range 3 {
		start(w.simulatePMS)
		start(w.simulateGuests)
	}
	start(w.simulateStaff)
	start(func(ctx context.Context, rng *rand.Rand) { w.simulateExplainReaders(ctx, rng.IntN) })
	start(w.simulateUnlocks)
	start(w.killServerRepeatedly)
	for _, s := range w.sites {
		start(func(ctx context.Context, rng *rand.Rand) { w.injectLinkFaults(ctx, s, rng) })
		for range 2 {
			start(func(ctx context.Context, rng *rand.Rand) { w.disturbLocks(ctx, s, rng) })
		}
	}
	all.Wait()
}
