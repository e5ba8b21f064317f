package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/protobuf/types/known/timestamppb"

	"latchkey.dev/internal/clock"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

func TestServiceEndsASession(t *testing.T) {
	for name, end := range map[string]func(k *talk){
		"drain": func(k *talk) {
			k.welcome(1, 0)
			k.send(1, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Drain{Drain: &lockv1.Drain{ReconnectAfterMs: 1}}})
		},
		"drain before it began": func(k *talk) {
			k.send(0, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Drain{Drain: &lockv1.Drain{ReconnectAfterMs: 1}}})
		},
		"superseded": func(k *talk) {
			k.welcome(1, 0)
			k.send(1, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Goodbye{Goodbye: &lockv1.Goodbye{Cause: "superseded"}}})
		},
		"revoked before it began": func(k *talk) {
			k.send(0, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Goodbye{Goodbye: &lockv1.Goodbye{Cause: "revoked"}}})
		},
		"no Welcome": func(k *talk) { k.send(1, &lockv1.ConnectResponse{}) },
		"two Welcomes": func(k *talk) {
			k.welcome(1, 0)
			k.welcome(1, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			k := r.service.next()
			end(k)
			k.gone()
			k = r.service.next() // and it comes back
			k.welcome(2, 0)
			k.snapshot(2, "front", r.desired("front", 1, 1, "048151"))
			k.observedAs(1, 1, "verified")
		})
	}
}

// If too many bridges connect at once, the server sends the time after which a bridge must connect again.
func TestBridgeReconnectsWhenDrainSays(t *testing.T) {
	crowded := &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Drain{Drain: &lockv1.Drain{ReconnectAfterMs: 15_500}}}
	_, err := (&session{}).onWelcome(t.Context(), crowded, 0)
	for _, attempt := range []int{0, 7} {
		if wait := defaultTimings.retryAfter(err, attempt); wait != 15_500*time.Millisecond {
			t.Errorf("attempt %d: %v after %v", attempt, err, wait)
		}
	}
}

func TestSilentServiceIsDisconnected(t *testing.T) {
	for name, last := range map[string]func(*talk){
		"before Welcome": func(*talk) {},
		"after Welcome":  func(k *talk) { k.welcome(1, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := enrolledRig(t, newService(t))
			r.pace.silence = 300 * time.Millisecond
			r.start()
			k := r.service.next()
			last(k)
			k.gone()
			r.service.next()
		})
	}
}

func TestRenewalWhenAsked(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	before := r.bridge.identity().Certificate
	k.send(1, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Welcome{Welcome: &lockv1.Welcome{Epoch: 1, ServerTime: timestamppb.Now(), RenewCertificate: true}}})
	<-r.service.renewals
	k.snapshot(1, "front", r.desired("front", 1, 1, "048151"))
	k.observedAs(1, 1, "verified")
	k.end <- nil
	r.service.next()
	r.stop()
	id, err := tempStore(t, r.dir).identity()
	if err != nil || string(id.Certificate) == string(before) {
		t.Errorf("the new certificate is not stored: %v", err)
	}
}

func TestExpiredCertificateIsRenewedFirst(t *testing.T) {
	s := newService(t)
	s.life.Store(int64(-time.Hour))
	r := enrolledRig(t, s)
	s.life.Store(int64(24 * time.Hour))
	r.start()
	k := s.next()
	if len(s.renewals) != 1 {
		t.Errorf("%d renewals before the first session, want 1", len(s.renewals))
	}
	k.welcome(1, 0)
	k.snapshot(1, "front", r.desired("front", 1, 1, "048151"))
	k.observedAs(1, 1, "verified")
}

func TestBackoff(t *testing.T) {
	p := defaultTimings
	broken := errors.New("broken")
	for attempt := range 100 {
		most := min(p.firstRetry<<min(attempt, 16), p.maxRetry)
		for range 50 {
			if d := p.retryAfter(broken, attempt); d < 0 || d >= most {
				t.Fatalf("attempt %d waits %v, want within %v", attempt, d, most)
			}
		}
	}
	if d := p.retryAfter(&drainError{after: 7 * time.Second}, 50); d != 7*time.Second {
		t.Errorf("drained: %v", d)
	}
	if d := p.retryAfter(errRevoked, 0); d < 30*time.Second || d > time.Minute {
		t.Errorf("revoked: %v", d)
	}
	if d := p.retryAfter(errSuperseded, 0); d < 5*time.Second || d > 10*time.Second {
		t.Errorf("superseded: %v", d)
	}
}

// A name with an address for each node spreads bridges over the nodes: none of the addresses is always the first.
func TestAddressesOfANameAreTriedInRandomOrder(t *testing.T) {
	r := enrolledRig(t, newService(t))
	id, err := tempStore(t, r.dir).identity()
	if err != nil {
		t.Fatal(err)
	}
	nodes := manual.NewBuilderWithScheme("nodes")
	var addresses []resolver.Address
	for i := range 6 {
		addresses = append(addresses, resolver.Address{Addr: fmt.Sprintf("192.0.2.%d:7090", i)})
	}
	nodes.InitialState(resolver.State{Addresses: addresses})
	id.ConnectAddress = "nodes:///bridges.example"
	first := map[string]bool{}
	for range 40 {
		tried := make(chan string, len(addresses))
		b := &Bridge{clock: clock.System, cfg: Config{DialOptions: []grpc.DialOption{
			grpc.WithResolvers(nodes),
			grpc.WithContextDialer(func(_ context.Context, address string) (net.Conn, error) {
				tried <- address
				return nil, errors.New("not here")
			}),
		}}}
		conn, _, err := b.connection(id)
		if err != nil {
			t.Fatal(err)
		}
		conn.Connect()
		first[<-tried] = true
		_ = conn.Close()
	}
	if len(first) < 2 {
		t.Errorf("%v is the first of 6 addresses 40 times", first)
	}
}
