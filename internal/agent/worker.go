package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

const (
	inboxSize    = 16                   // batches in the inbox; a full inbox blocks the stream
	never        = 365 * 24 * time.Hour // wait of a timer that is not set
	recentlyRead = time.Hour            // a slot read within this time is not read again for a new session, to save battery
)

// lockWorker drives one lock. Only its goroutine uses state.
type lockWorker struct {
	bridge        *Bridge
	lock          driver.Lock
	radio         *radio
	lifetime      time.Duration // longest time from the start of a call until it can still take effect, according to the driver
	state         slot.Lock
	inbox         chan []slot.Event    // batches of events from other goroutines: see enqueue
	uses          chan codeUse         // openings with a code, which the worker journals
	results       chan slot.Event      // results of calls to the lock
	sessionOpened chan struct{}        // signal to read slots that were not read recently: a session has begun, or the driver is connected again
	reconnected   chan struct{}        // signal to read all slots: the lock is reachable again and any slot may have changed
	slotsAltered  chan struct{}        // signal that slots were changed at the lock, and it is not known which
	calls         int                  // calls to the lock that run: two if one has outlived its operation
	timer         *time.Timer          // fires when the state must be advanced, without an event
	read          map[uint32]time.Time // when each slot was last read in this run
	backoff       backoff
	failures      failureLog
	statusMu      sync.Mutex // mutex held while the lock's status is read and stored
	offlineAt     time.Time  // when the lock last went offline; zero: not since the start. Guarded by statusMu
	clock         *lockClock
	guard         *keypadGuard
	savedOffset   time.Duration // stored offset of the lock's clock; if the applied one differs, save stores that
}

// newLockWorker creates the worker of a lock from its stored state, and puts the state into the outbox. For a lock that is new to the
// bridge, it stores an empty state. r is the radio that the lock shares with others.
func newLockWorker(b *Bridge, l driver.Lock, r *radio) (*lockWorker, error) {
	caps := l.Capabilities()
	w := &lockWorker{bridge: b, lock: l, radio: r, lifetime: caps.Lifetime(), inbox: make(chan []slot.Event, inboxSize), uses: make(chan codeUse), results: make(chan slot.Event, 1),
		sessionOpened: make(chan struct{}, 1), reconnected: make(chan struct{}, 1), slotsAltered: make(chan struct{}, 1), read: map[uint32]time.Time{}, backoff: backoff{},
		clock: &lockClock{moved: make(chan struct{}, 1)},
	}
	// A call may wait for the radio as long as it may take itself. The lifetime includes both, so that a call that starts late cannot take
	// effect after its lifetime.
	caps.OpLifetime = 2 * caps.Lifetime()
	state, offset, known, err := b.store.loadLock(l.Address(), caps)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", l.Address(), err)
	}
	if !known {
		state = slot.NewLock(caps, b.clock.Now())
		if err := b.store.writeLock(l.Address(), state, nil, 0); err != nil {
			return nil, fmt.Errorf("lock %s: %w", l.Address(), err)
		}
	}
	w.state, w.savedOffset, w.clock.seen, w.clock.applied = state, offset, offset, offset
	b.outbox.setSlots(l.Address(), state, nil, b.clock.Now())
	w.guard, err = newKeypadGuard(w)
	return w, err
}

// run runs the worker until ctx ends and the running calls have returned (then it returns nil), or until the store fails.
func (w *lockWorker) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		for range w.calls {
			<-w.results
		}
	}()
	w.timer = time.NewTimer(never)
	defer w.timer.Stop()
	events := []slot.Event{{Kind: slot.Restarted}}
	var used codeUse
	for {
		before := w.state
		if err := w.advance(ctx, events, used.entries()...); err != nil {
			return fmt.Errorf("lock %s: %w", w.lock.Address(), err)
		}
		used.reportEndedCode(before, w.state)
		used = codeUse{}
		select {
		case <-ctx.Done():
			return nil
		case events = <-w.inbox:
		case used = <-w.uses:
			events = []slot.Event{{Kind: slot.CodeUsed, Slot: used.slot}}
		case ev := <-w.results:
			events = []slot.Event{w.onAnswer(w.state, ev)}
		case <-w.sessionOpened:
			events = w.slotsToVerify(recentlyRead)
		case <-w.reconnected:
			events = w.slotsToVerify(0)
		case <-w.slotsAltered:
			events = w.alteredEvents()
		case <-w.clock.moved:
			events = []slot.Event{{Kind: slot.TimePassed}}
		case <-w.timer.C:
			events = []slot.Event{{Kind: slot.TimePassed}}
		}
	}
}

