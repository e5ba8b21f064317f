package sim

import (
	"context"
	"fmt"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

// FaultKind is a kind of fault that affects one operation that sets or clears a slot. Unless the comment of a kind says more, the
// operation changes nothing, and its answer is the result with the name of the kind.
type FaultKind string

const (
	Lost           FaultKind = "lost"    // the operation never reaches the lock and gets no answer
	LostAck        FaultKind = "lostAck" // the operation takes effect but gets no answer
	Late           FaultKind = "late"    // the operation gets no answer and takes effect after the time After
	Offline        FaultKind = "offline"
	Busy           FaultKind = "busy"
	Duplicate      FaultKind = "duplicate"
	Occupied       FaultKind = "occupied"
	Full           FaultKind = "slotsFull"
	FalseDuplicate FaultKind = "lied" // the operation takes effect but the answer is duplicate
	Jammed         FaultKind = "jammed"
	LowPower       FaultKind = "lowPower"
	ClockUntrusted FaultKind = "clockUntrusted"
	Unconfirmed    FaultKind = "unconfirmed" // the operation takes effect but the answer is unconfirmed
	Hang           FaultKind = "hang"        // the operation takes effect but the call returns only at its deadline
)

// faultKinds are all kinds of faults.
var faultKinds = []FaultKind{
	Lost, LostAck, Late, Offline, Busy, Duplicate, Occupied, Full, FalseDuplicate, Jammed, LowPower, ClockUntrusted, Unconfirmed, Hang,
}

// Fault is a fault that affects the next set or clear operation of a lock, once.
type Fault struct {
	Kind  FaultKind
	After time.Duration // After is the delay of a Late fault, at most the lock's lifetime; with Busy, the wait that the lock requests
}

// Inject adds faults for the next set and clear operations of a lock, in order. Other operations have no faults. It fails for an unknown
// address.
func (h *Site) Inject(address string, faults ...Fault) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.locks[address]
	if !ok {
		return fmt.Errorf("no lock %q in this site", address)
	}
	l.nextFaults = append(l.nextFaults, faults...)
	return nil
}

// UnlockCount returns how often a lock was opened remotely; 0 for an unknown address.
func (h *Site) UnlockCount(address string) (n int) {
	_ = h.withLock(address, func(l *lock) { n = l.unlocks })
	return n
}

// SetOdds replaces the probabilities of random faults for all locks.
func (h *Site) SetOdds(o Odds) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.odds = o
}

// runWrite runs an operation that changes a slot, after the radio's latency. effect makes the change, and is counted. Only such operations
// have faults: a fault can skip or delay effect, or change the answer.
func (l *lock) runWrite(ctx context.Context, effect func() driver.Answer) driver.Answer {
	return l.runOperation(ctx, true, func() driver.Answer {
		l.writes++
		return effect()
	})
}

// runOperation runs an operation over the radio: it waits for the latency, and calls effect with the site's mutex held. If the lock is not
// reachable, the answer is LockOffline; if ctx ends during the latency, it is Timeout. Both take no fault. If faulty is true, the next
// fault of the lock applies to the operation.
func (l *lock) runOperation(ctx context.Context, faulty bool, effect func() driver.Answer) driver.Answer {
	if !clock.Sleep(ctx, l.spec.Latency) {
		return driver.Answer{Result: slot.Timeout}
	}
	h := l.site
	h.mu.Lock()
	if !l.isReachable() {
		h.mu.Unlock()
		return driver.Answer{Result: slot.LockOffline}
	}
	var f Fault
	if faulty {
		f = l.nextFault()
	}
	a, hang := l.applyFault(f, effect)
	h.mu.Unlock()
	if hang {
		<-ctx.Done()
	}
	return a
}

// nextFault takes the fault for an operation: the next injected one, else a random one. The zero Fault means none. The caller holds the
// site's mutex.
func (l *lock) nextFault() Fault {
	if len(l.nextFaults) > 0 {
		f := l.nextFaults[0]
		l.nextFaults = l.nextFaults[1:]
		return f
	}
	odds, draw := l.site.odds, l.site.rng.Float64()
	for _, c := range []struct {
		kind FaultKind
		odds float64
	}{{Lost, odds.Lost}, {LostAck, odds.LostAck}, {Late, odds.Late}, {Busy, odds.Busy}, {Offline, odds.Offline}} {
		if draw < c.odds {
			return Fault{Kind: c.kind, After: time.Duration(l.site.rng.Int64N(int64(l.caps.Lifetime())))}
		}
		draw -= c.odds
	}
	return Fault{}
}

// applyFault runs effect, or not, as the fault f requires, and returns the answer of the operation. The zero Fault and an unknown kind run
// effect normally. If hang is true, the answer must wait until the call's deadline. The caller holds the site's mutex.
func (l *lock) applyFault(f Fault, effect func() driver.Answer) (a driver.Answer, hang bool) {
	switch f.Kind {
	case Lost:
		return driver.Answer{Result: slot.Timeout}, false
	case LostAck:
		effect()
		return driver.Answer{Result: slot.Timeout}, false
	case Unconfirmed:
		effect()
		return driver.Answer{Result: slot.NotConfirmed}, false
	case Hang:
		effect()
		return driver.Answer{Result: slot.Timeout}, true
	case Late:
		l.site.runLater(min(f.After, l.caps.Lifetime()-l.spec.Latency-lateMargin), effect)
		return driver.Answer{Result: slot.Timeout}, false
	case Offline:
		return driver.Answer{Result: slot.LockOffline}, false
	case Busy:
		return driver.Answer{Result: slot.Busy, RetryAfter: f.After}, false
	case Duplicate:
		return driver.Answer{Result: slot.Duplicate}, false
	case FalseDuplicate:
		effect()
		return driver.Answer{Result: slot.Duplicate}, false
	case Occupied:
		return driver.Answer{Result: slot.Occupied}, false
	case Full:
		return driver.Answer{Result: slot.SlotsFull}, false
	case Jammed:
		return driver.Answer{Result: slot.Jammed}, false
	case LowPower:
		return driver.Answer{Result: slot.LowPower}, false
	case ClockUntrusted:
		return driver.Answer{Result: slot.ClockUntrusted}, false
	}
	return effect(), false
}

// lateMargin keeps late effects within the operation's lifetime, because timers may fire late.
const lateMargin = 50 * time.Millisecond

// runLater runs the effect of an operation after a delay, although the operation already has an answer. It drops the effect if the site is
// closed, or if the timer fires too late. The caller holds h.mu.
func (h *Site) runLater(after time.Duration, effect func() driver.Answer) {
	if h.closed {
		return
	}
	began := time.Now()
	var t *time.Timer
	t = time.AfterFunc(max(after, 0), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.late, t)
		if !h.closed && time.Since(began) <= after+lateMargin { // a timer that fires more than lateMargin late may be past the operation's lifetime
			effect()
		}
	})
	h.late[t] = struct{}{}
}
