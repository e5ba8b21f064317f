package agent

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock/slot"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

const (
	minHeartbeat  = time.Second // shortest interval between two heartbeats; a shorter one of the server is raised to it
	receiveBuffer = 16          // received messages that wait for the session's loop
	maxEventBatch = 256         // events in one message
	maxSlotBatch  = 256         // observed slots in one message
	maxDrainWait  = time.Minute // longest wait before a reconnect that the server can request; a longer one is shortened to it
)

// session is one stream to the server. Only its run loop sends messages and changes the fields. A receiver goroutine passes received
// messages to the loop.
type session struct {
	bridge     *Bridge
	conn       *grpc.ClientConn
	leaf       *x509.Certificate
	stream     grpc.BidiStreamingClient[lockv1.ConnectRequest, lockv1.ConnectResponse]
	pins       pinseal.Opener
	epoch      uint64
	sent       uint64 // sequence number of the last event that was sent and is not acknowledged yet; 0: none
	renewing   bool   // a renewal of the certificate was started
	background sync.WaitGroup
}

// newSession prepares a session on the connection conn, which shows the certificate leaf. run starts it.
func newSession(b *Bridge, conn *grpc.ClientConn, leaf *x509.Certificate) *session {
	return &session{bridge: b, conn: conn, leaf: leaf, pins: pinseal.Opener{Private: b.identity().SealKey}}
}

// run runs the session and returns why it ended, never nil: the stream ended, a message could not be handled, the server sent Drain,
// Goodbye or nothing for too long, or parent was cancelled. It ends and awaits its goroutines, also a running renewal of the certificate.
func (s *session) run(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer s.background.Wait()
	defer cancel(nil)
	b := s.bridge
	silence := b.timings.silence
	deadman := time.AfterFunc(silence, func() { cancel(fmt.Errorf("no message from the server for %v", silence)) })
	defer deadman.Stop()

	b.outbox.open()
	stream, err := lockv1.NewBridgeServiceClient(s.conn).Connect(ctx)
	if err != nil {
		return sessionError(ctx, err)
	}
	s.stream = stream
	sentAt := b.clock.Now()
	if err := stream.Send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Hello{Hello: b.hello()}}); err != nil {
		_, err = stream.Recv() // Recv returns why the stream ended
		return sessionError(ctx, err)
	}
	first, err := stream.Recv()
	if err != nil {
		return sessionError(ctx, err)
	}
	deadman.Reset(silence)
	heartbeat, err := s.onWelcome(ctx, first, b.clock.Now().Sub(sentAt))
	if err != nil {
		return err
	}
	messages := make(chan *lockv1.ConnectResponse, receiveBuffer)
	ended := make(chan error, 1)
	s.background.Go(func() { ended <- receive(ctx, stream, messages, func() { deadman.Reset(silence) }) })
	return sessionError(ctx, s.handleUntilEnd(ctx, heartbeat, messages, ended))
}

// sessionError returns why a session ended. If the bridge itself cancelled ctx for a cause, such as silence of the server, that is the
// reason, and err only follows from it.
func sessionError(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c
	}
	return err
}

