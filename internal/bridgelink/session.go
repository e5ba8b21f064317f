package bridgelink

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock"
)

// stream is the part of the gRPC stream that a session uses. Tests replace it.
type stream interface {
	Context() context.Context
	Send(*lockv1.ConnectResponse) error
	Recv() (*lockv1.ConnectRequest, error)
}

// received is a message from the bridge, or the error that ended the stream.
type received struct {
	message *lockv1.ConnectRequest
	err     error
}

// session is one control stream of one bridge. Only the goroutine of run uses the fields, except mailbox, greetings, lastReceived and the
// channels.
type session struct {
	node         *Node
	stream       stream
	log          *slog.Logger
	mailbox      mailbox
	greetings    greetingQueue
	in           chan received // messages from receive to run
	opened       chan struct{} // closed when the session takes commands
	done         chan struct{} // closed when run has returned
	lastReceived atomic.Int64  // when the last message arrived, in nanoseconds since the node started

	open        *lock.Session
	pinSealer   *pinseal.Sealer // encrypts PINs for the bridge; nil until the first PIN
	keys        keyState
	cursors     map[string]cursor // what was sent of each lock, by lock id
	outbox      outbox
	pending     map[string]*command // claimed commands without a result, by command id
	heartbeatAt time.Time           // when the next heartbeat is due
	sweepAt     time.Time           // when the desired and the reported slots are compared next
	drainAt     time.Time           // when to disconnect the bridge; zero: the session is not draining
	retryAt     time.Time           // when to retry after a database error; zero: no retry is due
}

// needsSnapshot is the cursor of a lock whose slots must all be sent again.
const needsSnapshot = -1

// cursor records up to which generation a lock's desired slots were sent.
type cursor struct {
	address    string
	generation int64
}

// newSession returns a session for a stream, before the bridge's Hello. run runs it.
func newSession(n *Node, st stream) *session {
	s := &session{node: n, stream: st, log: n.log, in: make(chan received), opened: make(chan struct{}), done: make(chan struct{})}
	s.mailbox.wake = make(chan struct{}, 1)
	s.outbox.sent = make(chan error, 1)
	s.lastReceived.Store(int64(n.sinceStart()))
	return s
}

