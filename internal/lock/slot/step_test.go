package slot

import (
	"slices"
	"testing"
	"time"
)

// bench drives one lock by hand: the test is the driver and the clock.
type bench struct {
	t       *testing.T
	lock    Lock
	now     time.Time
	err     time.Duration
	actions []Action
}

func newBench(t *testing.T, caps Capabilities) *bench {
	b := &bench{t: t, now: noon}
	b.lock = Lock{Caps: caps}
	return b
}

func (b *bench) send(ev Event) {
	b.t.Helper()
	ev.At, ev.ClockError = b.now, b.err
	before := b.lock
	was := slices.Clone(before.Slots)
	b.lock, b.actions = Step(b.lock, ev)
	if !slices.Equal(was, before.Slots) {
		b.t.Fatal("Step changed its argument")
	}
}

func (b *bench) want(number uint32, d Desired) {
	b.t.Helper()
	d.Generation = 1
	if s, ok := b.lock.Slot(number); ok {
		d.Generation = s.Desired.Generation + 1
	}
	b.send(Event{Kind: Wanted, Slot: number, Desired: d})
}

func (b *bench) answer(r Result) {
	b.t.Helper()
	b.send(Event{Kind: Answered, Seq: b.lock.Op.Seq, Result: r})
}

func (b *bench) read(present bool, pin PIN) {
	b.t.Helper()
	b.send(Event{Kind: Answered, Seq: b.lock.Op.Seq, Result: OK, Present: present, PIN: pin})
}

func (b *bench) pass(d time.Duration) {
	b.t.Helper()
	b.now = b.now.Add(d)
	b.send(Event{Kind: Ticked})
}

func (b *bench) inFlight(kind OpKind, number uint32) {
	b.t.Helper()
	if op := b.lock.Op; op.Kind != kind || op.Slot != number {
		b.t.Fatalf("in flight: %q on slot %d, want %q on %d", op.Kind, op.Slot, kind, number)
	}
}

func (b *bench) idle() {
	b.t.Helper()
	if b.lock.Op.Kind != "" {
		b.t.Fatalf("in flight: %s on slot %d, want nothing", b.lock.Op.Kind, b.lock.Op.Slot)
	}
}

func (b *bench) observed(number uint32, present bool, e Evidence, r Result) {
	b.t.Helper()
	s, _ := b.lock.Slot(number)
	if o := s.Observed; o.Present != present || o.Evidence != e || o.Result != r {
		b.t.Fatalf("slot %d: present %v %s %s, want %v %s %s", number, o.Present, o.Evidence, o.Result, present, e, r)
	}
}

func (b *bench) wake() time.Duration {
	for _, a := range b.actions {
		if a.Kind == WakeAt {
			return a.At.Sub(b.now)
		}
	}
	return -1
}

func realLock() Capabilities {
	return Capabilities{PINMin: 4, PINMax: 8, Slots: 20, Readable: ReadableNone, Schedule: ScheduleNone, OpLifetime: 10 * time.Second}
}

var always = Desired{Intent: Present, PIN: "0451"}

func TestSetThenClear(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
	b.inFlight(OpSet, 1)
	b.observed(1, false, Sent, "")
	b.answer(OK)
	b.observed(1, true, Accepted, "")
	b.want(1, Desired{Intent: Absent})
	b.inFlight(OpClear, 1)
	b.answer(OK)
	b.observed(1, false, Accepted, "")
	b.idle()
}

func TestReadBackVerifies(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableClear
	b := newBench(t, caps)
	b.want(1, always)
	b.inFlight(OpRead, 1) // a slot never touched may be somebody else's
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
	b.read(false, "") // somebody took it off
	if !slices.ContainsFunc(b.actions, func(a Action) bool { return a.Kind == Drift && a.Slot == 1 }) {
		t.Error("no drift was told")
	}
	b.inFlight(OpSet, 1)
	b.observed(1, false, Sent, "")
}

func TestForeignSlotIsNeverTouched(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableMasked
	b := newBench(t, caps)
	b.want(1, always)
	b.read(true, "")
	b.observed(1, false, Failed, Occupied)
	b.idle()
	b.want(1, Desired{Intent: Absent})
	b.idle()
	b.observed(1, false, Verified, "")
}

