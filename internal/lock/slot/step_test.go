package slot

import (
	"slices"
	"testing"
	"time"
)

func TestSetThenClear(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.inFlight(OpSet, 1)
	b.observed(1, false, Sent, "")
	b.answer(OK)
	b.observed(1, true, Accepted, "")
	b.desire(1, Desired{Intent: Absent})
	b.inFlight(OpClear, 1)
	b.answer(OK)
	b.observed(1, false, Accepted, "")
	b.idle()
}

func TestReadBackVerifies(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableClear
	b := newBench(t, caps)
	b.desire(1, always)
	b.inFlight(OpRead, 1) // a slot that was never written may hold a foreign code
	b.read(false, "")
	b.inFlight(OpSet, 1)
	b.answer(OK)
	b.observed(1, true, Accepted, "")
	b.inFlight(OpRead, 1)
	b.read(true, "0451")
	b.observed(1, true, Verified, "")
	if got := b.wake(); got != 6*time.Hour {
		t.Errorf("next read-back in %v, want 6h", got)
	}
	b.pass(6 * time.Hour)
	b.inFlight(OpRead, 1)
	b.read(false, "") // it was removed at the lock
	if !slices.ContainsFunc(b.actions, func(a Action) bool { return a.Kind == ReportDrift && a.Slot == 1 }) {
		t.Error("no drift was reported")
	}
	b.inFlight(OpSet, 1)
	b.observed(1, false, Sent, "")
}

func TestBackoffOfTransientAnswers(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		b.answer(Busy)
		b.observed(1, false, Sent, Busy)
		if got := b.wake(); got != wait*time.Second {
			t.Fatalf("next try in %v, want %v", got, wait*time.Second)
		}
		b.pass(wait * time.Second)
		b.inFlight(OpSet, 1)
	}
	b.send(Event{Kind: Answered, Seq: b.lock.Op.Seq, Result: Busy, RetryAfter: time.Hour})
	if got := b.wake(); got != time.Hour {
		t.Errorf("next try in %v, want what the lock asked for", got)
	}
	b.desire(1, always)
	b.inFlight(OpSet, 1) // a new generation starts afresh
}

func TestARemovalIsNeverGivenUp(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.answer(OK)
	b.desire(1, Desired{Intent: Absent})
	for range 20 {
		b.inFlight(OpClear, 1)
		b.answer(Unsupported)
		b.pass(30 * time.Second)
	}
}

// A code whose setting was not confirmed may be on the lock. It is removed at its end, not when its setting would be retried.
func TestARemovalDoesNotWaitForTheRetryOfASetting(t *testing.T) {
	for name, c := range map[string]struct {
		once string
		end  func(*bench)
	}{
		"end of the window": {"", func(b *bench) { b.pass(50 * time.Minute) }},
		"use": {"otc", func(b *bench) {
			b.pass(10 * time.Minute)
			b.send(Event{Kind: CodeUsed, Slot: 1})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, realLock())
			notConfirmed := func(retryAfter time.Duration) {
				t.Helper()
				b.send(Event{Kind: Answered, Seq: b.lock.Op.Seq, Result: NotConfirmed, RetryAfter: retryAfter})
				b.idle()
				b.pass(b.lock.Caps.Lifetime())
			}
			b.desire(1, Desired{Intent: Present, PIN: "0451", NotAfter: noon.Add(50 * time.Minute), OneTimeID: c.once})
			notConfirmed(2 * time.Hour)
			b.idle() // the setting waits
			c.end(b)
			b.inFlight(OpClear, 1)
			notConfirmed(time.Hour)
			b.idle() // a removal waits for its own retry
			b.pass(time.Hour - b.lock.Caps.Lifetime())
			b.inFlight(OpClear, 1)
			b.answer(OK)
			b.observed(1, false, Accepted, "")
		})
	}
}

// The fence of a setting also protects from its removal.
func TestARemovalWaitsUntilTheSettingCannotTakeEffect(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, Desired{Intent: Present, PIN: "0451", NotAfter: noon.Add(5 * time.Second)})
	b.answer(NotConfirmed)
	b.pass(5 * time.Second)
	b.idle()
	b.pass(b.lock.Caps.Lifetime() - 5*time.Second)
	b.inFlight(OpClear, 1)
}

