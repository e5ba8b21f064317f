package bridgelink

import (
	"sync"
	"sync/atomic"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/lock"
)

// command is an unlock command whose result a caller awaits.
type command struct {
	id       string
	deadline time.Time           // on this process's monotonic clock
	claimed  *lock.UnlockCommand // by this session when it was stored; nil: it must be claimed before it is sent
	taken    atomic.Bool         // set once, by the session that sends it or by the caller that gives up
	// presentation of a SmartKey; it is never stored.
	presentation []byte
	expired      atomic.Bool // it was not sent because its deadline passed
	reply        func(lock.Outcome, error)
}

// mailbox is what other goroutines leave for a session. Its size is bounded.
type mailbox struct {
	wake chan struct{} // buffered, holds one signal

	mu       sync.Mutex
	dirty    map[string]struct{} // ids of locks with changes to send
	commands []*command
	newest   map[string]int64 // newest generation of each lock in the database, to compare with what was sent; nil: nothing to compare
	cause    cause
	drainAt  time.Time
	epoch    int64 // of the session; 0 until it is open
	minEpoch int64 // sessions below this epoch are superseded
}

func (b *mailbox) notify() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// markDirty records that a lock changed. Several changes before the next send become one message.
func (b *mailbox) markDirty(lockID string) {
	b.mu.Lock()
	if b.dirty == nil {
		b.dirty = map[string]struct{}{}
	}
	b.dirty[lockID] = struct{}{}
	b.mu.Unlock()
	b.notify()
}

// addCommand queues a command. It returns the reason if it cannot: the session has ended, drains, or has too many commands. A session
// that drains later takes commands until then.
func (b *mailbox) addCommand(c *command, now time.Time) (why string) {
	b.mu.Lock()
	switch {
	case b.cause == shuttingDown, b.cause == "" && !b.drainAt.IsZero() && !now.Before(b.drainAt):
		why = leaving
	case b.cause != "", len(b.commands) >= maxCommands:
		why = busy
	default:
		b.commands = append(b.commands, c)
	}
	b.mu.Unlock()
	b.notify()
	return why
}

// end ends the session. The first cause counts.
func (b *mailbox) end(why cause) {
	b.mu.Lock()
	if b.cause == "" {
		b.cause = why
	}
	b.mu.Unlock()
	b.notify()
}

// setDrainAt makes the session disconnect its bridge at a time.
func (b *mailbox) setDrainAt(at time.Time) {
	b.mu.Lock()
	b.drainAt = at
	b.mu.Unlock()
	b.notify()
}

func (b *mailbox) endCause() cause {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}

func (b *mailbox) drainTime() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.drainAt
}

// takeDirty removes and returns at most limit locks.
func (b *mailbox) takeDirty(limit int) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := make([]string, 0, min(limit, len(b.dirty)))
	for id := range b.dirty {
		if len(ids) == limit {
			return ids
		}
		ids = append(ids, id)
		delete(b.dirty, id)
	}
	b.dirty = nil
	return ids
}

func (b *mailbox) takeCommands() []*command {
	b.mu.Lock()
	defer b.mu.Unlock()
	commands := b.commands
	b.commands = nil
	return commands
}

// outgoing is a message to send; command is set if it carries one.
type outgoing struct {
	message *lockv1.ConnectResponse
	command *command
}

// outbox is the queue of messages to send. Its sender goroutine runs only while there are messages, so an idle session has none.
type outbox struct {
	queue    []outgoing
	sending  bool
	lastMove atomic.Int64 // when the sender last finished a message or started; Unix nanoseconds
	sent     chan error   // buffered, one: the sender has finished
}

func (o *outbox) push(l outgoing) { o.queue = append(o.queue, l) }

// pushFront puts a message before all others.
func (o *outbox) pushFront(l outgoing) { o.queue = append([]outgoing{l}, o.queue...) }

func (o *outbox) room() int    { return max(maxOutbox-len(o.queue), 0) }
func (o *outbox) isFull() bool { return len(o.queue) >= maxOutbox }
func (o *outbox) isIdle() bool { return !o.sending && len(o.queue) == 0 }
func (o *outbox) sendDone()    { o.sending = false }

// flush starts a sender for the queued messages, unless one runs.
func (o *outbox) flush(st stream) {
	if o.sending || len(o.queue) == 0 {
		return
	}
	batch := o.queue
	o.queue, o.sending = nil, true
	o.lastMove.Store(time.Now().UnixNano())
	go func() { o.sent <- o.send(st, batch) }()
}

func (o *outbox) send(st stream, batch []outgoing) error {
	for _, l := range batch {
		if l.command != nil && !l.command.setRemaining(l.message.GetAct(), time.Now()) {
			continue
		}
		if err := st.Send(l.message); err != nil {
			return err
		}
		o.lastMove.Store(time.Now().UnixNano())
	}
	return nil
}

// setRemaining writes the remaining time into the message. It returns false if none is left.
func (o *command) setRemaining(act *lockv1.Act, now time.Time) bool {
	left := o.deadline.Sub(now)
	if left < time.Millisecond {
		o.expired.Store(true)
		return false
	}
	act.DeadlineMs = uint32(left / time.Millisecond)
	return true
}

// stalledFor is how long the sender has been busy with one message.
func (o *outbox) stalledFor(now time.Time) time.Duration {
	if !o.sending {
		return 0
	}
	return now.Sub(time.Unix(0, o.lastMove.Load()))
}

// stallsAt is when stalledFor will reach the limit; zero while nothing is being sent.
func (o *outbox) stallsAt(limit time.Duration) time.Time {
	if !o.sending {
		return time.Time{}
	}
	return time.Unix(0, o.lastMove.Load()).Add(limit)
}

// setEpoch records the session's epoch. If a newer session of the bridge was announced meanwhile, this one ends.
func (b *mailbox) setEpoch(epoch int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch = epoch
	if epoch < b.minEpoch && b.cause == "" {
		b.cause = superseded
	}
}

// isOlder reports whether the session has a lower epoch. A session that is still opening remembers the epoch, because its own may turn
// out to be lower.
func (b *mailbox) isOlder(epoch int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch == 0 {
		b.minEpoch = max(b.minEpoch, epoch)
		return false
	}
	return b.epoch < epoch
}

// openEpoch is the session's epoch; 0 before it is open and after it has ended.
func (b *mailbox) openEpoch() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause != "" {
		return 0
	}
	return b.epoch
}
