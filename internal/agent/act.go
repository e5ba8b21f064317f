package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"latchkey.dev/internal/lock/slot"
)

const (
	maxDeadline  = 10 * time.Second
	actsAtOnce   = 16
	operationAct = "unlock"
)

// The outcomes of an act.
const (
	actDone    = "done"
	actFailed  = "failed"
	actExpired = "expired" // it was not carried out and never will be
	actUnknown = "unknown" // it may or may not have been
)

var errTooManyActs = errors.New("too many acts within ten minutes; this one was not carried out")

// act is an order to open, as it was received.
type act struct {
	id        string
	address   string
	operation string
	deadline  time.Time
	// presentation of an act of a SmartKey.
	presentation []byte
}

// actor carries out acts, each at most once and none after its deadline.
type actor struct {
	bridge *Bridge
	mu     sync.Mutex
	now    map[string]bool // under way
	wait   sync.WaitGroup
}

// start carries an act out beside the caller. Too many at once are refused, not queued.
func (r *actor) start(ctx context.Context, a act) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now[a.id] {
		return // its own end will be told
	}
	if len(r.now) >= actsAtOnce {
		r.bridge.out.act(actRecord{ID: a.id, Outcome: actExpired, Result: string(slot.Busy), At: r.bridge.clock.Now()})
		return
	}
	r.now[a.id] = true
	r.wait.Go(func() {
		rec := r.once(ctx, a)
		r.ended(a.id) // before it is told: who asks again once it knows is answered again
		r.bridge.out.act(rec)
	})
}

func (r *actor) ended(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.now, id)
}

func (r *actor) underWay(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now[id]
}

func (r *actor) once(ctx context.Context, a act) actRecord {
	b := r.bridge
	rec, first, err := b.store.beginAct(a.id, b.clock.Now())
	switch {
	case err != nil:
		b.log.Error("act not begun", "act", a.id, "error", err)
		return actRecord{ID: a.id, Outcome: actExpired, Result: string(slot.Busy), At: b.clock.Now()}
	case !first:
		return settled(rec)
	}
	if r.admit(&a, &rec) {
		rec.Outcome, rec.Result = r.carryOut(ctx, a)
	}
	rec.At = b.clock.Now()
	if err := b.store.endAct(rec); err != nil {
		b.log.Error("end of an act not stored", "act", a.id, "error", err)
	}
	b.log.Info("act", "act", a.id, "lock", a.address, "outcome", rec.Outcome, "result", rec.Result, "reason", rec.Reason)
	return rec
}

// settled gives an act whose end was lost with an earlier run the only honest outcome.
func settled(rec actRecord) actRecord {
	if rec.Outcome == "" {
		rec.Outcome = actUnknown
	}
	return rec
}

func (r *actor) carryOut(ctx context.Context, a act) (outcome, result string) {
	o, ok := r.bridge.owners[a.address]
	if !ok || a.operation != operationAct || !o.lock.Capabilities().RemoteUnlock {
		return actFailed, string(slot.Unsupported)
	}
	ctx, cancel := context.WithDeadline(ctx, a.deadline)
	defer cancel()
	if !o.radio.acquire(ctx) {
		return actExpired, string(slot.Busy)
	}
	defer o.radio.release()
	if !time.Now().Before(a.deadline) { // ctx may not know yet
		return actExpired, string(slot.Timeout)
	}
	answer := o.lock.Unlock(ctx)
	if answer.Result == slot.Jammed {
		r.bridge.jammed(a.address)
	}
	switch {
	case answer.Result == slot.OK:
		outcome = actDone
	case answer.Result.MayTakeEffect() && !answer.Unsent:
		outcome = actUnknown
	default:
		outcome = actFailed
	}
	return outcome, string(answer.Result)
}
