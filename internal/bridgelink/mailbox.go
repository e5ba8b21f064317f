package bridgelink

import (
	"sync"
	"sync/atomic"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bus"
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
	expired      atomic.Bool               // the command is not sent: its deadline passed, or its SmartKey message is missing or not needed
	reply        func(lock.Outcome, error) // called at most once, by the session; must not block
}

// mailbox holds the bounded work that other goroutines queue for a session.
type mailbox struct {
	wake chan struct{} // signal that there is work

	mu       sync.Mutex
	dirty    map[string]struct{} // marks of markDirty: ids of locks whose desired slots changed, and bridge.KeysChanged
	commands []*command          // commands that wait to be claimed, the oldest first
	newest   map[string]int64    // newest generation of each lock in the database, to compare with what was sent; nil: no comparison
	cause    cause               // why the session must end; empty: it continues
	drainAt  time.Time           // time from which the session disconnects its bridge; zero: the session does not drain
	epoch    int64               // epoch of the session; 0 until the session is open
	minEpoch int64               // a session below this epoch is superseded
}

// notify wakes the goroutine of the session, which then looks for work in the mailbox.
func (b *mailbox) notify() { bus.Signal(b.wake) }

// markDirty records that a lock's desired slots must be sent, and wakes the session. Several changes of a lock before the next send become
// one message. With the id bridge.KeysChanged, it records that the SmartKey data must be sent.
func (b *mailbox) markDirty(lockID string) {
	b.mu.Lock()
	if b.dirty == nil {
		b.dirty = map[string]struct{}{}
	}
	b.dirty[lockID] = struct{}{}
	b.mu.Unlock()
	b.notify()
}

// addCommand queues an unlock command and returns "", or returns why it does not: leaving if the session drains or has drained, busy if it
// has ended for another reason or has maxCommands queued commands. A session with a drain time in the future still accepts commands.
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

// end requests the end of the session, and does not wait for it. Only the first cause is kept.
func (b *mailbox) end(why cause) {
	b.mu.Lock()
	if b.cause == "" {
		b.cause = why
	}
	b.mu.Unlock()
	b.notify()
}

// setDrainAt sets the time from which the session disconnects its bridge, as soon as no sent command waits for its result.
func (b *mailbox) setDrainAt(at time.Time) {
	b.mu.Lock()
	b.drainAt = at
	b.mu.Unlock()
	b.notify()
}

// endCause returns why the session must end, or "" if it continues.
func (b *mailbox) endCause() cause {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}

// drainTime returns when the session must disconnect its bridge, as setDrainAt has set it; zero: not at all.
func (b *mailbox) drainTime() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.drainAt
}

// takeDirty removes and returns at most limit of the marks of [mailbox.markDirty], in any order: ids of changed locks, and
// bridge.KeysChanged.
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

// takeCommand removes and returns the first queued unlock command, or nil if there is none.
func (b *mailbox) takeCommand() *command {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.commands) == 0 {
		return nil
	}
	c := b.commands[0]
	b.commands = b.commands[1:]
	return c
}

// outgoing is a message to send to the bridge. command is set for an unlock command.
type outgoing struct {
	message *lockv1.ConnectResponse
	command *command
}

// outbox is the queue of messages to the bridge. Its sender goroutine runs only while there are messages, so that an idle session needs
// none. Except send, only the session's goroutine calls its methods.
type outbox struct {
	queue    []outgoing
	sending  bool
	lastMove atomic.Int64 // when the sender goroutine last finished a message, or its start before the first, in Unix nanoseconds: see stalledFor
	sent     chan error   // channel for the result of the sender goroutine
}

// push appends a message to the queue, even if it is full. The next flush sends it.
func (o *outbox) push(l outgoing) { o.queue = append(o.queue, l) }

// pushFront puts an urgent message before all others, even if the queue is full.
func (o *outbox) pushFront(l outgoing) { o.queue = append([]outgoing{l}, o.queue...) }

// room returns how many more messages the outbox takes.
func (o *outbox) room() int { return max(maxOutbox-len(o.queue), 0) }

// isFull reports whether maxOutbox or more messages wait. The message that is being sent does not count.
func (o *outbox) isFull() bool { return len(o.queue) >= maxOutbox }

// isIdle reports whether no message waits or is being sent.
func (o *outbox) isIdle() bool { return !o.sending && len(o.queue) == 0 }

// sendDone records that the sender goroutine has returned. The session calls it after it has received from sent.
func (o *outbox) sendDone() { o.sending = false }

// flush starts a goroutine that sends the queued messages, unless one still runs. It sends its result to o.sent.
func (o *outbox) flush(st stream) {
	if o.sending || len(o.queue) == 0 {
		return
	}
	batch := o.queue
	o.queue, o.sending = nil, true
	o.lastMove.Store(time.Now().UnixNano())
	go func() { o.sent <- o.send(st, batch) }()
}

// send sends the messages one after the other. It skips unlock commands whose deadline has passed. It stops at the first error and returns
// it.
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

// setRemaining writes the time that is left until the command's deadline into the message m. If no time is left, it marks the command
// as expired and returns false.
func (o *command) setRemaining(m *lockv1.Act, now time.Time) bool {
	left := o.deadline.Sub(now)
	if left < time.Millisecond {
		o.expired.Store(true)
		return false
	}
	m.DeadlineMs = uint32(left / time.Millisecond)
	return true
}

// stalledFor returns how long ago the sender goroutine last finished a message, or how long ago it started if it finished none. It returns
// 0 if the goroutine does not run.
func (o *outbox) stalledFor(now time.Time) time.Duration {
	if !o.sending {
		return 0
	}
	return now.Sub(time.Unix(0, o.lastMove.Load()))
}

// stallsAt returns when stalledFor will reach the limit; zero if nothing is being sent.
func (o *outbox) stallsAt(limit time.Duration) time.Time {
	if !o.sending {
		return time.Time{}
	}
	return time.Unix(0, o.lastMove.Load()).Add(limit)
}

// setEpoch opens the mailbox: the session has got its epoch, the number that grows with each session of a bridge. If a newer session of
// the bridge is known already, setEpoch ends this one.
func (b *mailbox) setEpoch(epoch int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch = epoch
	if epoch < b.minEpoch && b.cause == "" {
		b.cause = superseded
	}
}

// isOlder reports whether the session's epoch is lower than the given one. A session that is still opening has no epoch yet: isOlder
// keeps the given epoch for setEpoch, which then ends the session if necessary, and returns false.
func (b *mailbox) isOlder(epoch int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch == 0 {
		b.minEpoch = max(b.minEpoch, epoch)
		return false
	}
	return b.epoch < epoch
}

// openEpoch returns the epoch of an open session; 0 before the session is open and once its end is requested.
func (b *mailbox) openEpoch() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause != "" {
		return 0
	}
	return b.epoch
}