// receive passes the stream's messages to the session's loop until the stream ends, and returns why it ended. It calls alive for each
// message.
func receive(ctx context.Context, stream grpc.BidiStreamingClient[lockv1.ConnectRequest, lockv1.ConnectResponse], messages chan<- *lockv1.ConnectResponse, alive func()) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		alive()
		select {
		case messages <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// onWelcome processes the first message, which must be Welcome, and returns the interval of heartbeats, within limits of the bridge. It
// deletes the events that the server has stored, queues the results of earlier commands, makes the workers check their locks, and measures
// the difference of the clocks, for which took is the time from Hello to this message. An error ends the session; Goodbye and Drain give
// the same errors as in handle.
func (s *session) onWelcome(ctx context.Context, first *lockv1.ConnectResponse, took time.Duration) (heartbeat time.Duration, err error) {
	if g := first.GetGoodbye(); g != nil {
		return 0, goodbyeError(g)
	}
	if d := first.GetDrain(); d != nil { // the server has too many connecting bridges and asks to come back later
		return 0, drainErrorOf(d)
	}
	w := first.GetWelcome()
	if w == nil || w.GetEpoch() == 0 {
		return 0, errors.New("the server did not send Welcome first; it may use another version of the protocol")
	}
	b := s.bridge
	s.epoch = w.GetEpoch()
	b.setEpoch(s.epoch, nil)
	b.measureSkew(clock.TimeOf(w.GetServerTime()), max(took, 1))
	if err := b.store.deleteAcknowledged(w.GetEventAck().GetSequence()); err != nil {
		return 0, err
	}
	commands, err := b.commands.ended()
	if err != nil {
		return 0, err
	}
	for _, rec := range commands { // the results may have been lost with the previous session
		b.outbox.addCommand(rec)
	}
	if w.GetRenewCertificate() {
		s.renewInBackground(ctx)
	}
	driver.Signal(b.events)
	// Each worker reads its slots that were not read recently: they may have been changed at the lock while there was no session.
	for _, o := range b.workers {
		driver.Signal(o.sessionOpened)
	}
	b.log.Info("session with the server", "epoch", s.epoch)
	heartbeat = time.Duration(w.GetHeartbeatSeconds()) * time.Second
	return min(max(heartbeat, minHeartbeat), b.timings.silence/3), nil
}

// handleUntilEnd is the session's loop. It handles received messages and sends reports, events and a heartbeat per interval, until the
// session ends. ended receives why the stream ended.
func (s *session) handleUntilEnd(ctx context.Context, interval time.Duration, messages <-chan *lockv1.ConnectResponse, ended <-chan error) error {
	heartbeat := time.NewTicker(interval)
	defer heartbeat.Stop()
	renewal := time.NewTimer(max(time.Until(s.renewAt()), 0))
	defer renewal.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err = <-ended:
			return s.handleRemaining(ctx, messages, err)
		case m := <-messages:
			err = s.handle(ctx, m)
		case <-s.bridge.outbox.wake:
			if err = s.sendEvents(); err == nil { // events are sent before the slot changes that they caused
				err = s.sendReports()
			}
		case <-s.bridge.events:
			err = s.sendEvents()
		case <-heartbeat.C:
			err = s.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Heartbeat{
				Heartbeat: &lockv1.Heartbeat{Clock: clock.Timestamp(s.bridge.clock.Now())}}})
		case <-renewal.C:
			s.renewInBackground(ctx)
		}
		if errors.Is(err, io.EOF) { // the stream ended during a send; the receiver has the reason
			return s.awaitEnd(ctx, messages, ended)
		}
		if err != nil {
			return err
		}
	}
}

// awaitEnd is used after a failed send: it processes messages until one ends the session or the receiver reports why the stream ended, and
// returns that reason.
func (s *session) awaitEnd(ctx context.Context, messages <-chan *lockv1.ConnectResponse, ended <-chan error) error {
	for {
		select {
		case m := <-messages:
			if err := s.handle(ctx, m); err != nil {
				return err
			}
		case err := <-ended:
			return s.handleRemaining(ctx, messages, err)
		}
	}
}

// handleRemaining processes the messages that arrived before the stream ended, because a Goodbye among them contains the real reason.
// Otherwise it returns end, the error of the stream.
func (s *session) handleRemaining(ctx context.Context, messages <-chan *lockv1.ConnectResponse, end error) error {
	for {
		select {
		case m := <-messages:
			if err := s.handle(ctx, m); err != nil {
				return err
			}
		default:
			return end
		}
	}
}

// send sends a message with the epoch of this session. Only the session's loop may call it.
func (s *session) send(m *lockv1.ConnectRequest) error {
	m.Epoch = s.epoch
	return s.stream.Send(m)
}

// handle processes one message. An error ends the session, also after Drain and Goodbye. Before it returns the error of Drain, it sends the
// waiting reports. It ignores messages with the epoch of another session and messages of an unknown kind.
func (s *session) handle(ctx context.Context, m *lockv1.ConnectResponse) error {
	if m.GetEpoch() != s.epoch {
		return nil
	}
	b := s.bridge
	switch k := m.GetKind().(type) {
	case *lockv1.ConnectResponse_Welcome:
		return errors.New("the server sent Welcome twice")
	case *lockv1.ConnectResponse_LockSnapshot:
		s.onSnapshot(ctx, k.LockSnapshot)
	case *lockv1.ConnectResponse_LockDelta:
		s.onDesiredSlots(ctx, k.LockDelta.GetAddress(), k.LockDelta.GetSlots())
	case *lockv1.ConnectResponse_Act:
		b.commands.start(context.WithoutCancel(ctx), b.decodeCommand(k.Act))
	case *lockv1.ConnectResponse_IssuerKeySets, *lockv1.ConnectResponse_StatusList, *lockv1.ConnectResponse_DoorRules, *lockv1.ConnectResponse_GreetingWanted:
		return s.onSmartKeyMessage(m)
	case *lockv1.ConnectResponse_EventAck:
		return s.onEventAck(k.EventAck.GetSequence())
	case *lockv1.ConnectResponse_Heartbeat:
		b.measureSkew(clock.TimeOf(k.Heartbeat.GetClock()), 0)
	case *lockv1.ConnectResponse_Drain:
		if err := s.sendReports(); err != nil {
			return err
		}
		_ = s.stream.CloseSend()
		return drainErrorOf(k.Drain)
	case *lockv1.ConnectResponse_Goodbye:
		return goodbyeError(k.Goodbye)
	}
	return nil
}

