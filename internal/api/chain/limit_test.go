package chain

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"latchkey.dev/internal/fault"
)

func TestLimiterAllowsTheBurstAndThenTheRate(t *testing.T) {
	l := newLimiter("calls", 600, 100)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i := range 100 {
		h := metadata.MD{}
		if err := l.take(now, "int_1", h); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		if want := fmt.Sprintf(`"calls";r=%d;t=%d`, 99-i, (i+10)/10); h[HeaderRateLimit][0] != want {
			t.Fatalf("call %d: %s, want %s", i, h[HeaderRateLimit][0], want)
		}
	}
	f, ok := fault.Of(l.take(now, "int_1", metadata.MD{}))
	if !ok || f.Kind != fault.Exhausted || f.Reason != fault.RateLimited || f.RetryAfter != 100*time.Millisecond {
		t.Fatalf("call 101: %+v", f)
	}
	if err := l.take(now, "int_2", metadata.MD{}); err != nil {
		t.Errorf("another integration pays: %v", err)
	}
	if err := l.take(now.Add(f.RetryAfter), "int_1", metadata.MD{}); err != nil {
		t.Errorf("after the wait it asked for: %v", err)
	}
	served := 0
	for i := range 60_000 {
		if l.take(now.Add(time.Minute+time.Duration(i)*time.Millisecond), "int_1", metadata.MD{}) == nil {
			served++
		}
	}
	if served < 600 || served > 700 {
		t.Errorf("%d calls in a minute after a full rest", served)
	}
}

func TestLimiterEvictsSubjects(t *testing.T) {
	l := newLimiter("calls", 60, 1)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i := range maxSubjects + 1000 {
		if err := l.take(now, fmt.Sprint(i), metadata.MD{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.subjects); n > maxSubjects {
		t.Errorf("%d subjects are remembered", n)
	}
	rested := now.Add(time.Hour)
	l.evictSubjects(rested)
	if n := len(l.subjects); n != 0 {
		t.Errorf("%d rested subjects are remembered", n)
	}
}

func TestNoLimit(t *testing.T) {
	if err := newLimiter("calls", 0, 0).take(time.Now(), "x", metadata.MD{}); err != nil {
		t.Error(err)
	}
}
