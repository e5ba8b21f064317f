package server

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Limits of the garbage that may accumulate before a collection. By default Go collects when the heap has doubled. In a process with a
// small live heap and many calls, this takes a fifth of the CPU.
const (
	heapLeast   = 144 << 20 // bytes of heap, live and garbage, below which no collection starts unless garbageMost is reached
	garbageMost = 1000      // maximum garbage in percent of the live heap
	garbageGo   = 100       // Go's default of GOGC in percent
)

// TuneGarbage adjusts GOGC to the size of the live heap until ctx ends, and then restores Go's default. It is for processes that run only a
// server. If the environment sets GOGC, it returns at once.
//
// It adjusts after each collection, not at intervals. When thousands of bridges reconnect, the live heap grows tenfold within seconds, and
// with the former percentage the heap would grow to five times that.
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

// sentinel is an object that becomes garbage at once, so that its cleanup runs after the next garbage collection.
type sentinel struct{ _ *sentinel }

// whenCollected sends one value on c after the next garbage collection. The channel needs free room, because the send must not block.
func whenCollected(c chan<- struct{}) {
	runtime.AddCleanup(new(sentinel), func(c chan<- struct{}) { c <- struct{}{} }, c)
}

// live returns the bytes of heap that were in use after the last garbage collection; 0: unknown.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// garbagePercent returns the GOGC percentage for a number of live bytes: the more bytes, the less, from garbageMost down to garbageGo.
// Garbage between the data of thousands of streams would leave pages that are never empty. 0 bytes means unknown, and gives garbageMost.
func garbagePercent(live uint64) int {
	if live == 0 {
		return garbageMost
	}
	garbage := max(heapLeast, live) - live
	return int(min(max(garbage*100/live, garbageGo), garbageMost))
}