// The lock would overwrite it: it does not tell whether a slot is in use.
func TestACodeThatCameIntoAnEmptiedSlotIsLeftAlone(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableMasked
	b := newBench(t, caps)
	b.want(1, always)
	b.read(false, "")
	b.answer(OK)
	b.read(true, "")
	b.want(1, Desired{Intent: Absent})
	b.answer(OK)
	b.read(false, "")
	b.observed(1, false, Verified, "")
	b.want(1, always)
	b.inFlight(OpRead, 1)
	b.read(true, "") // somebody programmed the slot at the lock
	b.observed(1, false, Failed, Occupied)
	b.idle()
}

func TestASettingIsTriedAgainOnlyAfterAnotherLook(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableMasked
	b := newBench(t, caps)
	b.want(1, always)
	b.read(false, "")
	b.answer(Busy)
	b.pass(time.Second)
	b.inFlight(OpRead, 1)
	b.read(true, "")
	b.observed(1, false, Failed, Occupied)
}

func TestOccupiedIsSaidOfTheGenerationThatCameMeanwhile(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
	b.want(1, Desired{Intent: Present, PIN: "9999"})
	b.answer(Occupied)
	b.observed(1, false, Failed, Occupied)
	b.idle()
	b.want(1, always) // it may be gone by now
	b.inFlight(OpSet, 1)
}

// A bridge that was restored from an old copy of its store does not know of codes that it told of.
func TestABridgeThatForgotASlotTakesItsCodeForOurs(t *testing.T) {
	b := newBench(t, realLock())
	b.send(Event{Kind: Wanted, Slot: 1, Desired: Desired{Generation: 2, Intent: Absent, Claimed: true}})
	b.inFlight(OpClear, 1)
}

// One that did not forget knows better than the server what it wrote.
func TestABridgeThatKnowsASlotBelievesItself(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableMasked
	b := newBench(t, caps)
	b.want(1, always)
	b.answer(LockOffline) // not read yet
	b.pass(10 * time.Second)
	b.send(Event{Kind: Wanted, Slot: 1, Desired: Desired{Generation: 1, Intent: Present, PIN: "0451", Claimed: true}})
	b.inFlight(OpRead, 1)
	b.send(Event{Kind: Wanted, Slot: 1, Desired: Desired{Generation: 2, Intent: Present, PIN: "0451", Claimed: true}})
	b.read(true, "")
	b.observed(1, false, Failed, Occupied)
}

func TestAReplacedBridgeTakesOverWhatItsPredecessorSet(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableMasked
	b := newBench(t, caps)
	b.want(1, Desired{Intent: Absent, Claimed: true})
	b.inFlight(OpClear, 1)
}

func TestFenceHoldsTheNextWriteBack(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
	b.pass(2 * time.Second)
	b.answer(Timeout)
	b.observed(1, false, Unconfirmed, Timeout)
	b.want(1, Desired{Intent: Absent})
	b.want(2, always)
	b.idle()
	if got := b.wake(); got != 8*time.Second {
		t.Errorf("wakes in %v, want when the fence ends, 8s", got)
	}
	b.pass(8*time.Second - 1)
	b.idle()
	b.pass(1)
	b.inFlight(OpClear, 1)
}

func TestBootWaitsForWhatWasInTheAir(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
	b.now = b.now.Add(-time.Hour) // the clock of the next run is behind
	b.send(Event{Kind: Booted})
	b.idle()
	b.observed(1, false, Unconfirmed, "")
	b.pass(10*time.Second - 1)
	b.idle()
	b.pass(1)
	b.inFlight(OpSet, 1)
	b.answer(OK)
	b.send(Event{Kind: Booted}) // nothing in the air: nothing to wait for
	b.want(2, always)
	b.inFlight(OpSet, 2)
}

// The fence of an operation that was given up is in the time of the run before, whose clock may have been ahead.
func TestBootSetsTheFenceByItsOwnClock(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
	b.answer(Timeout)
	b.now = b.now.Add(-time.Hour)
	b.send(Event{Kind: Booted})
	b.want(2, always)
	b.pass(10*time.Second - 1)
	b.idle()
	b.pass(1)
	b.inFlight(OpSet, 2)
}

func TestANewLockWaitsForItsFormerBridge(t *testing.T) {
	b := newBench(t, realLock())
	b.lock = New(b.lock.Caps, b.now)
	b.want(1, always)
	b.idle()
	b.pass(10 * time.Second)
	b.inFlight(OpSet, 1)
}

func TestAnUnansweredOperationTimesOut(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
	old := b.lock.Op.Seq
	b.pass(10 * time.Second)
	b.observed(1, false, Unconfirmed, Timeout)
	b.pass(time.Second)
	b.inFlight(OpSet, 1)
	b.send(Event{Kind: Answered, Seq: old, Result: OK})
	b.observed(1, false, Unconfirmed, Timeout) // an answer to an operation given up says nothing of the next
}

