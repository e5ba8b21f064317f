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
	heapLeast     = 144 << 20 // bytes of heap, live and garbage, below which no collection starts unless garbageMost is reached
	heapSteady    = 320 << 20 // the same with garbageSteady, while the live heap does not grow
	garbageMost   = 1000      // maximum garbage in percent of the live heap
	garbageSteady = 300       // maximum garbage in percent of a live heap that does not grow, above heapLeast
	garbageGo     = 100       // Go's default of GOGC in percent
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
	for set, before := 0, uint64(0); ; {
		now := live()
		if percent := garbagePercent(now, before); percent != set {
			debug.SetGCPercent(percent)
			set = percent
		}
		before = now
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

// garbagePercent returns the GOGC percentage for a number of live bytes and the number after the collection before; 0 live bytes mean
// unknown. The more bytes are live, the less garbage: from garbageMost down to garbageGo. While the live heap grows by more than an eighth,
// the heap is kept small: garbage between the data of thousands of new streams would leave pages that are never empty.
func garbagePercent(live, before uint64) int {
	if live == 0 {
		return garbageMost
	}
	percent := percentUpTo(heapLeast, live)
	if live <= before+before/8 {
		percent = max(percent, min(percentUpTo(heapSteady, live), garbageSteady))
	}
	return int(min(max(percent, garbageGo), garbageMost))
}

// percentUpTo returns the garbage in percent of the live bytes with which the heap has a size in bytes; 0 if the live bytes alone exceed it.
func percentUpTo(size, live uint64) uint64 { return (max(size, live) - live) * 100 / live }
