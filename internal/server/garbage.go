package server

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How much garbage may accumulate before a collection. Go's default is as much as is live. For a process with little live memory
// and many calls, that costs a fifth of the CPU.
const (
	garbageLeast = 80 << 20 // bytes, however little is live
	garbageMost  = 400      // percent of what is live
	garbageGo    = 100      // percent, Go's own
)

// TuneGarbage adjusts the garbage collector to the size of the live heap, until ctx ends. It is for processes that only run a
// server. It does nothing if GOGC is set.
//
// It adjusts after each collection, not at intervals: while thousands of bridges reconnect, the live heap grows tenfold within
// seconds. With the former percentage the heap would grow to five times that, in pages that stay half empty.
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

// sentinel is garbage from the start, so that its cleanup runs after the next collection.
type sentinel struct{ _ *sentinel }

// whenCollected sends on c, which has room, after the next collection.
func whenCollected(c chan<- struct{}) {
	runtime.AddCleanup(new(sentinel), func(c chan<- struct{}) { c <- struct{}{} }, c)
}

// live returns how many bytes the last collection found in use.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// garbagePercent returns the percentage for a number of live bytes.
func garbagePercent(live uint64) int {
	if live == 0 {
		return garbageMost
	}
	return int(min(max(garbageLeast*100/live, garbageGo), garbageMost))
}