// onAnswer counts a call as ended and completes ev, its result, before that is applied: it adds a retry delay if the running operation of
// state is likely to fail again, and records when a slot was read. A call can outlive its operation: then ev stays unchanged, and slot.Step
// ignores it.
func (w *lockWorker) onAnswer(state slot.Lock, ev slot.Event) slot.Event {
	w.calls--
	op := state.Op
	if ev.Seq != op.Seq {
		return ev
	}
	if op.Kind == slot.OpRead && ev.Result == slot.OK {
		w.read[op.Slot] = w.bridge.clock.Now()
	}
	s, _ := state.Slot(op.Slot)
	ev.RetryAfter = max(ev.RetryAfter, w.backoff.recordResult(op, ev.Result, s.Content.Kind == slot.Own))
	return ev
}

// slotsToVerify returns an event for each slot to read again: those with a code of the server, as far as the bridge knows, that were not
// read for the time older (0: all), or never since the bridge started.
func (w *lockWorker) slotsToVerify(older time.Duration) (events []slot.Event) {
	now := w.bridge.clock.Now()
	for _, s := range w.state.Slots {
		at, ok := w.read[s.Number]
		if s.Content.Kind == slot.Own && (!ok || now.Sub(at) >= older) {
			events = append(events, slot.Event{Kind: slot.ReadRequested, Slot: s.Number})
		}
	}
	return events
}

// alteredEvents returns a ChangedAtLock event for each slot that holds a code of the server or is being set. It is used when any slot may
// have been changed at the lock.
func (w *lockWorker) alteredEvents() (events []slot.Event) {
	for _, s := range w.state.Slots {
		if s.Content.Kind == slot.Own || s.Number == w.state.Op.Slot && w.state.Op.Kind == slot.OpSet {
			events = append(events, slot.Event{Kind: slot.ChangedAtLock, Slot: s.Number})
		}
	}
	return events
}

// advance applies events to the lock's state, stores the result with the journal entries in one write, and only then reports it and starts
// the next call, except for a quickRead. After an error w.state is unchanged, but the worker must end: the clock's offset already counts as
// stored. It applies a waiting result of a call first, because otherwise the events could time out the call.
func (w *lockWorker) advance(ctx context.Context, events []slot.Event, entries ...journalEntry) error {
	before := w.state
	select {
	case ev := <-w.results:
		events = append([]slot.Event{w.onAnswer(before, ev)}, events...)
	default:
	}
	t := transition{state: before, reports: map[uint32]slot.Observed{}, entries: entries}
	if by := w.clock.adoptMeasuredOffset(); by != 0 {
		t.state = shiftWindows(t.state, by)
	}
	w.applyEvents(&t, events)
	w.quickRead(ctx, &t)
	if len(entries) > 0 { // done before the state is stored, because from now on no other lock may accept a code that was used here
		w.bridge.usedCodes.addFrom(t.state)
	}
	if err := w.save(before, t.state, t.entries); err != nil {
		return err
	}
	w.state = t.state
	w.bridge.outbox.setSlots(w.lock.Address(), t.state, t.reports, w.bridge.clock.Now())
	if len(t.entries) > 0 {
		driver.Signal(w.bridge.events)
	}
	if t.start != nil {
		row, _ := w.state.Slot(t.start.Slot)
		w.startCall(ctx, *t.start, row.Desired.OneTimeID)
	}
	w.timer.Reset(t.wake)
	return nil
}

// startCall makes the call of op to the lock in the background; the result arrives in w.results. once is the id of the one-time code that
// the call sets, or "".
func (w *lockWorker) startCall(ctx context.Context, op slot.Op, once string) {
	w.calls++
	go w.runCall(ctx, op, once, w.clock.appliedOffset())
}

// save stores the changed state and the journal entries in one write, so that a power cut cannot lose the entries. After an error
// savedOffset may be wrong, so the worker must end.
func (w *lockWorker) save(before, after slot.Lock, entries []journalEntry) error {
	offset := w.clock.appliedOffset()
	if offset == w.savedOffset {
		return w.bridge.store.saveLock(w.lock.Address(), before, after, offset, entries...)
	}
	w.savedOffset = offset
	return w.bridge.store.writeLock(w.lock.Address(), after, changedSlots(before, after), offset, entries...)
}

