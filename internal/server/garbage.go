package server

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How much garbage gathers before it is collected. By itself Go lets as much gather as is live, which for a process with
// little live memory and many calls is soon: a fifth of the work would be collecting.
const (
	garbageLeast = 80 << 20 // bytes, however little is live
	garbageMost  = 400      // percent of what is live
	garbageGo    = 100      // percent, Go's own
)

// TuneGarbage keeps the collector in tune with what is live, until ctx ends. It is for processes that are a server and
// nothing else, and leaves the collector alone where GOGC says what to do.
//
// It looks after each collection and not now and then: while thousands of bridges come back, what is live grows tenfold in
// seconds, and with the percentage of before the heap would grow to five times of it, in pages that stay half empty.
func TuneGarbage(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	defer debug.SetGCPercent(garbageGo)
	collected := make(chan struct{}, 1)
	for set := 0; ; {
		if percent := garbagePercent(live()); percent != set {
			debug.SetGCPercent(percent)
			set = percent
		}
		whenCollected(collected)
		select {
		case <-ctx.Done():
			return
		case <-collected:
		}
	}
}

// sentinel is garbage at once: what is done when it goes is done after the next collection.
type sentinel struct{ _ *sentinel }

// whenCollected sends on c, which has room, after the next collection.
func whenCollected(c chan<- struct{}) {
	runtime.AddCleanup(new(sentinel), func(c chan<- struct{}) { c <- struct{}{} }, c)
}

// live is how many bytes the last collection found in use.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// garbagePercent is the collector's setting for so many live bytes.
func garbagePercent(live uint64) int {
	if live == 0 {
		return garbageMost
	}
	return int(min(max(garbageLeast*100/live, garbageGo), garbageMost))
}
