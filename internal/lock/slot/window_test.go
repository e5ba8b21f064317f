package slot

import (
	"testing"
	"time"
)

func TestWindowsOfALockWithoutSchedule(t *testing.T) {
	b := newBench(t, realLock())
	b.err = 30 * time.Second
	b.desire(1, Desired{Intent: Present, PIN: "0451", NotBefore: noon.Add(time.Hour), NotAfter: noon.Add(2 * time.Hour)})
	b.idle()
	b.observed(1, false, Sent, "")
	b.pass(time.Hour + 30*time.Second - 1)
	b.idle()
	b.pass(1)
	b.inFlight(OpSet, 1)
	b.answer(OK)
	if got := b.wake(); got != time.Hour-time.Minute {
		t.Errorf("closes in %v, want the clock's error before the end", got)
	}
	b.pass(time.Hour - time.Minute)
	b.inFlight(OpClear, 1)
	b.answer(OK)
	b.observed(1, false, Accepted, "")
	if got := b.wake(); got != -1 {
		t.Errorf("wakes in %v with nothing left to do", got)
	}
}

func TestWindowsOfALockThatKeepsThem(t *testing.T) {
	caps := realLock()
	caps.Schedule = ScheduleWindow
	from, to := noon.Add(100*time.Hour), noon.Add(120*time.Hour)
	b := newBench(t, caps)
	b.desire(1, Desired{Intent: Present, PIN: "0451", NotBefore: from, NotAfter: to})
	b.idle()
	if got := b.wake(); got != 28*time.Hour {
		t.Errorf("preloads in %v, want 72h before the window", got)
	}
	b.pass(28 * time.Hour)
	b.inFlight(OpSet, 1)
	if op := b.lock.Op; op.NotBefore != from || op.NotAfter != to {
		t.Errorf("window [%v, %v), want the stay's", op.NotBefore, op.NotAfter)
	}
}

func TestWindowsOfALockThatKeepsWholeHours(t *testing.T) {
	caps := realLock()
	caps.Schedule, caps.Granularity = ScheduleWindow, time.Hour
	b := newBench(t, caps)
	b.desire(1, Desired{Intent: Present, PIN: "0451", NotBefore: noon.Add(30 * time.Minute), NotAfter: noon.Add(5*time.Hour + 30*time.Minute)})
	b.idle() // the lock would open at noon
	b.pass(30 * time.Minute)
	b.inFlight(OpSet, 1)
	if op := b.lock.Op; !op.NotBefore.Equal(noon) || !op.NotAfter.Equal(noon.Add(5*time.Hour)) {
		t.Errorf("window [%v, %v), want one that closes by itself in time", op.NotBefore, op.NotAfter)
	}
	b.answer(OK)
	b.pass(4*time.Hour + 30*time.Minute - 10*time.Second)
	b.inFlight(OpSet, 1)
	if op := b.lock.Op; !op.NotAfter.Equal(noon.Add(6 * time.Hour)) {
		t.Errorf("extended to %v, want over the last step", op.NotAfter)
	}
	b.answer(OK)
	b.pass(30*time.Minute + 10*time.Second)
	b.inFlight(OpClear, 1)
}

// On a lock that keeps windows the next window replaces a window that has ended, as urgently as a removal.
func TestTheEndOfAWindowIsUrgentOnALockThatKeepsWindows(t *testing.T) {
	for _, result := range []Result{Busy, Timeout} {
		t.Run(string(result), func(t *testing.T) {
			caps := realLock()
			caps.Schedule, caps.ReadBack, caps.Readable = ScheduleWindow, false, ReadableNone
			end, next := noon.Add(time.Hour), noon.Add(21*time.Hour)
			b := newBench(t, caps)
			b.desire(2, Desired{Intent: Present, PIN: "0451", NotBefore: noon, NotAfter: end, LaterWindows: PackWindows(Window{next, next.Add(4 * time.Hour)})})
			b.answer(OK)
			b.pass(time.Hour - time.Second)
			b.desire(3, Desired{Intent: Present, PIN: "0452"})
			b.desire(1, Desired{Intent: Present, PIN: "0453"})
			b.inFlight(OpSet, 3)
			b.pass(time.Second)
			b.answer(OK)
			b.inFlight(OpSet, 2)
			if op := b.lock.Op; !op.NotBefore.Equal(next) {
				t.Fatalf("set from %v, want the next window", op.NotBefore)
			}
			for range 20 {
				b.answer(result)
				for b.lock.Op.Slot != 2 {
					if b.lock.Op.Kind != "" {
						b.answer(OK)
						continue
					}
					wait := b.wake()
					if wait < 0 || wait > production.maxRetryClear {
						t.Fatalf("tried again in %v, want within %v", wait, production.maxRetryClear)
					}
					b.pass(wait)
				}
			}
		})
	}
}
