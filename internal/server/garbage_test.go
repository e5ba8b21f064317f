package server

import (
	"runtime"
	"testing"
)

func TestGarbagePercent(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, 1000}, {1 << 20, 1000}, {16 << 20, 800}, {48 << 20, 200}, {72 << 20, 100}, {1 << 30, 100},
	} {
		if got := garbagePercent(c.live); got != c.want {
			t.Errorf("%d live bytes: %d, want %d", c.live, got, c.want)
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
