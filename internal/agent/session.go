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

	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock/slot"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

const (
	leastBeat     = time.Second
	receiveAhead  = 16
	eventsAtOnce  = 256
	slotsAtOnce   = 256
	mostDrainWait = time.Minute
)

// session is one stream. Its run loop is the only sender and owns every field; a receiver hands it
// messages.
type session struct {
	bridge *Bridge
	conn   *grpc.ClientConn
	leaf   *x509.Certificate
	stream grpc.BidiStreamingClient[lockv1.ConnectRequest, lockv1.ConnectResponse]
	pins   pinseal.Opener
	epoch  uint64
	sent   uint64 // last event sequence sent, awaiting its acknowledgement; 0 is none
	renew  bool   // a renewal was begun
	beside sync.WaitGroup
}

func newSession(b *Bridge, conn *grpc.ClientConn, leaf *x509.Certificate) *session {
	return &session{bridge: b, conn: conn, leaf: leaf, pins: pinseal.Opener{Private: b.identity().SealKey}}
}

// run holds the session until the stream breaks, the service falls silent, or ctx ends.
func (s *session) run(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer s.beside.Wait()
	defer cancel(nil)
	b := s.bridge
	silence := b.pace.silence
	deadman := time.AfterFunc(silence, func() { cancel(fmt.Errorf("no word from the service for %v", silence)) })
	defer deadman.Stop()

	b.out.begin()
	stream, err := lockv1.NewBridgeServiceClient(s.conn).Connect(ctx)
	if err != nil {
		return cause(ctx, err)
	}
	s.stream = stream
	asked := b.clock.Now()
	if err := stream.Send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Hello{Hello: b.hello()}}); err != nil {
		_, err = stream.Recv() // the reason is there
		return cause(ctx, err)
	}
	first, err := stream.Recv()
	if err != nil {
		return cause(ctx, err)
	}
	deadman.Reset(silence)
	beat, err := s.welcomed(ctx, first, b.clock.Now().Sub(asked))
	if err != nil {
		return err
	}
	words := make(chan *lockv1.ConnectResponse, receiveAhead)
	broken := make(chan error, 1)
	s.beside.Go(func() { broken <- receive(ctx, stream, words, func() { deadman.Reset(silence) }) })
	return cause(ctx, s.loop(ctx, beat, words, broken))
}

// cause prefers why we gave up over how that looked to the stream.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c
	}
	return err
}

// receive hands messages on until the stream breaks.
func receive(ctx context.Context, stream grpc.BidiStreamingClient[lockv1.ConnectRequest, lockv1.ConnectResponse], words chan<- *lockv1.ConnectResponse, alive func()) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		alive()
		select {
		case words <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// welcomed takes the first message, which must be Welcome and took so long to come.
func (s *session) welcomed(ctx context.Context, first *lockv1.ConnectResponse, took time.Duration) (beat time.Duration, err error) {
	if g := first.GetGoodbye(); g != nil {
		return 0, goodbye(g)
	}
	if d := first.GetDrain(); d != nil { // too many bridges connect at once
		return 0, drainedBy(d)
	}
	w := first.GetWelcome()
	if w == nil || w.GetEpoch() == 0 {
		return 0, errors.New("the service did not begin with Welcome; it may speak another version of the protocol")
	}
	b := s.bridge
	s.epoch = w.GetEpoch()
	b.setEpoch(s.epoch, nil)
	b.heardTime(instant(w.GetServerTime()), max(took, 1))
	if err := b.store.acknowledged(w.GetEventAck().GetSequence()); err != nil {
		return 0, err
	}
	acts, err := b.store.acts()
	if err != nil {
		return 0, err
	}
	for _, rec := range acts { // their ends may have been lost with the session before
		if !b.actor.underWay(rec.ID) {
			b.out.act(settled(rec))
		}
	}
	if w.GetRenewCertificate() {
		s.renewBeside(ctx)
	}
	signal(b.events)
	for _, o := range b.owners { // what stood still while we were apart may have moved
		signal(o.met)
	}
	b.log.Info("session with the service", "epoch", s.epoch)
	beat = time.Duration(w.GetHeartbeatSeconds()) * time.Second
	return min(max(beat, leastBeat), b.pace.silence/3), nil
}

func (s *session) loop(ctx context.Context, beat time.Duration, words <-chan *lockv1.ConnectResponse, broken <-chan error) error {
	beats := time.NewTicker(beat)
	defer beats.Stop()
	renewal := time.NewTimer(max(time.Until(s.renewAt()), 0))
	defer renewal.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err = <-broken:
			return s.remaining(ctx, words, err)
		case m := <-words:
			err = s.heard(ctx, m)
		case <-s.bridge.out.wake:
			if err = s.tellEvents(); err == nil { // what led to a change is told before it
				err = s.tell()
			}
		case <-s.bridge.events:
			err = s.tellEvents()
		case <-beats.C:
			err = s.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Heartbeat{
				Heartbeat: &lockv1.Heartbeat{Clock: stamp(s.bridge.clock.Now())}}})
		case <-renewal.C:
			s.renewBeside(ctx)
		}
		if errors.Is(err, io.EOF) { // the stream broke under a send; the receiver knows why
			return s.last(ctx, words, broken)
		}
		if err != nil {
			return err
		}
	}
}

// last waits for the receiver's word on why the stream broke.
func (s *session) last(ctx context.Context, words <-chan *lockv1.ConnectResponse, broken <-chan error) error {
	for {
		select {
		case m := <-words:
			if err := s.heard(ctx, m); err != nil {
				return err
			}
		case err := <-broken:
			return s.remaining(ctx, words, err)
		}
	}
}

