package slot

import (
	"testing"
	"time"
)

func TestForeignSlotIsNeverTouched(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableMasked
	b := newBench(t, caps)
	b.desire(1, always)
	b.read(true, "")
	b.observed(1, false, Failed, Occupied)
	b.idle()
	b.desire(1, Desired{Intent: Absent})
	b.idle()
	b.observed(1, false, Verified, "")
}

// The lock would overwrite it, because it does not report whether a slot is in use.
func TestAForeignCodeInAnEmptiedSlotIsKept(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableMasked
	b := newBench(t, caps)
	b.desire(1, always)
	b.read(false, "")
	b.answer(OK)
	b.read(true, "")
	b.desire(1, Desired{Intent: Absent})
	b.answer(OK)
	b.read(false, "")
	b.observed(1, false, Verified, "")
	b.desire(1, always)
	b.inFlight(OpRead, 1)
	b.read(true, "") // the slot was programmed at the lock
	b.observed(1, false, Failed, Occupied)
	b.idle()
}

func TestAWriteIsRetriedOnlyAfterAnotherRead(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableMasked
	b := newBench(t, caps)
	b.desire(1, always)
	b.read(false, "")
	b.answer(Busy)
	b.pass(time.Second)
	b.inFlight(OpRead, 1)
	b.read(true, "")
	b.observed(1, false, Failed, Occupied)
}

func TestOccupiedCountsForTheNextGeneration(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.desire(1, Desired{Intent: Present, PIN: "9999"})
	b.answer(Occupied)
	b.observed(1, false, Failed, Occupied)
	b.idle()
	b.desire(1, always) // it may be gone by now
	b.inFlight(OpSet, 1)
}

// A bridge that was restored from an old copy of its store has no record of codes that it reported.
func TestABridgeWithoutARecordFollowsMayHoldOwn(t *testing.T) {
	b := newBench(t, realLock())
	b.send(Event{Kind: DesiredChanged, Slot: 1, Desired: Desired{Generation: 2, Intent: Absent, MayHoldOwn: true}})
	b.inFlight(OpClear, 1)
}

// A bridge with a record knows better than the server what it wrote.
func TestABridgeWithARecordIgnoresMayHoldOwn(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableMasked
	b := newBench(t, caps)
	b.desire(1, always)
	b.answer(LockOffline) // not read yet
	b.pass(10 * time.Second)
	b.send(Event{Kind: DesiredChanged, Slot: 1, Desired: Desired{Generation: 1, Intent: Present, PIN: "0451", MayHoldOwn: true}})
	b.inFlight(OpRead, 1)
	b.send(Event{Kind: DesiredChanged, Slot: 1, Desired: Desired{Generation: 2, Intent: Present, PIN: "0451", MayHoldOwn: true}})
	b.read(true, "")
	b.observed(1, false, Failed, Occupied)
}

func TestReplacementBridgeRemovesThePreviousCode(t *testing.T) {
	caps := realLock()
	caps.ReadBack, caps.Readable = true, ReadableMasked
	b := newBench(t, caps)
	b.desire(1, Desired{Intent: Absent, MayHoldOwn: true})
	b.inFlight(OpClear, 1)
}

// If a lock reports a slot as occupied that holds an older Latchkey code, it means that code, which is removed.
func TestAnOwnOlderCodeIsNotForeign(t *testing.T) {
	b := newBench(t, realLock())
	b.desire(1, always)
	b.answer(OK)
	b.desire(1, Desired{Intent: Present, PIN: "9999"})
	b.answer(Occupied)
	b.observed(1, false, Failed, Occupied)
	b.inFlight(OpClear, 1)
	b.answer(OK)
	b.idle()
}
