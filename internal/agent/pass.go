package agent

import (
	"context"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// moment is how long what has come of some events may wait for the answer of a reading before it is stored.
const moment = 2 * time.Millisecond

// pass is what has come of some events, on its way into the store.
type pass struct {
	state    slot.Lock
	start    *slot.Op // to be begun once the state is stored
	tell     map[uint32]slot.Observed
	happened []occurrence // to be journaled with the state
	wake     time.Duration
}

// move takes further events in.
func (o *owner) move(p *pass, events []slot.Event) {
	now, clockError := o.bridge.clock.Now(), o.bridge.clockError()
	if len(events) == 0 { // only a step says when to wake next
		events = []slot.Event{{Kind: slot.TimePassed}}
	}
	for _, ev := range o.bridge.spent.mark(events) {
		ev.At, ev.ClockError = now, clockError
		var actions []slot.Action
		p.state, actions = slot.Step(p.state, ev)
		p.wake = never
		for _, a := range actions {
			switch a.Kind {
			case slot.StartOp:
				p.start = &a.Op
			case slot.ReportObserved:
				p.tell[a.Slot] = a.Observed
			case slot.ReportDrift:
				p.happened = append(p.happened, o.bridge.occurred(driver.Event{
					Address: o.lock.Address(), Kind: driver.Tampered, Slot: a.Slot, Reason: "slotChanged", At: now,
				}))
			case slot.WakeAt:
				p.wake = min(a.At.Sub(now), never)
			}
		}
	}
}

// glance begins a reading before what led to it is stored: it changes nothing at the lock, and one that a power cut ends
// is forgotten. A lock that answers at once saves a write: what it said is stored together with what was asked for, and
// with the operation that follows. Until then it is as if the events had not come yet.
func (o *owner) glance(ctx context.Context, p *pass) {
	if p.start == nil || p.start.Kind != slot.OpRead {
		return
	}
	soon := time.NewTimer(moment)
	defer soon.Stop()
	for p.start != nil && p.start.Kind == slot.OpRead {
		op := *p.start
		p.start = nil
		o.begin(ctx, op, "")
		select {
		case ev := <-o.answers:
			o.move(p, []slot.Event{o.heard(p.state, ev)})
		case <-soon.C:
			return
		}
	}
}
