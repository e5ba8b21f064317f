package slot

import (
	"testing"
	"time"
)

func TestTheFenceDelaysTheNextWrite(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.pass(2 * time.Second)
	b.answer(Timeout)
	b.observed(1, false, Unconfirmed, Timeout)
	b.desire(1, Desired{Intent: Absent})
	b.desire(2, always)
	b.idle()
	if got := b.wake(); got != 8*time.Second {
		t.Errorf("wakes in %v, want when the fence ends, 8s", got)
	}
	b.pass(8*time.Second - 1)
	b.idle()
	b.pass(1)
	b.inFlight(OpClear, 1)
}

func TestARestartWaitsForTheOperationInFlight(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.now = b.now.Add(-time.Hour) // the clock of the next run is behind
	b.send(Event{Kind: Restarted})
	b.idle()
	b.observed(1, false, Unconfirmed, "")
	b.pass(10*time.Second - 1)
	b.idle()
	b.pass(1)
	b.inFlight(OpSet, 1)
	b.answer(OK)
	b.send(Event{Kind: Restarted}) // nothing in the air: nothing to wait for
	b.desire(2, always)
	b.inFlight(OpSet, 2)
}

// The fence of an operation that was given up is in the time of the run before, whose clock may have been ahead.
func TestARestartSetsTheFenceByItsOwnClock(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.answer(Timeout)
	b.now = b.now.Add(-time.Hour)
	b.send(Event{Kind: Restarted})
	b.desire(2, always)
	b.pass(10*time.Second - 1)
	b.idle()
	b.pass(1)
	b.inFlight(OpSet, 2)
}

func TestDiscoveredLockWaitsForAnotherBridge(t *testing.T) {
	b := newBench(t, realLock())
	b.lock = NewLock(b.lock.Caps, b.now)
	b.desire(1, always)
	b.idle()
	b.pass(10 * time.Second)
	b.inFlight(OpSet, 1)
}

func TestAnUnansweredOperationTimesOut(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	old := b.lock.Op.Seq
	b.pass(10 * time.Second)
	b.observed(1, false, Unconfirmed, Timeout)
	b.pass(time.Second)
	b.inFlight(OpSet, 1)
	b.send(Event{Kind: Answered, Seq: old, Result: OK})
	b.observed(1, false, Unconfirmed, Timeout) // an answer to an operation given up says nothing of the next
}