// drainErrorOf returns the error that ends a session when the server asks the bridge to reconnect later, after at most maxDrainWait.
func drainErrorOf(d *lockv1.Drain) error {
	return &drainError{min(time.Duration(d.GetReconnectAfterMs())*time.Millisecond, maxDrainWait)}
}

// goodbyeError returns the error for the reason with which the server ended the session.
func goodbyeError(g *lockv1.Goodbye) error {
	switch g.GetCause() {
	case "revoked":
		return errRevoked
	case "superseded":
		return errSuperseded
	}
	return fmt.Errorf("the server ended the session: %s", g.GetCause())
}

// onSnapshot passes the desired slots of a lock to its worker, and reports the slots that the server does not name.
func (s *session) onSnapshot(ctx context.Context, m *lockv1.LockSnapshot) {
	s.onDesiredSlots(ctx, m.GetAddress(), m.GetSlots())
	named := make(map[uint32]bool, len(m.GetSlots()))
	for _, d := range m.GetSlots() {
		named[d.GetSlot()] = true
	}
	s.bridge.outbox.reportUnnamed(m.GetAddress(), named)
}

// onDesiredSlots decodes the desired slots that the server sent for the lock at address, and passes them to the lock's worker, a PIN that
// cannot be decrypted as an empty one. It ignores an unknown lock and slots without a number or generation.
func (s *session) onDesiredSlots(ctx context.Context, address string, desired []*lockv1.DesiredSlot) {
	b := s.bridge
	o := b.workers[address]
	if o == nil {
		b.log.Warn("the server sent slots for an unknown lock", "lock", address)
		return
	}
	events := make([]slot.Event, 0, len(desired))
	for _, d := range desired {
		if d.GetSlot() == 0 || d.GetGeneration() == 0 {
			continue
		}
		want, err := decodeDesiredSlot(&s.pins, address, d)
		if err != nil {
			b.log.Error("a PIN cannot be decrypted with this bridge's key", "lock", address, "slot", d.GetSlot(), "generation", d.GetGeneration(), "error", err)
		}
		events = append(events, slot.Event{Kind: slot.DesiredChanged, Slot: d.GetSlot(), Desired: want})
	}
	if len(events) > 0 {
		o.enqueue(ctx, events)
	}
}

// sendReports empties the outbox and sends its reports to the server. An error loses the rest; the next Hello compares everything again.
func (s *session) sendReports() error {
	reports, commands := s.bridge.outbox.takeReports()
	for _, w := range reports {
		if w.status != nil {
			m := &lockv1.LockReport{Address: w.address, Status: wireStatus(*w.status)}
			if err := s.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_LockReport{LockReport: m}}); err != nil {
				return err
			}
		}
		if len(w.foreign) > 0 { // sent before the reports on managed slots, because it was observed before them
			m := wireUnmanagedSlots(w.address, w.foreign)
			if err := s.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_UnmanagedSlots{UnmanagedSlots: m}}); err != nil {
				return err
			}
		}
		for numbers := range slices.Chunk(slices.Sorted(maps.Keys(w.observed)), maxSlotBatch) {
			m := &lockv1.SlotReport{Address: w.address}
			for _, n := range numbers {
				m.Slots = append(m.Slots, wireObservedSlot(n, w.observed[n]))
			}
			if err := s.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_SlotReport{SlotReport: m}}); err != nil {
				return err
			}
		}
	}
	for _, rec := range commands {
		if err := s.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_ActReport{ActReport: wireCommandResult(rec)}}); err != nil {
			return err
		}
	}
	return nil
}

// sendEvents sends the oldest events that the server has not stored, at most maxEventBatch. It does nothing while an earlier batch waits
// for its acknowledgement.
func (s *session) sendEvents() error {
	if s.sent != 0 {
		return nil
	}
	events, err := s.bridge.store.entriesAfter(0, maxEventBatch)
	if err != nil || len(events) == 0 {
		return err
	}
	m := &lockv1.EventBatch{}
	for _, o := range events {
		m.Events = append(m.Events, wireEvent(o))
	}
	s.sent = events[len(events)-1].Sequence
	return s.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Events{Events: m}})
}

// onEventAck deletes the events that the server has stored, up to the sequence number upTo, but none beyond the batch that was sent. If the
// whole batch is stored, it sends the next one. Without a batch it does nothing.
func (s *session) onEventAck(upTo uint64) error {
	if s.sent == 0 { // no batch waits for an acknowledgement, so this one is ignored
		return nil
	}
	if err := s.bridge.store.deleteAcknowledged(min(upTo, s.sent)); err != nil {
		return err
	}
	if upTo < s.sent {
		return nil
	}
	s.sent = 0
	return s.sendEvents()
}