func TestFinalRefusals(t *testing.T) {
	for _, r := range []Result{Duplicate, Occupied, SlotsFull, InvalidFormat, Unsupported} {
		b := newBench(t, realLock())
		b.desire(1, always)
		b.send(Event{Kind: Answered, Seq: b.lock.Op.Seq, Result: r, Rule: "prefix"})
		b.observed(1, false, Failed, r)
		b.pass(time.Hour)
		b.idle()
	}
}

func TestARefusedReplacementRemovesTheOlderCode(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.answer(OK)
	b.desire(1, Desired{Intent: Present, PIN: "9999"})
	b.answer(Duplicate)
	b.observed(1, false, Failed, Duplicate)
	b.inFlight(OpClear, 1)
}

func TestDuplicateOfAnOwnLostAttempt(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.answer(Timeout)
	b.pass(10 * time.Second)
	b.inFlight(OpSet, 1)
	b.answer(Duplicate)
	b.inFlight(OpClear, 1)
	b.answer(OK)
	b.inFlight(OpSet, 1)
	b.answer(Duplicate)
	b.observed(1, false, Failed, Duplicate)
}

func TestRemovalsFirstAndNoSlotWaitsForever(t *testing.T) {
	b := newBench(t, realLock())
	for n := range uint32(6) {
		b.desire(n+1, Desired{Intent: Present, PIN: PIN("100" + string('0'+rune(n)))})
		b.answer(OK)
	}
	b.desire(1, Desired{Intent: Present, PIN: "7777"}) // in flight
	b.desire(2, Desired{Intent: Present, PIN: "8888", NotBefore: noon.Add(-time.Minute)})
	b.desire(3, Desired{Intent: Present, PIN: "9999", NotBefore: noon.Add(-time.Hour)})
	b.desire(4, Desired{Intent: Absent})
	for _, want := range []struct {
		kind OpKind
		slot uint32
	}{{OpClear, 4}, {OpSet, 3}, {OpSet, 2}} {
		b.answer(OK)
		b.inFlight(want.kind, want.slot)
	}
	b.answer(OK)
	b.idle()

	// A flood of revocations lets a waiting setting through after eight.
	b.desire(1, Desired{Intent: Absent})
	b.desire(2, Desired{Intent: Present, PIN: "1212"})
	for i := range 20 {
		b.desire(1, Desired{Intent: Present, PIN: PIN("5" + string('0'+rune(i%10)) + "00")})
		b.desire(1, Desired{Intent: Absent})
		b.answer(Busy)
		if b.lock.Op.Slot == 2 {
			if i < 7 || i > 8 {
				t.Fatalf("overtaken %d times, want 8", i+1)
			}
			return
		}
		b.desire(1, Desired{Intent: Absent})
	}
	t.Fatal("never came to slot 2")
}

func TestOneOperationPerChangedSlotAfterAnOutage(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.answer(OK)
	for g := uint64(2); g < 10; g++ { // arrived together after the outage, in any order
		b.send(Event{Kind: DesiredChanged, Slot: 2, Desired: Desired{Generation: 11 - g, Intent: Present, PIN: "2222"}})
	}
	b.send(Event{Kind: DesiredChanged, Slot: 1, Desired: Desired{Generation: 9, Intent: Present, PIN: "0451"}})
	b.answer(OK)
	b.idle() // slot 1 holds the desired code, whatever its generation
	b.observed(1, true, Accepted, "")
	if s, _ := b.lock.Slot(1); s.Observed.Generation != 9 {
		t.Errorf("observed generation %d, want 9", s.Observed.Generation)
	}
}

// The first attempt timed out and may have landed: the code has not failed until the slot is empty.
func TestARefusalAfterATimeoutIsNoProof(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.answer(Timeout)
	b.pass(10 * time.Second)
	b.inFlight(OpSet, 1)
	b.answer(SlotsFull)
	b.observed(1, false, Unconfirmed, SlotsFull)
	b.inFlight(OpClear, 1)
	b.answer(OK)
	b.observed(1, false, Failed, SlotsFull)
}
