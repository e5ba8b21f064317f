package slot

import (
	"testing"
	"time"
)

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
	b.send(Event{Kind: DesiredChanged, Slot: 1, Desired: Desired{Generation: 2, Intent: Absent, MayHoldOurs: true}})
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
	b.send(Event{Kind: DesiredChanged, Slot: 1, Desired: Desired{Generation: 1, Intent: Present, PIN: "0451", MayHoldOurs: true}})
	b.inFlight(OpRead, 1)
	b.send(Event{Kind: DesiredChanged, Slot: 1, Desired: Desired{Generation: 2, Intent: Present, PIN: "0451", MayHoldOurs: true}})
	b.read(true, "")
	b.observed(1, false, Failed, Occupied)
}

func TestAReplacedBridgeTakesOverWhatItsPredecessorSet(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableMasked
	b := newBench(t, caps)
	b.want(1, Desired{Intent: Absent, MayHoldOurs: true})
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
