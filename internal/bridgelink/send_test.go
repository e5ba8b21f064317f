package bridgelink

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
)

// draining drains a node until the test ends.
func (s *site) draining(n *Node, window time.Duration) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.Drain(ctx, window)
	}()
	s.t.Cleanup(func() { cancel(); <-done })
	s.until("the node drains", n.isDraining)
}

// left waits until the bridge has received Drain and its row shows it.
func (b *device) left() {
	b.s.t.Helper()
	if why, _ := b.end(); why != string(shuttingDown) {
		b.s.t.Fatalf("the session ended with %q", why)
	}
	b.s.until("offline", func() bool { return !b.row().Online })
}

func TestCommandIsExecutedWhileItsNodeDrains(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		here, address := s.node("nod_a")
		there, _ := s.node("nod_b")
		bridges := []*device{s.enrol("front"), s.enrol("back")}
		for _, b := range bridges {
			b.connect(address)
		}
		s.draining(here, time.Hour) // one leaves at once, the other in half an hour
		var stays *device
		s.until("one has left", func() bool {
			switch {
			case !bridges[0].row().Online:
				stays = bridges[1]
			case !bridges[1].row().Online:
				stays = bridges[0]
			}
			return stays != nil
		})
		lockID := stays.lock(stays.locks[0].Address).ID
		for _, n := range []*Node{here, there} {
			done := s.unlocking(n, lockID, 5*time.Second)
			stays.acted(stays.act().Id, lock.CommandDone)
			if r := <-done; r.err != nil || r.out.State != lock.CommandDone {
				t.Errorf("%+v", r)
			}
		}
	})
}

// A command that arrives while its bridge moves from a draining node to another is executed there, once.
func TestCommandFollowsADrainedBridge(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		s.pace.move = time.Minute // on a busy machine the bridge takes its time
		here, address := s.node("nod_a")
		there, next := s.node("nod_b")
		b := s.enrol("front")
		b.connect(address)
		lockID := b.lock("front").ID
		var claimed lock.UnlockCommand // for the session that ends before it can send it
		s.write(here, func(tx *db.Tx) (err error) {
			claimed, err = lock.StoreCommand(tx, here.Self(), s.propertyID, lockID, "staff:x", time.Now().Add(lock.MaxDeadline))
			return err
		})
		s.draining(here, 0)
		b.left()
		waiting := map[string]<-chan ending{"the node that drains": s.unlocking(here, lockID, lock.MaxDeadline), "the other": s.unlocking(there, lockID, lock.MaxDeadline)}
		early := make(chan ending, 1)
		go func() {
			out, err := here.SendCommand(context.Background(), claimed)
			early <- ending{out, err}
		}()
		waiting["a claim of before"] = early
		s.until("three acts are stored", func() bool {
			n, err := s.db.View(t.Context()).Act.Query().Count(t.Context())
			s.must(err)
			return n == 3
		})
		b.connect(next)
		sent := map[string]bool{}
		for range waiting {
			a := b.act()
			if sent[a.Id] {
				t.Errorf("act %s was sent twice", a.Id)
			}
			sent[a.Id] = true
			b.acted(a.Id, lock.CommandDone)
		}
		for by, done := range waiting {
			if r := <-done; r.err != nil || r.out.State != lock.CommandDone || !sent[r.out.CommandID] {
				t.Errorf("asked for at %s: %+v", by, r)
			}
		}
	})
}

// The database names the node of a bridge a moment before the bridge's session takes commands. Commands and requests for greetings wait for it.
func TestCommandWaitsForASessionThatOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Config{Name: "nod_a", opening: limits{active: 1}})
		opening := func() *session {
			s := newSession(n, nil)
			n.register("brg_x", s)
			return s
		}
		s := opening()
		var command nodeResponse
		go func() {
			command = n.deliverCommand(t.Context(), nodeRequest{BridgeID: "brg_x", CommandID: "act_x", Deadline: time.Now().Add(time.Minute)}, nil)
		}()
		greeting := error(nil)
		greet := func() { _, greeting = n.requestGreeting(t.Context(), "brg_x") }
		go greet()
		synctest.Wait()
		if command.Why != "" || greeting != nil {
			t.Fatalf("they did not wait: %+v, %v", command, greeting)
		}
		s.announce(7)
		synctest.Wait()
		s.mailbox.takeCommand().reply(lock.Outcome{State: lock.CommandDone}, nil)
		synctest.Wait()
		if !command.Done || !errors.Is(greeting, errNoSmartKeys) {
			t.Errorf("the command: %+v; the greeting: %v", command, greeting)
		}

		n.unregister("brg_x", s)
		s = opening()
		go greet()
		synctest.Wait()
		n.unregister("brg_x", s)
		close(s.done)
		synctest.Wait()
		if !errors.Is(greeting, lock.ErrBridgeOffline) {
			t.Errorf("a session that ended before it was open: %v", greeting)
		}
		opening()
		greeting = nil
		go greet()
		time.Sleep(n.cfg.timings.move) // of the bubble
		synctest.Wait()
		if !errors.Is(greeting, lock.ErrBridgeOffline) {
			t.Errorf("a session that does not open in time: %v", greeting)
		}
	})
}

