package bridgelink

import (
	"sync"
	"sync/atomic"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/lock"
)

// order is an act that somebody waits for.
type order struct {
	actID    string
	deadline time.Time           // by the monotonic clock of this process
	claimed  *lock.UnlockCommand // when it was stored; nil: it was not, and is before it is sent
	taken    atomic.Bool         // by its session, or by whoever waited and gave up before
	// presentation of an act of a SmartKey; it is stored nowhere.
	presentation []byte
	late         atomic.Bool // it was not sent: its deadline was over
	reply        func(lock.Outcome, error)
}

// mailbox is what others leave for a session. It keeps what is bounded: a set of locks, a few orders, one end.
type mailbox struct {
	kick chan struct{} // of one

	mu     sync.Mutex
	dirty  map[string]struct{} // locks to be told of, by id
	orders []*order
	newest map[string]int64 // of locks, their newest generation in the database, to compare with what was told; nil: none
	end    cause
	drain  time.Time
	epoch  int64 // of the session, once it is open
	floor  int64 // below this epoch it does not count
}

func (b *mailbox) poke() {
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

// touch notes that a lock changed. Several changes before the next look are one.
func (b *mailbox) touch(lockID string) {
	b.mu.Lock()
	if b.dirty == nil {
		b.dirty = map[string]struct{}{}
	}
	b.dirty[lockID] = struct{}{}
	b.mu.Unlock()
	b.poke()
}

// order leaves an act, unless the session has ended, is about to leave, or has too many. A session that shall leave
// later takes acts until then. It returns why not, in the word of an answer.
func (b *mailbox) order(o *order, now time.Time) (why string) {
	b.mu.Lock()
	switch {
	case b.end == shuttingDown, b.end == "" && !b.drain.IsZero() && !now.Before(b.drain):
		why = leaving
	case b.end != "", len(b.orders) >= ordersMax:
		why = busy
	default:
		b.orders = append(b.orders, o)
	}
	b.mu.Unlock()
	b.poke()
	return why
}

// cut ends the session. The first cause counts.
func (b *mailbox) cut(why cause) {
	b.mu.Lock()
	if b.end == "" {
		b.end = why
	}
	b.mu.Unlock()
	b.poke()
}

// drainAt has the session leave at a moment.
func (b *mailbox) drainAt(at time.Time) {
	b.mu.Lock()
	b.drain = at
	b.mu.Unlock()
	b.poke()
}

func (b *mailbox) ended() cause {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.end
}

func (b *mailbox) drains() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.drain
}

// takeDirty takes out at most so many locks.
func (b *mailbox) takeDirty(most int) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := make([]string, 0, min(most, len(b.dirty)))
	for id := range b.dirty {
		if len(ids) == most {
			return ids
		}
		ids = append(ids, id)
		delete(b.dirty, id)
	}
	b.dirty = nil
	return ids
}

func (b *mailbox) takeOrders() []*order {
	b.mu.Lock()
	defer b.mu.Unlock()
	orders := b.orders
	b.orders = nil
	return orders
}

// letter is a message on its way out; order is set for an act.
type letter struct {
	message *lockv1.ConnectResponse
	order   *order
}

// outbox is what waits to be sent. A sender runs only while there is something: an idle session has none.
type outbox struct {
	queue   []letter
	sending bool
	moved   atomic.Int64 // when the sender last got rid of a message, or began; Unix nanoseconds
	sent    chan error   // of one: the sender is done
}

func (o *outbox) put(l letter) { o.queue = append(o.queue, l) }

// first puts an act before everything that waits.
func (o *outbox) first(l letter) { o.queue = append([]letter{l}, o.queue...) }

func (o *outbox) room() int  { return max(outboxMax-len(o.queue), 0) }
func (o *outbox) full() bool { return len(o.queue) >= outboxMax }
func (o *outbox) idle() bool { return !o.sending && len(o.queue) == 0 }
func (o *outbox) returned()  { o.sending = false }

// flush has a sender send what waits, unless one is at it.
func (o *outbox) flush(st stream) {
	if o.sending || len(o.queue) == 0 {
		return
	}
	batch := o.queue
	o.queue, o.sending = nil, true
	o.moved.Store(time.Now().UnixNano())
	go func() { o.sent <- o.send(st, batch) }()
}

func (o *outbox) send(st stream, batch []letter) error {
	for _, l := range batch {
		if l.order != nil && !l.order.stamp(l.message.GetAct(), time.Now()) {
			continue
		}
		if err := st.Send(l.message); err != nil {
			return err
		}
		o.moved.Store(time.Now().UnixNano())
	}
	return nil
}

// stamp gives an act the time it has left. false: none is left, and it is not sent.
func (o *order) stamp(act *lockv1.Act, now time.Time) bool {
	left := o.deadline.Sub(now)
	if left < time.Millisecond {
		o.late.Store(true)
		return false
	}
	act.DeadlineMs = uint32(left / time.Millisecond)
	return true
}

// stuck is for how long the sender has not got rid of a message.
func (o *outbox) stuck(now time.Time) time.Duration {
	if !o.sending {
		return 0
	}
	return now.Sub(time.Unix(0, o.moved.Load()))
}

// stuckAt is when stuck will reach most; zero: not as things are.
func (o *outbox) stuckAt(most time.Duration) time.Time {
	if !o.sending {
		return time.Time{}
	}
	return time.Unix(0, o.moved.Load()).Add(most)
}

// opened notes the session's epoch, for others to compare. If a higher one was told meanwhile, the session has ended.
func (b *mailbox) opened(epoch int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch = epoch
	if epoch < b.floor && b.end == "" {
		b.end = superseded
	}
}

// older says whether the session is open under a lower epoch. One that is still on its way in remembers the epoch: it
// may have got a lower one already without having told.
func (b *mailbox) older(epoch int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch == 0 {
		b.floor = max(b.floor, epoch)
		return false
	}
	return b.epoch < epoch
}

// open is the session's epoch; 0 while it is on its way in or on its way out.
func (b *mailbox) open() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end != "" {
		return 0
	}
	return b.epoch
}