// remaining takes in what arrived before the stream broke: a Goodbye says why it did.
func (s *session) remaining(ctx context.Context, words <-chan *lockv1.ConnectResponse, broken error) error {
	for {
		select {
		case m := <-words:
			if err := s.heard(ctx, m); err != nil {
				return err
			}
		default:
			return broken
		}
	}
}

func (s *session) send(m *lockv1.ConnectRequest) error {
	m.Epoch = s.epoch
	return s.stream.Send(m)
}

// heard takes one message. Another epoch's has no effect, kinds that we do not know are passed over.
func (s *session) heard(ctx context.Context, m *lockv1.ConnectResponse) error {
	if m.GetEpoch() != s.epoch {
		return nil
	}
	b := s.bridge
	switch k := m.GetKind().(type) {
	case *lockv1.ConnectResponse_Welcome:
		return errors.New("the service sent Welcome twice")
	case *lockv1.ConnectResponse_LockSnapshot:
		s.wanted(ctx, k.LockSnapshot.GetAddress(), k.LockSnapshot.GetSlots())
	case *lockv1.ConnectResponse_LockDelta:
		s.wanted(ctx, k.LockDelta.GetAddress(), k.LockDelta.GetSlots())
	case *lockv1.ConnectResponse_Act:
		b.actor.start(context.WithoutCancel(ctx), b.actOf(k.Act))
	case *lockv1.ConnectResponse_IssuerKeySets, *lockv1.ConnectResponse_StatusList, *lockv1.ConnectResponse_DoorRules, *lockv1.ConnectResponse_GreetingWanted:
		return s.heardKeys(m)
	case *lockv1.ConnectResponse_EventAck:
		return s.eventsStored(k.EventAck.GetSequence())
	case *lockv1.ConnectResponse_Heartbeat:
		b.heardTime(instant(k.Heartbeat.GetClock()), 0)
	case *lockv1.ConnectResponse_Drain:
		if err := s.tell(); err != nil {
			return err
		}
		_ = s.stream.CloseSend()
		return drainedBy(k.Drain)
	case *lockv1.ConnectResponse_Goodbye:
		return goodbye(k.Goodbye)
	}
	return nil
}

func drainedBy(d *lockv1.Drain) error {
	return &drained{min(time.Duration(d.GetReconnectAfterMs())*time.Millisecond, mostDrainWait)}
}

func goodbye(g *lockv1.Goodbye) error {
	switch g.GetCause() {
	case "revoked":
		return errBarred
	case "superseded":
		return errSuperseded
	}
	return fmt.Errorf("the service ended the session: %s", g.GetCause())
}

// wanted hands desired slots to their lock's owner.
func (s *session) wanted(ctx context.Context, address string, desired []*lockv1.DesiredSlot) {
	b := s.bridge
	o := b.owners[address]
	if o == nil {
		b.log.Warn("the service speaks of a lock that is not here", "lock", address)
		return
	}
	events := make([]slot.Event, 0, len(desired))
	for _, d := range desired {
		if d.GetSlot() == 0 || d.GetGeneration() == 0 {
			continue
		}
		want, err := desiredOf(&s.pins, address, d)
		if err != nil {
			b.log.Error("a PIN does not open with this bridge's key", "lock", address, "slot", d.GetSlot(), "generation", d.GetGeneration(), "error", err)
		}
		events = append(events, slot.Event{Kind: slot.DesiredChanged, Slot: d.GetSlot(), Desired: want})
	}
	if len(events) > 0 {
		o.offer(ctx, events)
	}
}

// tell empties the outbox into the stream.
func (s *session) tell() error {
	words, acts := s.bridge.out.take()
	for _, w := range words {
		if w.status != nil {
			m := &lockv1.LockReport{Address: w.address, Status: statusOf(*w.status)}
			if err := s.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_LockReport{LockReport: m}}); err != nil {
				return err
			}
		}
		if len(w.others) > 0 { // before what is said of slots of ours: it was seen before
			m := othersOf(w.address, w.others)
			if err := s.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_UnmanagedSlots{UnmanagedSlots: m}}); err != nil {
				return err
			}
		}
		for numbers := range slices.Chunk(slices.Sorted(maps.Keys(w.seen)), slotsAtOnce) {
			m := &lockv1.SlotReport{Address: w.address}
			for _, n := range numbers {
				m.Slots = append(m.Slots, observedOf(n, w.seen[n]))
			}
			if err := s.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_SlotReport{SlotReport: m}}); err != nil {
				return err
			}
		}
	}
	for _, rec := range acts {
		if err := s.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_ActReport{ActReport: actReportOf(rec)}}); err != nil {
			return err
		}
	}
	return nil
}

// tellEvents sends the oldest events that the service has not stored, a batch at a time.
func (s *session) tellEvents() error {
	if s.sent != 0 {
		return nil
	}
	events, err := s.bridge.store.pending(0, eventsAtOnce)
	if err != nil || len(events) == 0 {
		return err
	}
	m := &lockv1.EventBatch{}
	for _, o := range events {
		m.Events = append(m.Events, eventOf(o))
	}
	s.sent = events[len(events)-1].Sequence
	return s.send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Events{Events: m}})
}

func (s *session) eventsStored(upTo uint64) error {
	if s.sent == 0 { // nothing is out: nothing new can have been stored
		return nil
	}
	if err := s.bridge.store.acknowledged(min(upTo, s.sent)); err != nil {
		return err
	}
	if upTo < s.sent {
		return nil
	}
	s.sent = 0
	return s.tellEvents()
}
