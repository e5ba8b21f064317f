package agent

import (
	"context"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// quickReadWait is how long a transition may wait for the result of a reading before it is stored.
const quickReadWait = 2 * time.Millisecond

// transition is the result of some events, before it is stored.
type transition struct {
	state   slot.Lock
	start   *slot.Op // to start once the state is stored
	reports map[uint32]slot.Observed
	entries []journalEntry // to journal together with the state
	wake    time.Duration
}

// applyEvents advances the lock's state by the events and collects in t what follows: an operation, reports, journal entries and the
// next wake-up. It has no effect outside t.
func (w *lockWorker) applyEvents(t *transition, events []slot.Event) {
	now, clockError := w.bridge.clock.Now(), w.bridge.clockError()
	if len(events) == 0 { // only a step computes the next wake-up
		events = []slot.Event{{Kind: slot.TimePassed}}
	}
	for _, ev := range w.bridge.usedCodes.markUsed(events) {
		ev.At, ev.ClockError = now, clockError
		var actions []slot.Action
		t.state, actions = slot.Step(t.state, ev)
		t.wake = never
		for _, a := range actions {
			switch a.Kind {
			case slot.StartOp:
				t.start = &a.Op
			case slot.ReportObserved:
				t.reports[a.Slot] = a.Observed
			case slot.ReportDrift:
				t.entries = append(t.entries, w.bridge.newEntry(driver.Event{
					Address: w.lock.Address(), Kind: driver.Tampered, Slot: a.Slot, Reason: "slotChanged", At: now,
				}))
			case slot.WakeAt:
				t.wake = min(a.At.Sub(now), never)
			}
		}
	}
}

// quickRead starts a reading before the transition that led to it is stored. This is safe: a reading changes nothing at the lock, and
// after a power cut it does not matter that it was started. If the lock answers at once, the result is stored together with the
// transition and the operation that follows, which saves a write.
func (w *lockWorker) quickRead(ctx context.Context, t *transition) {
	if t.start == nil || t.start.Kind != slot.OpRead {
		return
	}
	soon := time.NewTimer(quickReadWait)
	defer soon.Stop()
	for t.start != nil && t.start.Kind == slot.OpRead {
		op := *t.start
		t.start = nil
		w.startCall(ctx, op, "")
		select {
		case ev := <-w.results:
			w.applyEvents(t, []slot.Event{w.onAnswer(t.state, ev)})
		case <-soon.C:
			return
		}
	}
}
