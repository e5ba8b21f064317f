package id

import (
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
)

func TestNewIsUniqueAndOrderedAcrossGoroutines(t *testing.T) {
	const workers, each = 8, 2000
	var wg sync.WaitGroup
	made := make([][]string, workers)
	for w := range workers {
		wg.Go(func() {
			for range each {
				made[w] = append(made[w], New(Reservation))
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, list := range made {
		for i, s := range list {
			if seen[s] {
				t.Fatalf("%s made twice", s)
			}
			seen[s] = true
			if i > 0 && list[i-1] >= s {
				t.Fatalf("%s made before %s but sorts after it", list[i-1], s)
			}
			if !Valid(Reservation, s) {
				t.Fatalf("%s is not valid", s)
			}
		}
	}
}

func TestOrderSurvivesClockStepBack(t *testing.T) {
	s := &source{monotonic: ulid.Monotonic(rand.Reader, 0)}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	first := s.next(now)
	if second := s.next(now.Add(-time.Hour)); second <= first {
		t.Fatalf("after a step back %s sorts before %s", second, first)
	}
}

func TestOverflowWithinOneMillisecond(t *testing.T) {
	s := &source{monotonic: ulid.Monotonic(maxReader{}, 1)}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	last := ""
	for range 3 {
		got := s.next(now)
		if got <= last {
			t.Fatalf("%s does not sort after %s", got, last)
		}
		last = got
	}
}

// maxReader makes the random part as large as it gets, so that the next step overflows.
type maxReader struct{}

func (maxReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 0xff
	}
	return len(p), nil
}

func TestValid(t *testing.T) {
	good := New(Lock)
	for _, c := range []struct {
		s    string
		want bool
	}{
		{good, true},
		{strings.ToUpper(good), false},
		{"lck_" + strings.ToUpper(good[4:]), false},
		{New(Gate), false},
		{"lck_", false},
		{"lck_" + strings.Repeat("u", 26), false},
		{good + "0", false},
		{"", false},
	} {
		if got := Valid(Lock, c.s); got != c.want {
			t.Errorf("Valid(%q) = %v, want %v", c.s, got, c.want)
		}
	}
}