// receive reads messages from the stream and passes them to run, until the stream or the session ends.
func (s *session) receive() {
	for {
		m, err := s.recv()
		s.lastReceived.Store(int64(s.node.sinceStart()))
		select {
		case s.in <- received{m, err}:
		case <-s.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// recv reads one message. A panic in the decoder ends the session, not the process.
func (s *session) recv() (m *lockv1.ConnectRequest, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, s.logPanic(p)
		}
	}()
	return s.stream.Recv()
}

// logPanic logs a panic and returns the matching cause.
func (s *session) logPanic(p any) cause {
	s.log.Error("panic in a bridge's session", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return panicked
}

// run runs the session from the Hello message to its end, and returns why it ended. who and keyHash identify the bridge by its
// certificate. A panic ends the session, not the process.
func (s *session) run(who bridge.Identity, keyHash []byte) (end cause) {
	defer close(s.done)
	defer func() {
		if p := recover(); p != nil {
			end = s.logPanic(p)
		}
	}()
	go s.receive()
	first, why := s.awaitHello()
	if why != "" {
		return why
	}
	s.log = s.log.With("bridge", who.BridgeID)
	s.node.register(who.BridgeID, s)
	defer s.node.unregister(who.BridgeID, s)
	if s.node.isDraining() { // the node may have begun to drain since Connect
		return s.goodbye(shuttingDown)
	}
	if why := s.openSession(who, keyHash, first); why != "" {
		return s.goodbye(why)
	}
	defer func() {
		if p := recover(); p != nil {
			end = s.logPanic(p)
		}
		s.cleanUp(end)
	}()
	s.begin()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if why := s.advance(time.Now()); why != "" {
			return s.goodbye(why)
		}
		timer.Reset(time.Until(s.nextDue()))
		in := s.in
		if s.outbox.isFull() {
			in = nil
		}
		select {
		case m := <-in:
			if why := s.handle(m); why != "" {
				return s.goodbye(why)
			}
		case err := <-s.outbox.sent:
			s.outbox.sendDone()
			if err != nil {
				return disconnected
			}
		case <-s.mailbox.wake:
		case <-timer.C:
		case <-s.stream.Context().Done():
			return disconnected
		}
	}
}

// awaitHello waits for Hello, which must be the first message, for at most timings.hello. It returns a cause, and no Hello, if the session
// must end.
func (s *session) awaitHello() (*lockv1.Hello, cause) {
	timer := time.NewTimer(s.node.cfg.timings.hello)
	defer timer.Stop()
	select {
	case m := <-s.in:
		if m.err != nil {
			return nil, disconnected
		}
		hello := m.message.GetHello()
		if hello == nil || m.message.Epoch != 0 || hello.ProtocolVersion != ProtocolVersion {
			return nil, s.goodbye(outOfOrder)
		}
		return hello, ""
	case <-timer.C:
		return nil, s.goodbye(tooSlow)
	case <-s.stream.Context().Done():
		return nil, disconnected
	}
}

// openSession opens the session in the database and queues Welcome for the bridge. It returns a cause if that fails or the bridge is
// refused. Its caller has registered the session before, so that it gets the notification of each change after the read of the
// database.
func (s *session) openSession(who bridge.Identity, keyHash []byte, hello *lockv1.Hello) cause {
	n := s.node
	opened, err := n.openSession(s.stream.Context(), who, keyHash, hello)
	if err != nil {
		if s.stream.Context().Err() != nil {
			return disconnected
		}
		s.log.Warn("a bridge was refused", "error", err)
		return refusalCause(err)
	}
	s.open = opened
	s.cursors = make(map[string]cursor, len(opened.Locks))
	for _, lk := range opened.Locks {
		s.cursors[lk.ID] = cursor{address: lk.Address, generation: lk.Generation}
	}
	for _, id := range opened.OutOfSync {
		s.resyncLock(id)
	}
	s.initKeyState(hello)
	now := time.Now()
	s.heartbeatAt, s.sweepAt = now.Add(n.cfg.timings.heartbeat), now.Add(clock.Jitter(n.cfg.timings.slotSweep))
	s.enqueue(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Welcome{Welcome: &lockv1.Welcome{
		Epoch: uint64(opened.Epoch), ServerTime: n.now(), HeartbeatSeconds: uint32(max(n.cfg.timings.heartbeat/time.Second, 1)),
		EventAck: &lockv1.EventAck{Sequence: uint64(opened.EventSequence)}, RenewCertificate: opened.RenewalDue,
	}}})
	n.counters.sessions.Inc()
	s.log.Info("a bridge connected", "epoch", opened.Epoch, "locks", len(opened.Locks), "stale", len(opened.OutOfSync))
	if opened.LeftOut > 0 {
		s.log.Warn("a bridge has reported too many locks over time: new ones are left out; use another bridge for them", "leftOut", opened.LeftOut)
	}
	opened.Locks, opened.OutOfSync = nil, nil // frees memory: a node may have thousands of idle sessions
	return ""
}

// begin announces the session, ends the older ones of its bridge and starts to send Welcome, which must be the first message. Commands that
// waited for the session go to the front of the queue, so Welcome must have left it before.
func (s *session) begin() {
	s.announce(s.open.Epoch)
	s.node.endOlder(s)
	s.outbox.flush(s.stream)
}

// announce opens the session for commands: from now on the node finds it as an open session.
func (s *session) announce(epoch int64) {
	s.mailbox.setEpoch(epoch)
	close(s.opened)
}

// resyncLock makes the session send all slots of a lock again, as a snapshot.
func (s *session) resyncLock(lockID string) {
	if c, ok := s.cursors[lockID]; ok {
		c.generation = needsSnapshot
		s.cursors[lockID] = c
		s.mailbox.markDirty(lockID)
	}
}