// A command and a request for a greeting that waited for the session do not go in front of Welcome.
func TestWelcomeIsTheFirstMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Config{Name: "nod_a", opening: limits{active: 1}})
		to := &recorded{ctx: t.Context()}
		s := newSession(n, to)
		s.open = &lock.Session{BridgeID: "brg_x", Epoch: 7}
		s.heartbeatAt, s.sweepAt = time.Now().Add(time.Hour), time.Now().Add(time.Hour)
		s.greetings.setSupported(true)
		s.enqueue(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Welcome{Welcome: &lockv1.Welcome{Epoch: 7}}})
		n.register("brg_x", s)
		claimed := &lock.UnlockCommand{CommandID: "act_x", BridgeID: "brg_x", Epoch: 7, Operation: lock.Unlock, Deadline: time.Now().Add(time.Minute)}
		go n.deliverCommand(t.Context(), nodeRequest{BridgeID: "brg_x", CommandID: "act_x", Deadline: claimed.Deadline}, claimed)
		go func() { _, _ = n.requestGreeting(t.Context(), "brg_x") }()
		synctest.Wait()
		s.begin()
		synctest.Wait()
		for range 3 {
			if why := s.advance(time.Now()); why != "" {
				t.Fatal(why)
			}
			if !s.outbox.sending {
				break
			}
			if err := <-s.outbox.sent; err != nil {
				t.Fatal(err)
			}
			s.outbox.sendDone()
		}
		if len(to.messages) != 3 || to.messages[0].GetWelcome() == nil || to.messages[1].GetGreetingWanted() == nil || to.messages[2].GetAct() == nil {
			t.Errorf("sent %v", to.messages)
		}
	})
}

// recorded is a stream to a bridge that keeps what is sent.
type recorded struct {
	ctx      context.Context
	messages []*lockv1.ConnectResponse
}

func (r *recorded) Context() context.Context { return r.ctx }

func (r *recorded) Send(m *lockv1.ConnectResponse) error {
	r.messages = append(r.messages, m)
	return nil
}

func (*recorded) Recv() (*lockv1.ConnectRequest, error) { return nil, io.EOF }

// The caller does not wait until the deadline for a bridge that does not return, and its command is never executed later.
func TestCommandFailsWhenADrainedBridgeDoesNotReturn(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		s.pace.move = 100 * time.Millisecond
		here, address := s.node("nod_a")
		there, next := s.node("nod_b")
		b := s.enrol("front")
		b.connect(address)
		lockID := b.lock("front").ID
		s.draining(here, 0)
		b.left()
		for _, n := range []*Node{here, there} {
			began := time.Now()
			if _, err := s.unlock(n, lockID, 10*time.Second); !fault.Has(err, fault.BridgeOffline) {
				t.Errorf("the bridge did not return: %v", err)
			}
			if took := time.Since(began); took < s.pace.move || took > 5*time.Second {
				t.Errorf("it took %v to say so", took)
			}
		}
		b.connect(next)
		acts, err := s.db.View(t.Context()).Act.Query().All(t.Context())
		s.must(err)
		for _, a := range acts {
			if a.State != lock.CommandExpired {
				t.Errorf("an act that was not sent is %q", a.State)
			}
		}
		if len(b.messages) > 0 {
			t.Errorf("sent %v", b.next())
		}
	})
}

type welcomed struct {
	greeting []byte
	err      error
}

func (s *site) greeting(n *Node, node, bridgeID string) <-chan welcomed {
	done := make(chan welcomed, 1)
	go func() {
		raw, err := n.Greet(context.Background(), s.propertyID, node, bridgeID)
		done <- welcomed{raw, err}
	}()
	return done
}

// connectKeyed opens a session of software that supports SmartKeys.
func (b *device) connectKeyed(address string) {
	b.s.t.Helper()
	b.open(address)
	hello := b.hello()
	hello.GetHello().Capabilities = []string{smartKeys}
	b.send(hello)
	if b.epoch = b.next().GetWelcome().GetEpoch(); b.epoch == 0 {
		b.s.t.Fatal("no Welcome")
	}
}

func TestGreetingRequestFollowsADrainedBridge(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		here, address := s.node("nod_a")
		there, next := s.node("nod_b")
		b := s.enrol("front")
		b.connectKeyed(address)
		early := s.greeting(there, "nod_a", b.id) // the session ends before the bridge answers
		if b.next().GetGreetingWanted() == nil {
			t.Fatal("no greeting was asked for")
		}
		s.draining(here, 0)
		b.left()
		waiting := map[string]<-chan welcomed{
			"asked before": early, "at the node that drains": s.greeting(here, "nod_a", b.id), "at the other": s.greeting(there, "nod_a", b.id),
			"known to be on its way": s.greeting(there, "", b.id),
		}
		b.connectKeyed(next)
		for range waiting {
			w := b.next().GetGreetingWanted()
			if w == nil {
				t.Fatal("no greeting was asked for")
			}
			b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Greeting{Greeting: &lockv1.Greeting{Id: w.Id, Greeting: []byte("hello")}}})
		}
		for how, done := range waiting {
			if r := <-done; r.err != nil || string(r.greeting) != "hello" {
				t.Errorf("%s: %q, %v", how, r.greeting, r.err)
			}
		}
	})
}

// A bridge that does not return gives no greeting, and a bridge that is offline is not awaited.
func TestGreetingRequestFailsWhenADrainedBridgeDoesNotReturn(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		s.pace.move = 100 * time.Millisecond
		here, address := s.node("nod_a")
		b := s.enrol("front")
		b.connectKeyed(address)
		s.draining(here, 0)
		b.left()
		if r := <-s.greeting(here, "", b.id); !fault.Has(r.err, fault.BridgeOffline) {
			t.Errorf("the bridge did not return: %v", r.err)
		}
		if r := <-s.greeting(here, "nod_gone", s.enrol("back").id); !fault.Has(r.err, fault.BridgeOffline) {
			t.Errorf("a bridge that never came: %v", r.err)
		}
	})
}
