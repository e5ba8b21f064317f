package zigbee2mqtt

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/eclipse/paho.golang/packets"
	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/z2mtest"
)

// proxy is a TCP proxy between a driver and its broker that can hold back subscriptions to one topic.
type proxy struct {
	lis   net.Listener
	topic string
	held  chan struct{} // signal that a subscription is held back

	mu    sync.Mutex
	open  chan struct{} // closed: subscriptions pass
	conns []net.Conn
}

// newProxy starts a proxy to a broker that holds back subscriptions to topic.
func newProxy(t *testing.T, broker *z2mtest.Broker, topic string) *proxy {
	t.Helper()
	lis, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{lis: lis, topic: topic, held: make(chan struct{}, 1), open: make(chan struct{})}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := lis.Accept()
			if err != nil {
				return
			}
			server, err := new(net.Dialer).DialContext(t.Context(), "tcp", broker.Addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, server)
			p.mu.Unlock()
			running.Go(func() { p.forward(t.Context(), client, server) })
			running.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
		}
	})
	t.Cleanup(func() { _ = lis.Close(); p.cut(); running.Wait() })
	return p
}

// forward passes the packets of the driver to the broker.
func (p *proxy) forward(ctx context.Context, client, server net.Conn) {
	defer func() { _ = server.Close() }()
	for {
		packet, err := packets.ReadPacket(client)
		if err != nil {
			return
		}
		if s, ok := packet.Content.(*packets.Subscribe); ok && s.Subscriptions[0].Topic == p.topic {
			p.mu.Lock()
			open := p.open
			p.mu.Unlock()
			driver.Signal(p.held)
			select {
			case <-open:
			case <-ctx.Done(): // the test failed
				return
			}
		}
		if _, err := packet.WriteTo(server); err != nil {
			return
		}
	}
}

// pass lets the held subscription through, and all later ones.
func (p *proxy) pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.open)
}

// holdAgain ends all connections and holds back the next subscription. It must be called after pass.
func (p *proxy) holdAgain() {
	p.mu.Lock()
	p.open = make(chan struct{})
	p.mu.Unlock()
	p.cut()
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// TestNothingIsSentBeforeTheSubscription checks that a lock is offline until the driver receives the lock's reports. A command before that would
// lose its confirmation.
func TestNothingIsSentBeforeTheSubscription(t *testing.T) {
	broker := z2mtest.StartBroker(t)
	p := newProxy(t, broker, topics("zigbee2mqtt").state(frontLock().Name))
	r := &rig{t: t, broker: broker, z2m: z2mtest.Start(t, broker, "zigbee2mqtt", frontLock())}
	r.driver = r.drive(Config{URL: "mqtt://" + p.lis.Addr().String(), Base: "zigbee2mqtt"}, redialing())

	<-p.held
	select {
	case <-r.driver.ready:
		t.Error("locks are listed before the driver receives their reports")
	default:
	}
	p.pass()
	l := r.lock(front)

	p.holdAgain()
	<-p.held
	if r.online(l) {
		t.Error("the lock is online before the driver receives its reports")
	}
	if a := r.set(l, 1, "345678", false); a.Result != slot.LockOffline || !a.Unsent {
		t.Errorf("before the subscription: %+v", a)
	}
	p.pass()
	r.until("the lock is online", func() bool { return r.online(l) })
	if a := r.set(l, 1, "345678", false); a != (driver.Answer{Result: slot.OK}) {
		t.Errorf("after the subscription: %+v", a)
	}
}

// TestNothingIsSentToANewNameBeforeItsSubscription checks the same for a lock that Zigbee2MQTT renames.
func TestNothingIsSentToANewNameBeforeItsSubscription(t *testing.T) {
	broker := z2mtest.StartBroker(t)
	p := newProxy(t, broker, topics("zigbee2mqtt").state("main door"))
	r := &rig{t: t, broker: broker, z2m: z2mtest.Start(t, broker, "zigbee2mqtt", frontLock())}
	r.driver = r.drive(Config{URL: "mqtt://" + p.lis.Addr().String(), Base: "zigbee2mqtt"}, redialing())
	l := r.lock(front)
	r.z2m.Rename(front, "main door")
	<-p.held
	if a := r.set(l, 1, "345678", false); a.Result != slot.LockOffline || !a.Unsent {
		t.Errorf("before the subscription: %+v", a)
	}
	p.pass()
	r.until("the lock takes the code", func() bool { return r.set(l, 1, "345678", false).Result == slot.OK })
}
