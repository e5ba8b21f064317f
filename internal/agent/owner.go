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
	inboxLen = 16 // batches; a full inbox holds the stream back
	never    = 365 * 24 * time.Hour
	fresh    = time.Hour // what was read within is not read again for a new session: reading costs battery
)

// radio carries one call at a time.
type radio chan struct{}

// acquire waits for the radio until ctx ends.
func (r radio) acquire(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case r <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r radio) release() { <-r }

// owner drives one lock. Its goroutine is the only one to touch state.
type owner struct {
	bridge    *Bridge
	lock      driver.Lock
	radio     radio
	lifetime  time.Duration // the driver's own
	state     slot.Lock
	inbox     chan []slot.Event
	entries   chan entry
	answers   chan slot.Event // holds one
	met       chan struct{}   // holds one signal: a session with the service has begun
	doubted   chan struct{}   // holds one signal: the lock is in reach again, any slot may have changed
	altered   chan struct{}   // holds one signal: somebody changed slots at the lock, it does not say which
	busy      bool            // a call is under way
	timer     *time.Timer
	read      map[uint32]time.Time // when a slot was last read, in this run
	restraint restraint
	trouble   trouble
	looking   sync.Mutex // held while the lock's status is read and stored
	offlineAt time.Time  // when the lock was last found offline; guarded by looking
	clock     *lockClock
	guard     *guard
	saved     time.Duration // the applied offset of the lock's clock as it is stored
}

// newOwner loads what is known of a lock and publishes it.
func newOwner(b *Bridge, l driver.Lock, r radio) (*owner, error) {
	caps := l.Capabilities()
	o := &owner{bridge: b, lock: l, radio: r, lifetime: caps.Lifetime(), inbox: make(chan []slot.Event, inboxLen), entries: make(chan entry), answers: make(chan slot.Event, 1),
		met: make(chan struct{}, 1), doubted: make(chan struct{}, 1), altered: make(chan struct{}, 1), read: map[uint32]time.Time{}, restraint: restraint{},
		clock: &lockClock{moved: make(chan struct{}, 1)},
	}
	// A call may wait for its turn on the radio as long as it may take. Both count towards the
	// fence, so that what starts late still cannot take effect after it.
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
	o.state, o.saved, o.clock.seen, o.clock.applied = state, offset, offset, offset
	b.out.learn(l.Address(), state, nil, b.clock.Now())
	o.guard, err = newGuard(o)
	return o, err
}

// run ends with ctx, after the call under way has ended, or with the store's failure.
func (o *owner) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		if o.busy {
			<-o.answers
		}
	}()
	o.timer = time.NewTimer(never)
	defer o.timer.Stop()
	events := []slot.Event{{Kind: slot.Restarted}}
	var used entry
	for {
		before := o.state
		if err := o.advance(ctx, events, used.happened()...); err != nil {
			return fmt.Errorf("lock %s: %w", o.lock.Address(), err)
		}
		used.answer(before, o.state)
		used = entry{}
		select {
		case <-ctx.Done():
			return nil
		case events = <-o.inbox:
		case used = <-o.entries:
			events = []slot.Event{{Kind: slot.CodeUsed, Slot: used.slot}}
		case ev := <-o.answers:
			events = []slot.Event{o.heard(o.state, ev)}
		case <-o.met:
			events = o.doubts(fresh)
		case <-o.doubted:
			events = o.doubts(0)
		case <-o.altered:
			events = o.alterations()
		case <-o.clock.moved:
			events = []slot.Event{{Kind: slot.TimePassed}}
		case <-o.timer.C:
			events = []slot.Event{{Kind: slot.TimePassed}}
		}
	}
}

// heard notes an answer to the operation of a state, and puts off what silence makes pointless to repeat soon.
func (o *owner) heard(of slot.Lock, ev slot.Event) slot.Event {
	o.busy = false
	op := of.Op
	if op.Kind == slot.OpRead && ev.Result == slot.OK {
		o.read[op.Slot] = o.bridge.clock.Now()
	}
	s, _ := of.Slot(op.Slot)
	ev.RetryAfter = max(ev.RetryAfter, o.restraint.after(op, ev.Result, s.Content.Kind == slot.Ours))
	return ev
}

// doubts asks to read what should hold codes of ours and was not read for a while.
func (o *owner) doubts(older time.Duration) (events []slot.Event) {
	now := o.bridge.clock.Now()
	for _, s := range o.state.Slots {
		at, ok := o.read[s.Number]
		if s.Content.Kind == slot.Ours && (!ok || now.Sub(at) >= older) {
			events = append(events, slot.Event{Kind: slot.ReadRequested, Slot: s.Number})
		}
	}
	return events
}

// alterations says of each slot that holds a code, or is about to, that somebody changed it.
func (o *owner) alterations() (events []slot.Event) {
	for _, s := range o.state.Slots {
		if s.Content.Kind == slot.Ours || s.Number == o.state.Op.Slot && o.state.Op.Kind == slot.OpSet {
			events = append(events, slot.Event{Kind: slot.ChangedAtLock, Slot: s.Number})
		}
	}
	return events
}