// runCall makes the call of op to the lock, and that of checkDuplicate, and always sends the result. The result is Busy, without a call, if
// the radio is not free in time, or if the one-time code to set was used at another lock in the meantime. offset is the lock's clock minus
// the bridge's.
func (w *lockWorker) runCall(ctx context.Context, op slot.Op, once string, offset time.Duration) {
	ctx, cancel := context.WithDeadline(ctx, op.ExpiresAt)
	defer cancel()
	ev := slot.Event{Kind: slot.Answered, Seq: op.Seq}
	a := driver.Answer{Result: slot.Busy}
	if w.acquireRadio(ctx, op) {
		if op.Kind != slot.OpSet || !w.bridge.usedCodes.contains(once) {
			a, ev.Present, ev.PIN = w.callLock(ctx, op, offset)
			a = w.checkDuplicate(ctx, op, a)
		}
		w.radio.release()
	}
	ev.Result, ev.Rule, ev.RetryAfter = a.Result, a.Rule, a.RetryAfter
	w.failures.onResult(w.bridge.log.With("lock", w.lock.Address()), op, a.Result, w.bridge.clock.Now())
	w.onResult(ctx, a.Result)
	w.results <- ev
}

// onResult reads the lock's status at once if the result r of an operation contradicts the known status: a lock that is marked offline
// answered, or the reverse.
func (w *lockWorker) onResult(ctx context.Context, r slot.Result) {
	st := w.bridge.outbox.lastStatus(w.lock.Address())
	if (r == slot.OK && !st.Online) || (r == slot.LockOffline && st.Online) {
		w.bridge.readStatus(context.WithoutCancel(ctx), w.lock)
	}
}

// acquireRadio waits for the radio. It returns false if ctx ends, or if too little time is left for the call to take effect before op ends.
// After true, the caller must release the radio.
func (w *lockWorker) acquireRadio(ctx context.Context, op slot.Op) bool {
	latest, cancel := context.WithDeadline(ctx, op.ExpiresAt.Add(-w.lifetime))
	defer cancel()
	return w.radio.acquire(latest)
}

// callLock makes the driver call for op. offset is the lock's clock minus the bridge's. After a read, present and pin are what it returned.
func (w *lockWorker) callLock(ctx context.Context, op slot.Op, offset time.Duration) (a driver.Answer, present bool, pin slot.PIN) {
	switch op.Kind {
	case slot.OpSet:
		set := driver.Setting{Slot: op.Slot, PIN: op.PIN, Replace: op.Replace}
		set.NotBefore, set.NotAfter = windowInLockTime(op.NotBefore, op.NotAfter, offset, w.lock.Capabilities().Granularity)
		a = w.lock.Set(ctx, set)
	case slot.OpClear:
		a = w.lock.Clear(ctx, op.Slot)
	case slot.OpRead:
		var c driver.Content
		c, a = w.lock.Read(ctx, op.Slot)
		present, pin = c.Present, c.PIN
	}
	return a, present, pin
}

// checkDuplicate replaces the answer a if the lock refused a code as duplicate. A lock also refuses a code that it has stored itself a
// moment ago, for example if its answer was lost. So checkDuplicate reads or clears the slot, because the bridge must not forget a code
// that the lock holds. It answers OK if the slot holds the code, NotConfirmed if that is not known, and otherwise a. It does nothing for
// op.Replace.
func (w *lockWorker) checkDuplicate(ctx context.Context, op slot.Op, a driver.Answer) driver.Answer {
	if op.Kind != slot.OpSet || a.Result != slot.Duplicate || op.Replace { // with Replace, the bridge clears the slot anyway
		return a
	}
	unsure := driver.Answer{Result: slot.NotConfirmed}
	if w.lock.Capabilities().ReadBack {
		c, read := w.lock.Read(ctx, op.Slot)
		switch {
		case read.Result != slot.OK:
			return unsure
		case c.Present && (c.PIN == "" || c.PIN == op.PIN):
			return driver.Answer{Result: slot.OK}
		}
		return a
	}
	if op.ExpiresAt.Sub(w.bridge.clock.Now()) < w.lifetime || w.lock.Clear(ctx, op.Slot).Result != slot.OK {
		return unsure
	}
	return a
}

// enqueue puts events into the worker's inbox. It blocks while the inbox is full, and drops the events if ctx ends.
func (w *lockWorker) enqueue(ctx context.Context, events []slot.Event) {
	select {
	case w.inbox <- events:
	case <-ctx.Done():
	}
}
