package bridgelink

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock"
)

// stream is the part of the control stream that a session uses.
type stream interface {
	Context() context.Context
	Send(*lockv1.ConnectResponse) error
	Recv() (*lockv1.ConnectRequest, error)
}

// received is a message, or why there will be no more.
type received struct {
	message *lockv1.ConnectRequest
	err     error
}

// session is one stream of one bridge. Everything but box, heard and the channels belongs to the goroutine of run.
type session struct {
	node   *Node
	stream stream
	log    *slog.Logger
	box    mailbox
	desk   desk
	in     chan received // from the receiver
	over   chan struct{} // closed when run is done
	heard  atomic.Int64  // when the receiver last heard the bridge, in nanoseconds since the node began

	open    *lock.Session
	pins    *pinseal.Sealer // nil until the first PIN is sealed
	keys    keysHeld
	marks   map[string]mark // by lock id
	out     outbox
	pending map[string]*order // acts that were sent, by id
	beatAt  time.Time
	sweepAt time.Time
	drainAt time.Time // zero: not asked to
	retryAt time.Time // zero: nothing to do again
}

// whole is the mark of a lock that has to be told as a whole.
const whole = -1

// mark is how far a lock was told.
type mark struct {
	address    string
	generation int64 // slots up to here were told; whole: none were
}

func newSession(n *Node, st stream) *session {
	s := &session{node: n, stream: st, log: n.log, in: make(chan received), over: make(chan struct{})}
	s.box.kick = make(chan struct{}, 1)
	s.out.sent = make(chan error, 1)
	s.heard.Store(int64(n.since()))
	return s
}

// receive is the stream's one receiver. It ends with the stream, or with the session.
func (s *session) receive() {
	for {
		m, err := s.recv()
		s.heard.Store(int64(s.node.since()))
		select {
		case s.in <- received{m, err}:
		case <-s.over:
			return
		}
		if err != nil {
			return
		}
	}
}

// recv receives one message. A panic while it is decoded ends the session, and not the process.
func (s *session) recv() (m *lockv1.ConnectRequest, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, s.panicked(p)
		}
	}()
	return s.stream.Recv()
}

// panicked logs a panic and returns why the session ends.
func (s *session) panicked(p any) cause {
	s.log.Error("panic in a bridge's session", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return panicked
}

// run is a session from Hello to its end. A panic ends the session, and not the process.
func (s *session) run(who lock.Identity, shown []byte) (end cause) {
	defer close(s.over)
	defer func() {
		if p := recover(); p != nil {
			end = s.panicked(p)
		}
	}()
	go s.receive()
	first, why := s.greeted()
	if why != "" {
		return why
	}
	s.log = s.log.With("bridge", who.BridgeID)
	s.node.enter(who.BridgeID, s)
	defer s.node.leave(who.BridgeID, s)
	if s.node.refuses() { // since the stream began
		return s.farewell(shuttingDown)
	}
	if why := s.begin(who, shown, first); why != "" {
		return s.farewell(why)
	}
	defer func() {
		if p := recover(); p != nil {
			end = s.panicked(p)
		}
		s.finish(end)
	}()
	s.node.supersede(s)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if why := s.advance(time.Now()); why != "" {
			return s.farewell(why)
		}
		timer.Reset(time.Until(s.next()))
		in := s.in
		if s.out.full() {
			in = nil
		}
		select {
		case m := <-in:
			if why := s.take(m); why != "" {
				return s.farewell(why)
			}
		case err := <-s.out.sent:
			s.out.returned()
			if err != nil {
				return disconnected
			}
		case <-s.box.kick:
		case <-timer.C:
		case <-s.stream.Context().Done():
			return disconnected
		}
	}
}

// greeted waits for Hello, which comes first.
func (s *session) greeted() (*lockv1.Hello, cause) {
	timer := time.NewTimer(s.node.cfg.pace.hello)
	defer timer.Stop()
	select {
	case m := <-s.in:
		if m.err != nil {
			return nil, disconnected
		}
		hello := m.message.GetHello()
		if hello == nil || m.message.Epoch != 0 || hello.ProtocolVersion != ProtocolVersion {
			return nil, s.farewell(outOfOrder)
		}
		return hello, ""
	case <-timer.C:
		return nil, s.farewell(tooSlow)
	case <-s.stream.Context().Done():
		return nil, disconnected
	}
}

