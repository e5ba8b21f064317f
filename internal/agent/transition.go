package agent

import (
	"context"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// quickReadWait is how long storing a transition may be delayed, so that the results of reads are stored with it.
const quickReadWait = 2 * time.Millisecond

// transition is a lock's new state and everything that follows from it, before it is stored.
type transition struct {
	state   slot.Lock
	start   *slot.Op                 // operation to start once the state is stored
	reports map[uint32]slot.Observed // observations for the server, by slot
	entries []journalEntry           // journal entries to store together with the state
	wake    time.Duration            // wait until the state must be advanced even without an event; the constant never if it need not
}

// applyEvents advances the lock's state by the events; without events, time passes. It collects in t what follows: an operation, reports,
// journal entries and the next wake-up. It changes nothing else.
func (w *lockWorker) applyEvents(t *transition, events []slot.Event) {
	now, clockError := w.bridge.clock.Now(), w.bridge.clockError()
	if len(events) == 0 { // slot.Step must run, because only it computes the next wake-up
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

// quickRead starts the read that t requests, if any, before t is stored. This is safe, because a read changes nothing at the lock. If the
// lock answers within quickReadWait, t gets the result, and one write stores both. It continues with the reads that follow from results. A
// later result arrives in w.results.
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