// advance moves the lock by some events, stores the outcome in one write, and only then acts. An answer that waits comes
// first: were we held up until its call had to be over, the events would have us give it up.
func (o *owner) advance(ctx context.Context, events []slot.Event, happened ...occurrence) error {
	before := o.state
	select {
	case ev := <-o.answers:
		events = append([]slot.Event{o.heard(before, ev)}, events...)
	default:
	}
	p := pass{state: before, tell: map[uint32]slot.Observed{}, happened: happened}
	if by := o.clock.take(); by != 0 {
		p.state = reclocked(p.state, by)
	}
	o.move(&p, events)
	o.glance(ctx, &p)
	if len(happened) > 0 { // before it is stored: from then on no other lock may take a code that was used here
		o.bridge.spent.learn(p.state)
	}
	if err := o.save(before, p.state, p.happened); err != nil {
		return err
	}
	o.state = p.state
	o.bridge.out.learn(o.lock.Address(), p.state, p.tell, o.bridge.clock.Now())
	if len(p.happened) > 0 {
		signal(o.bridge.events)
	}
	if p.start != nil {
		row, _ := o.state.Slot(p.start.Slot)
		o.begin(ctx, *p.start, row.Desired.OneTimeID)
	}
	o.timer.Reset(p.wake)
	return nil
}

// begin has a call made beside us, of a code for one use unless that is empty.
func (o *owner) begin(ctx context.Context, op slot.Op, once string) {
	o.busy = true
	go o.carryOut(ctx, op, once, o.clock.offset())
}

// save stores what has changed, and what happened: in one write, or a power cut between two would
// leave a change that is known and that nobody hears of.
func (o *owner) save(before, after slot.Lock, happened []occurrence) error {
	offset := o.clock.offset()
	if offset == o.saved {
		return o.bridge.store.saveLock(o.lock.Address(), before, after, offset, happened...)
	}
	o.saved = offset
	return o.bridge.store.writeLock(o.lock.Address(), after, changedSlots(before, after), offset, happened...)
}

// carryOut makes one call and answers, always. A code that was used elsewhere while it waited for the radio is not set. Offset
// is the lock's clock minus ours.
func (o *owner) carryOut(ctx context.Context, op slot.Op, once string, offset time.Duration) {
	ctx, cancel := context.WithDeadline(ctx, op.ExpiresAt)
	defer cancel()
	ev := slot.Event{Kind: slot.Answered, Seq: op.Seq}
	a := driver.Answer{Result: slot.Busy}
	if o.turn(ctx, op) {
		if op.Kind != slot.OpSet || !o.bridge.spent.has(once) {
			a, ev.Present, ev.PIN = o.call(ctx, op, offset)
			a = o.doubtRefusal(ctx, op, a)
		}
		o.radio.release()
	}
	ev.Result, ev.Rule, ev.RetryAfter = a.Result, a.Rule, a.RetryAfter
	o.trouble.heard(o.bridge.log.With("lock", o.lock.Address()), op, a.Result, o.bridge.clock.Now())
	o.reached(ctx, a.Result)
	o.answers <- ev
}

// reached looks at the lock's status at once when an answer contradicts what is known of it.
func (o *owner) reached(ctx context.Context, r slot.Result) {
	_, st := o.bridge.out.known(o.lock.Address())
	if (r == slot.OK && !st.Online) || (r == slot.LockOffline && st.Online) {
		o.bridge.look(context.WithoutCancel(ctx), o.lock)
	}
}

// turn takes the radio, unless so late that the call could take effect after the fence.
func (o *owner) turn(ctx context.Context, op slot.Op) bool {
	latest, cancel := context.WithDeadline(ctx, op.ExpiresAt.Add(-o.lifetime))
	defer cancel()
	return o.radio.acquire(latest)
}

func (o *owner) call(ctx context.Context, op slot.Op, offset time.Duration) (a driver.Answer, present bool, pin slot.PIN) {
	switch op.Kind {
	case slot.OpSet:
		set := driver.Setting{Slot: op.Slot, PIN: op.PIN, Replace: op.Replace}
		set.NotBefore, set.NotAfter = lockWindow(op.NotBefore, op.NotAfter, offset, o.lock.Capabilities().Granularity)
		a = o.lock.Set(ctx, set)
	case slot.OpClear:
		a = o.lock.Clear(ctx, op.Slot)
	case slot.OpRead:
		var c driver.Content
		c, a = o.lock.Read(ctx, op.Slot)
		present, pin = c.Present, c.PIN
	}
	return a, present, pin
}

// doubtRefusal looks behind a refusal of a code as a duplicate: locks say so of a code that they have
// just stored, or that they stored when the answer was lost. What they hold all the same must not be
// forgotten there.
func (o *owner) doubtRefusal(ctx context.Context, op slot.Op, a driver.Answer) driver.Answer {
	if op.Kind != slot.OpSet || a.Result != slot.Duplicate || op.Replace { // replacing, the slot is emptied anyway
		return a
	}
	unsure := driver.Answer{Result: slot.NotConfirmed}
	if o.lock.Capabilities().ReadBack {
		c, read := o.lock.Read(ctx, op.Slot)
		switch {
		case read.Result != slot.OK:
			return unsure
		case c.Present && (c.PIN == "" || c.PIN == op.PIN):
			return driver.Answer{Result: slot.OK}
		}
		return a
	}
	if op.ExpiresAt.Sub(o.bridge.clock.Now()) < o.lifetime || o.lock.Clear(ctx, op.Slot).Result != slot.OK {
		return unsure
	}
	return a
}

// offer hands events to the owner, waiting while its inbox is full.
func (o *owner) offer(ctx context.Context, events []slot.Event) {
	select {
	case o.inbox <- events:
	case <-ctx.Done():
	}
}
