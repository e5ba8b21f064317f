package bridgelink

import (
	"sync"
	"sync/atomic"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/lock"
)

// command is an unlock command with a caller that waits for its result.
type command struct {
	id       string
	deadline time.Time           // deadline of the command on the process's monotonic clock
	claimed  *lock.UnlockCommand // claim that was made when the command was stored; nil: the session must claim the command before it sends it
	taken    atomic.Bool         // set once: by the session that sends the command, or by the caller that gives up
	// presentation is the phone's SmartKey message. It is never stored.
	presentation []byte
	expired      atomic.Bool // the command was not sent because its deadline passed
	reply        func(lock.Outcome, error)
}

// mailbox holds the bounded work that other goroutines queue for a session.
type mailbox struct {
	wake chan struct{}

	mu       sync.Mutex
	dirty    map[string]struct{} // ids of locks whose desired slots changed
	commands []*command
	newest   map[string]int64 // newest generation of each lock in the database, for the comparison with what was sent; nil: no comparison is due
	cause    cause
	drainAt  time.Time
	epoch    int64 // epoch of the session; 0 until the session is open
	minEpoch int64 // a session below this epoch is superseded
}

func (b *mailbox) notify() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// markDirty queues a lock for sending. Several changes of a lock before the next send become one message.
func (b *mailbox) markDirty(lockID string) {
	b.mu.Lock()
	if b.dirty == nil {
		b.dirty = map[string]struct{}{}
	}
	b.dirty[lockID] = struct{}{}
	b.mu.Unlock()
	b.notify()
}

// addCommand queues an unlock command. It returns a reason if it refuses: the session has ended, is draining, or has too many commands. A
// session with a drain time in the future still accepts commands.
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

// end ends the session. Only the first cause is kept.
func (b *mailbox) end(why cause) {
	b.mu.Lock()
	if b.cause == "" {
		b.cause = why
	}
	b.mu.Unlock()
	b.notify()
}

// setDrainAt sets the time at which the session disconnects its bridge.
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

// takeDirty removes and returns the ids of at most limit changed locks.
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

// outgoing is a message to send to the bridge. command is set for an unlock command.
type outgoing struct {
	message *lockv1.ConnectResponse
	command *command
}

// outbox is the queue of messages to the bridge. Its sender goroutine runs only while there are messages, so that an idle session needs
// none.
type outbox struct {
	queue    []outgoing
	sending  bool
	lastMove atomic.Int64 // Unix nanoseconds when the sender last finished a message or started
	sent     chan error   // channel for the result of the sender goroutine
}

func (o *outbox) push(l outgoing) { o.queue = append(o.queue, l) }

// pushFront puts a message at the front of the queue.
func (o *outbox) pushFront(l outgoing) { o.queue = append([]outgoing{l}, o.queue...) }

// room returns how many more messages the outbox takes.
func (o *outbox) room() int    { return max(maxOutbox-len(o.queue), 0) }
func (o *outbox) isFull() bool { return len(o.queue) >= maxOutbox }
func (o *outbox) isIdle() bool { return !o.sending && len(o.queue) == 0 }
func (o *outbox) sendDone()    { o.sending = false }

// flush starts the sender goroutine, unless it already runs.
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

// setRemaining writes the time until the command's deadline into its message. It returns false if the deadline has passed.
func (o *command) setRemaining(act *lockv1.Act, now time.Time) bool {
	left := o.deadline.Sub(now)
	if left < time.Millisecond {
		o.expired.Store(true)
		return false
	}
	act.DeadlineMs = uint32(left / time.Millisecond)
	return true
}

// stalledFor returns how long the current send has been in progress.
func (o *outbox) stalledFor(now time.Time) time.Duration {
	if !o.sending {
		return 0
	}
	return now.Sub(time.Unix(0, o.lastMove.Load()))
}

// stallsAt returns when stalledFor reaches the limit; zero if nothing is being sent.
func (o *outbox) stallsAt(limit time.Duration) time.Time {
	if !o.sending {
		return time.Time{}
	}
	return time.Unix(0, o.lastMove.Load()).Add(limit)
}

// setEpoch sets the session's epoch. The session ends if a newer session of the bridge was announced meanwhile.
func (b *mailbox) setEpoch(epoch int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch = epoch
	if epoch < b.minEpoch && b.cause == "" {
		b.cause = superseded
	}
}

// isOlder reports whether the session's epoch is lower than the given one. A session that is still opening has no epoch yet; it stores the
// given one and compares in setEpoch.
func (b *mailbox) isOlder(epoch int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch == 0 {
		b.minEpoch = max(b.minEpoch, epoch)
		return false
	}
	return b.epoch < epoch
}

// openEpoch returns the epoch of an open session; 0 before the session is open and after it has ended.
func (b *mailbox) openEpoch() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause != "" {
		return 0
	}
	return b.epoch
}
