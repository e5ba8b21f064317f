package server

import (
	"runtime"
	"testing"
)

func TestGarbagePercent(t *testing.T) {
	for _, c := range []struct {
		live, before uint64 // in MiB
		want         int
	}{
		{0, 0, 1000}, {1, 0, 1000}, {16, 0, 800}, {48, 0, 200}, {72, 0, 100}, {1024, 0, 100}, // the first collection
		{72, 63, 100}, {200, 72, 100}, // the live heap grows
		{1, 1, 1000}, {16, 16, 800}, {72, 64, 300}, {72, 400, 300}, {80, 80, 300}, {128, 128, 150}, {160, 160, 100}, {1024, 1024, 100}, // it does not
	} {
		if got := garbagePercent(c.live<<20, c.before<<20); got != c.want {
			t.Errorf("%d MiB live after %d: %d, want %d", c.live, c.before, got, c.want)
		}
	}
}

func TestEachCollectionIsNoticed(t *testing.T) {
	collected := make(chan struct{}, 1)
	for range 3 {
		whenCollected(collected)
		runtime.GC()
		<-collected
	}
}
