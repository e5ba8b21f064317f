package bench

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/status"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// Phases of the graceful stop of a server. An unlock command belongs to the phase in which it was sent.
const (
	before = iota
	during
	after
)

// unlockLoad sends unlock commands at a fixed rate, without waiting for earlier ones, and counts their results.
type unlockLoad struct {
	pair      *serverPair
	owner     *owner
	phase     atomic.Int32
	skipFirst atomic.Bool // commands are no longer sent to the first server
	all       sync.WaitGroup

	mu         sync.Mutex
	took       [after + 1][]float64 // durations in milliseconds of the commands that opened a door, by phase
	toDraining int                  // number of commands sent to the first server while it was stopping
	failed     map[string]int       // number of commands that failed, by result or error code
}

// sendSteadily sends an unlock command at each interval until ctx ends, even if earlier ones still run: to the two servers in turn or, once
// skipFirst is set, only to the second. It does not retry. The end of ctx does not cancel commands that still run.
func (k *unlockLoad) sendSteadily(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		server := 1
		if n%2 == 0 && !k.skipFirst.Load() {
			server = 0
		}
		k.all.Go(func() { k.sendUnlock(context.WithoutCancel(ctx), server) })
	}
}

// sendUnlock sends an unlock command for a random lock to a server, 0 or 1, and records its outcome: the duration if the door opened,
// otherwise a failure. An error is also printed.
func (k *unlockLoad) sendUnlock(ctx context.Context, server int) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	phase, began := k.phase.Load(), time.Now()
	locks := propertyv1.NewLockServiceClient(k.pair.front[server])
	a, err := locks.UnlockLock(k.owner.withToken(ctx), &propertyv1.UnlockLockRequest{Id: k.owner.locks[rand.IntN(len(k.owner.locks))]})
	took := milliseconds(time.Since(began))
	k.mu.Lock()
	defer k.mu.Unlock()
	if phase == during && server == 0 {
		k.toDraining++
	}
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "an unlock at server %d failed after %.0f ms: %v\n", server+1, took, err)
		k.failed[status.Code(err).String()]++
	case a.GetData().GetResult() != "opened":
		k.failed[a.GetData().GetResult()]++
	default:
		k.took[phase] = append(k.took[phase], took)
	}
}

// result summarizes the outcomes of all commands. The caller sets its value and calls finish. No command should fail.
func (k *unlockLoad) result() *Result {
	r := &Result{Name: "fleet --drain", Unit: "s", Rounds: 1}
	r.P50, r.P99 = quantile(k.took[during], 0.5), quantile(k.took[during], 0.99)
	waited := 0
	for _, ms := range k.took[during] {
		if ms > 250 {
			waited++
		}
	}
	failed := 0
	for _, how := range slices.Sorted(maps.Keys(k.failed)) {
		r.note("unlocks that ended "+how, float64(k.failed[how]), "")
		failed += k.failed[how]
	}
	r.note("doors opened before", float64(len(k.took[before])), "")
	r.note("p99 before", quantile(k.took[before], 0.99), "ms")
	r.note("doors opened by commands sent during the drain", float64(len(k.took[during])), "")
	r.note("commands sent to the draining server", float64(k.toDraining), "")
	r.note("doors opened during the drain after more than 250 ms", float64(waited), "")
	r.note("the longest during the drain", quantile(k.took[during], 1), "ms")
	r.note("doors opened after", float64(len(k.took[after])), "")
	r.atMost("unlocks that failed", float64(failed), 0)
	return r
}