func TestBackoffOfTransientAnswers(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
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
	b.want(1, always)
	b.inFlight(OpSet, 1) // a new generation starts afresh
}

func TestARevocationIsNeverGivenUp(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
	b.answer(OK)
	b.want(1, Desired{Intent: Absent})
	for range 20 {
		b.inFlight(OpClear, 1)
		b.answer(Unsupported)
		b.pass(30 * time.Second)
	}
}

func TestFinalRefusals(t *testing.T) {
	for _, r := range []Result{Duplicate, Occupied, SlotsFull, InvalidFormat, Unsupported} {
		b := newBench(t, realLock())
		b.want(1, always)
		b.send(Event{Kind: Answered, Seq: b.lock.Op.Seq, Result: r, Rule: "prefix"})
		b.observed(1, false, Failed, r)
		b.pass(time.Hour)
		b.idle()
	}
}

func TestARefusedReplacementTakesTheOldCodeOff(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
	b.answer(OK)
	b.want(1, Desired{Intent: Present, PIN: "9999"})
	b.answer(Duplicate)
	b.observed(1, false, Failed, Duplicate)
	b.inFlight(OpClear, 1)
}

// A lock that calls a slot occupied which holds our own older code speaks of that code: it is taken off, not spared.
func TestOurOwnCodeIsNotSomebodyElses(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
	b.answer(OK)
	b.want(1, Desired{Intent: Present, PIN: "9999"})
	b.answer(Occupied)
	b.observed(1, false, Failed, Occupied)
	b.inFlight(OpClear, 1)
	b.answer(OK)
	b.idle()
}

func TestDuplicateOfOurOwnLostAttempt(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
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

func TestRevocationsFirstAndNobodyWaitsForEver(t *testing.T) {
	b := newBench(t, realLock())
	for n := range uint32(6) {
		b.want(n+1, Desired{Intent: Present, PIN: PIN("100" + string('0'+rune(n)))})
		b.answer(OK)
	}
	b.want(1, Desired{Intent: Present, PIN: "7777"}) // in flight
	b.want(2, Desired{Intent: Present, PIN: "8888", NotBefore: noon.Add(-time.Minute)})
	b.want(3, Desired{Intent: Present, PIN: "9999", NotBefore: noon.Add(-time.Hour)})
	b.want(4, Desired{Intent: Absent})
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
	b.want(1, Desired{Intent: Absent})
	b.want(2, Desired{Intent: Present, PIN: "1212"})
	for i := range 20 {
		b.want(1, Desired{Intent: Present, PIN: PIN("5" + string('0'+rune(i%10)) + "00")})
		b.want(1, Desired{Intent: Absent})
		b.answer(Busy)
		if b.lock.Op.Slot == 2 {
			if i < 7 || i > 8 {
				t.Fatalf("overtaken %d times, want 8", i+1)
			}
			return
		}
		b.want(1, Desired{Intent: Absent})
	}
	t.Fatal("never came to slot 2")
}

func TestOneOperationPerChangedSlotAfterAnOutage(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
	b.answer(OK)
	for g := uint64(2); g < 10; g++ { // arrived together after the outage, in any order
		b.send(Event{Kind: Wanted, Slot: 2, Desired: Desired{Generation: 11 - g, Intent: Present, PIN: "2222"}})
	}
	b.send(Event{Kind: Wanted, Slot: 1, Desired: Desired{Generation: 9, Intent: Present, PIN: "0451"}})
	b.answer(OK)
	b.idle() // slot 1 holds what it shall hold, under whatever generation
	b.observed(1, true, Accepted, "")
	if s, _ := b.lock.Slot(1); s.Observed.Generation != 9 {
		t.Errorf("observed generation %d, want 9", s.Observed.Generation)
	}
}

// The first attempt timed out and may have landed: the code has not failed until the slot is empty.
func TestARefusalAfterATimeoutIsNoProof(t *testing.T) {
	b := newBench(t, realLock())
	b.want(1, always)
	b.answer(Timeout)
	b.pass(10 * time.Second)
	b.inFlight(OpSet, 1)
	b.answer(SlotsFull)
	b.observed(1, false, Unconfirmed, SlotsFull)
	b.inFlight(OpClear, 1)
	b.answer(OK)
	b.observed(1, false, Failed, SlotsFull)
}
