package worker

import (
	"testing"
	"time"
)

// A property with a slow mail server leaves most of the job queue to the others.
func TestMailTurns(t *testing.T) {
	var turns mailTurns
	fill := func(propertyID string) (n int) {
		for turns.take(propertyID) {
			n++
		}
		return n
	}
	end := func(propertyID string, n int, took time.Duration) {
		for range n {
			turns.end(propertyID, took)
		}
	}
	if n := fill("slow"); n != maxSends {
		t.Errorf("%d turns at first, want %d", n, maxSends)
	}
	if n := fill("other"); n != maxSends {
		t.Errorf("%d turns of another property, want %d", n, maxSends)
	}
	end("slow", maxSends, slowSend)
	if n := fill("slow"); n != maxSlowSends {
		t.Errorf("%d turns after slow attempts, want %d", n, maxSlowSends)
	}
	end("slow", maxSlowSends, slowSend-1)
	if n := fill("slow"); n != maxSends {
		t.Errorf("%d turns after quick attempts, want %d", n, maxSends)
	}
	end("slow", maxSends, 0)
	end("other", maxSends, 0)
	if len(turns.running)+len(turns.slow) != 0 {
		t.Errorf("left over: %v, %v", turns.running, turns.slow)
	}
}