// advance does all work that is due now. It returns a cause if the session must end.
func (s *session) advance(now time.Time) cause {
	t := s.node.cfg.timings
	if why := s.mailbox.endCause(); why != "" {
		return why
	}
	switch {
	case s.node.sinceStart()-time.Duration(s.lastReceived.Load()) >= t.silence:
		return noHeartbeat
	case s.outbox.stalledFor(now) >= t.stall:
		return tooSlow
	}
	s.expireCommands(now)
	if why := s.dispatchCommands(); why != "" {
		return why
	}
	s.sendGreetingRequests(now)
	s.markBehind()
	if s.retryAt.IsZero() || !now.Before(s.retryAt) {
		s.retryAt = time.Time{}
		if why := s.sendChanges(now); why != "" {
			return why
		}
	}
	if !now.Before(s.sweepAt) {
		s.sweepAt = now.Add(clock.Jitter(t.slotSweep))
		s.sweep()
	}
	if at := s.mailbox.drainTime(); !at.IsZero() && s.drainAt.IsZero() {
		s.drainAt = at
	}
	if !s.drainAt.IsZero() && !now.Before(s.drainAt) && len(s.pending) == 0 {
		return shuttingDown
	}
	if !now.Before(s.heartbeatAt) {
		s.heartbeatAt = now.Add(t.heartbeat)
		if s.outbox.isIdle() {
			s.enqueue(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Heartbeat{Heartbeat: &lockv1.Heartbeat{Clock: s.node.now()}}})
		}
	}
	s.outbox.flush(s.stream)
	return ""
}

// nextDue returns the time, never zero, by which advance must be called again, if nothing happens before.
func (s *session) nextDue() time.Time {
	t := s.node.cfg.timings
	at := s.heartbeatAt
	earlier := func(due time.Time) {
		if !due.IsZero() && due.Before(at) {
			at = due
		}
	}
	earlier(s.sweepAt)
	if len(s.pending) == 0 {
		earlier(s.drainAt)
	}
	earlier(s.retryAt)
	earlier(s.greetings.nextTimeout())
	earlier(s.node.started.Add(time.Duration(s.lastReceived.Load()) + t.silence))
	earlier(s.outbox.stallsAt(t.stall))
	for _, c := range s.pending {
		earlier(c.deadline.Add(t.resultGrace))
	}
	return at
}

// sweep makes the session send again all slots of the locks for which the bridge has not reported the latest desired slots, in case a
// notification or a message was lost. A database error is only logged.
func (s *session) sweep() {
	ids := make([]string, 0, len(s.cursors))
	for id := range s.cursors {
		ids = append(ids, id)
	}
	stale, err := lock.UnreportedLocks(s.node.cfg.DB.View(s.stream.Context()), s.open, ids)
	if err != nil {
		s.log.Warn("comparing desired and reported slots failed", "error", err)
		return
	}
	for _, id := range stale {
		s.resyncLock(id)
	}
}

// enqueue queues a message to the bridge, with the session's epoch, even if the queue is full.
func (s *session) enqueue(m *lockv1.ConnectResponse) {
	if s.open != nil {
		m.Epoch = uint64(s.open.Epoch)
	}
	s.outbox.push(outgoing{message: m})
}

// enqueueDrain queues the request to disconnect and to connect again after a random time between half of d and d.
func (s *session) enqueueDrain(d time.Duration) {
	after := uint32(clock.Jitter(d) / time.Millisecond)
	s.enqueue(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Drain{Drain: &lockv1.Drain{ReconnectAfterMs: after}}})
}

// goodbye drops the queued messages and sends Goodbye with the cause to the bridge, in some cases after a request to reconnect later. It
// waits a short time until that is sent, and returns the cause. For a cause that is of no use to the bridge it only returns it.
func (s *session) goodbye(why cause) cause {
	switch why {
	case superseded, revoked, outOfOrder, shuttingDown, crowded:
	default:
		return why
	}
	s.outbox.queue = nil
	switch {
	case why == shuttingDown && s.open != nil:
		s.enqueueDrain(s.node.cfg.timings.retry)
	case why == crowded:
		s.enqueueDrain(s.node.cfg.opening.timeout)
	}
	s.enqueue(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Goodbye{Goodbye: &lockv1.Goodbye{Cause: string(why)}}})
	timer := time.NewTimer(s.node.cfg.timings.retry)
	defer timer.Stop()
	for !s.outbox.isIdle() {
		s.outbox.flush(s.stream)
		select {
		case err := <-s.outbox.sent:
			s.outbox.sendDone()
			if err != nil {
				return why
			}
		case <-timer.C:
			return why
		case <-s.stream.Context().Done():
			return why
		}
	}
	return why
}