// begin opens the session in the database and welcomes the bridge. Wake-ups are gathered since enter, so that no change
// falls between reading the digests and listening.
func (s *session) begin(who lock.Identity, shown []byte, hello *lockv1.Hello) cause {
	n := s.node
	open, err := n.openSession(s.stream.Context(), who, shown, hello)
	if err != nil {
		if s.stream.Context().Err() != nil {
			return disconnected
		}
		s.log.Warn("a bridge was not let in", "error", err)
		return refusal(err)
	}
	s.open = open
	s.marks = make(map[string]mark, len(open.Locks))
	for _, lk := range open.Locks {
		s.marks[lk.ID] = mark{address: lk.Address, generation: lk.Generation}
	}
	for _, id := range open.OutOfSync {
		s.again(id)
	}
	s.meetKeys(hello)
	now := time.Now()
	s.beatAt, s.sweepAt = now.Add(n.cfg.pace.beat), now.Add(jitter(n.cfg.pace.sweep))
	s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Welcome{Welcome: &lockv1.Welcome{
		Epoch: uint64(open.Epoch), ServerTime: n.timestamp(), HeartbeatSeconds: uint32(max(n.cfg.pace.beat/time.Second, 1)),
		EventAck: &lockv1.EventAck{Sequence: uint64(open.EventSequence)}, RenewCertificate: open.RenewalDue,
	}}})
	n.counters.sessions.Inc()
	s.log.Info("a bridge connected", "epoch", open.Epoch, "locks", len(open.Locks), "stale", len(open.OutOfSync))
	open.Locks, open.OutOfSync = nil, nil // thousands of idle sessions need them no more
	return ""
}

// again has the whole of a lock told anew.
func (s *session) again(lockID string) {
	if m, ok := s.marks[lockID]; ok {
		m.generation = whole
		s.marks[lockID] = m
		s.box.touch(lockID)
	}
}

// advance does everything that is due.
func (s *session) advance(now time.Time) cause {
	p := s.node.cfg.pace
	if why := s.box.ended(); why != "" {
		return why
	}
	switch {
	case s.node.since()-time.Duration(s.heard.Load()) >= p.silence:
		return noHeartbeat
	case s.out.stuck(now) >= p.stuck:
		return tooSlow
	}
	s.expire(now)
	if why := s.carry(); why != "" {
		return why
	}
	s.askGreetings(now)
	s.compareNewest()
	if s.retryAt.IsZero() || !now.Before(s.retryAt) {
		s.retryAt = time.Time{}
		if why := s.deliver(now); why != "" {
			return why
		}
	}
	if !now.Before(s.sweepAt) {
		s.sweepAt = now.Add(jitter(p.sweep))
		s.sweep()
	}
	if at := s.box.drains(); !at.IsZero() && s.drainAt.IsZero() {
		s.drainAt = at
	}
	if !s.drainAt.IsZero() && !now.Before(s.drainAt) && len(s.pending) == 0 {
		return shuttingDown
	}
	if !now.Before(s.beatAt) {
		s.beatAt = now.Add(p.beat)
		if s.out.idle() {
			s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Heartbeat{Heartbeat: &lockv1.Heartbeat{Clock: s.node.timestamp()}}})
		}
	}
	s.out.flush(s.stream)
	return ""
}

// next is when advance has to run again at the latest.
func (s *session) next() time.Time {
	p := s.node.cfg.pace
	at := s.beatAt
	sooner := func(t time.Time) {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	sooner(s.sweepAt)
	if len(s.pending) == 0 {
		sooner(s.drainAt)
	}
	sooner(s.retryAt)
	sooner(s.desk.due())
	sooner(s.node.began.Add(time.Duration(s.heard.Load()) + p.silence))
	sooner(s.out.stuckAt(p.stuck))
	for _, o := range s.pending {
		sooner(o.deadline.Add(p.grace))
	}
	return at
}

// sweep asks anew for what was wanted and not reported: a wake-up may have been lost, here or on the way.
func (s *session) sweep() {
	ids := make([]string, 0, len(s.marks))
	for id := range s.marks {
		ids = append(ids, id)
	}
	stale, err := lock.UnreportedLocks(s.stream.Context(), s.node.cfg.DB.Read(), s.open, ids)
	if err != nil {
		s.log.Warn("a sweep of a bridge's locks failed", "error", err)
		return
	}
	for _, id := range stale {
		s.again(id)
	}
}

// say puts a message of this session into the outbox.
func (s *session) say(m *lockv1.ConnectResponse) {
	if s.open != nil {
		m.Epoch = uint64(s.open.Epoch)
	}
	s.out.put(letter{message: m})
}

// sayDrain asks the bridge to reconnect, at a random moment within d.
func (s *session) sayDrain(d time.Duration) {
	after := uint32(jitter(d) / time.Millisecond)
	s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Drain{Drain: &lockv1.Drain{ReconnectAfterMs: after}}})
}

// farewell tells the bridge why, where it is still worth it, and returns why.
func (s *session) farewell(why cause) cause {
	switch why {
	case superseded, revoked, outOfOrder, shuttingDown, crowded:
	default:
		return why
	}
	s.out.queue = nil
	switch {
	case why == shuttingDown && s.open != nil:
		s.sayDrain(s.node.cfg.pace.retry)
	case why == crowded:
		s.sayDrain(s.node.cfg.opening.timeout)
	}
	s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Goodbye{Goodbye: &lockv1.Goodbye{Cause: string(why)}}})
	timer := time.NewTimer(s.node.cfg.pace.retry)
	defer timer.Stop()
	for !s.out.idle() {
		s.out.flush(s.stream)
		select {
		case err := <-s.out.sent:
			s.out.returned()
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
