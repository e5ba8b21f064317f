package slot

import (
	"slices"
	"testing"
	"time"
)

func (b *bench) alter(number uint32) {
	b.t.Helper()
	b.send(Event{Kind: ChangedAtLock, Slot: number})
}

func (b *bench) drifted() bool {
	return slices.ContainsFunc(b.actions, func(a Action) bool { return a.Kind == ReportDrift })
}

// A lock that cannot be read reports a change by hand: the code is in doubt, and set again.
func TestACodeChangedAtTheLockIsSetAgain(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.answer(OK)
	b.observed(1, true, Accepted, "")
	b.alter(1)
	b.observed(1, false, Unconfirmed, "")
	if b.inFlight(OpSet, 1); !b.lock.Op.Replace || !b.drifted() {
		t.Errorf("replaces %v, drift %v", b.lock.Op.Replace, b.drifted())
	}
	b.answer(OK)
	b.observed(1, true, Accepted, "")
	b.idle()
}

// If the change happens during a write, its order is unknown.
func TestACodeChangedDuringAWriteIsSetAgain(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.alter(1)
	b.observed(1, false, Sent, "")
	b.answer(OK)
	b.observed(1, false, Unconfirmed, "")
	b.inFlight(OpSet, 1)
	b.answer(OK)
	b.observed(1, true, Accepted, "")
	b.idle()

	b.desire(1, Desired{Intent: Present, PIN: "9999"}) // over our own
	b.alter(1)
	b.observed(1, false, Unconfirmed, "")
	b.answer(OK)
	b.pass(time.Second)
	b.inFlight(OpSet, 1)
	b.answer(OK)
	b.idle()
}

// What was refused did not land: there is nothing to doubt.
func TestAChangeDuringARefusedWriteDoesNotAffectTheNext(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.alter(1)
	b.answer(Busy)
	b.pass(time.Second)
	b.inFlight(OpSet, 1)
	b.answer(OK)
	b.observed(1, true, Accepted, "")
	b.idle()
}

// A lock that reports our own writes as changes must not be kept awake by it.
func TestRepeatedChangesAreAnsweredWithBackoff(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.answer(OK)
	for i, wait := range []time.Duration{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		b.alter(1)
		if wait > 0 {
			b.idle()
			if got := b.wake(); got != wait*time.Second {
				t.Fatalf("change %d: set again in %v, want %v", i, got, wait*time.Second)
			}
			b.pass(wait * time.Second)
		}
		b.inFlight(OpSet, 1)
		b.answer(OK)
	}
	b.desire(1, Desired{Intent: Present, PIN: "9999"})
	b.answer(OK)
	b.alter(1) // another code begins afresh
	b.inFlight(OpSet, 1)
}

// Slots without a Latchkey code are no concern, and a lock that can be read is read.
func TestAChangeElsewhereStartsNothing(t *testing.T) {
	b := newBench(t, realLock())
	b.alter(7)
	b.desire(1, always)
	b.answer(OK)
	b.desire(1, Desired{Intent: Absent})
	b.answer(OK)
	b.alter(1)
	b.observed(1, false, Accepted, "")
	b.idle()

	b = newBench(t, readable(ReadableClear))
	b.desire(1, always)
	b.read(false, "")
	b.answer(OK)
	b.read(true, always.PIN)
	b.alter(1)
	b.observed(1, true, Verified, "")
	b.inFlight(OpRead, 1)
}

func readable(r Readable) Capabilities {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, r
	return caps
}

// A masked lock shows that the slot is used, which another PIN does too: the code is set again.
func TestACodeChangedAtAMaskedLockIsSetAgain(t *testing.T) {
	b := newBench(t, readable(ReadableMasked))
	b.desire(1, always)
	b.read(false, "")
	b.answer(OK)
	b.read(true, "")
	b.observed(1, true, Verified, "")
	b.alter(1)
	b.observed(1, false, Unconfirmed, "")
	if b.inFlight(OpSet, 1); !b.lock.Op.Replace || !b.drifted() {
		t.Errorf("replaces %v, drift %v", b.lock.Op.Replace, b.drifted())
	}
	b.answer(OK)
	b.read(true, "")
	b.observed(1, true, Verified, "")
	b.idle()
}

// A masked lock that reports the bridge's own writes comes to rest.
func TestAMaskedLockThatReportsOurWritesIsOnlyReadInTheEnd(t *testing.T) {
	b := newBench(t, readable(ReadableMasked))
	b.desire(1, always)
	b.read(false, "")
	b.answer(OK)
	for range maxMaskedChanges {
		b.read(true, "")
		b.alter(1)
		b.observed(1, false, Unconfirmed, "")
		if b.lock.Op.Kind == "" {
			b.pass(b.wake())
		}
		b.inFlight(OpSet, 1)
		b.answer(OK)
	}
	b.read(true, "")
	b.alter(1)
	b.read(true, "")
	b.observed(1, true, Verified, "")
	b.idle()
}
