package bridgelink

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/timestamppb"

	"latchkey.dev/ent"
	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// device is an enrolled device that is controlled by the test.
type device struct {
	s        *site
	id       string
	cert     tls.Certificate
	seal     []byte
	boot     string
	knows    []string // beyond version 1
	locks    []*lockv1.LockHello
	conn     *grpc.ClientConn
	stream   grpc.BidiStreamingClient[lockv1.ConnectRequest, lockv1.ConnectResponse]
	epoch    uint64
	messages chan *lockv1.ConnectResponse
	ended    chan error
	ahead    time.Duration // of the clock by which the bridge checks certificates
}

// enrol makes a bridge that drives locks with these addresses.
func (s *site) enrol(addresses ...string) *device {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.must(err)
	private, public, err := pinseal.GenerateKey()
	s.must(err)
	b := &device{s: s, seal: private, boot: "boot"}
	s.change(func(tx *db.Tx) error {
		_, code, err := bridge.Create(tx, s.keys, s.ca, s.propertyID, "cellar")
		if err != nil {
			return err
		}
		e, err := bridge.Enrol(tx, s.keys, s.ca, bridge.EnrolmentRequest{JoinCode: code, CertificateRequest: request(s.t, key), HPKEKey: public}, lock.MarkLinksLost)
		if err != nil {
			return err
		}
		b.id = e.Bridge.ID
		b.cert = tls.Certificate{Certificate: [][]byte{e.Certificate}, PrivateKey: key}
		return nil
	})
	empty := slot.LockDigest(nil)
	for _, a := range addresses {
		b.locks = append(b.locks, &lockv1.LockHello{
			Address: a, Digest: empty[:], Status: &lockv1.LockStatus{Online: true},
			Capabilities: &lockv1.LockCapabilities{PinMinLength: 4, PinMaxLength: 8, SlotsTotal: 1000, ReadBack: true, RemoteUnlock: true},
		})
	}
	return b
}

func request(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// dial connects to a node's listener.
func (b *device) dial(address string) *grpc.ClientConn {
	b.s.t.Helper()
	roots := x509.NewCertPool()
	ca, err := x509.ParseCertificate(b.s.ca.Certificate())
	b.s.must(err)
	roots.AddCert(ca)
	config := &tls.Config{Certificates: []tls.Certificate{b.cert}, RootCAs: roots, ServerName: bridge.ServerName, MinVersion: tls.VersionTLS13}
	config.Time = func() time.Time { return time.Now().Add(b.ahead) }
	conn, err := grpc.NewClient(address, grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(64<<10),
		grpc.WithTransportCredentials(credentials.NewTLS(config)))
	b.s.must(err)
	b.s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// open opens a stream and reads from it. It sends nothing yet.
func (b *device) open(address string) {
	b.s.t.Helper()
	b.conn = b.dial(address)
	stream, err := lockv1.NewBridgeServiceClient(b.conn).Connect(b.s.t.Context())
	b.s.must(err)
	b.stream, b.epoch = stream, 0
	b.messages, b.ended = make(chan *lockv1.ConnectResponse, 1000), make(chan error, 1)
	go func(messages chan<- *lockv1.ConnectResponse, ended chan<- error) {
		for {
			m, err := stream.Recv()
			if err != nil {
				ended <- err
				close(messages)
				return
			}
			messages <- m
		}
	}(b.messages, b.ended)
}

func (b *device) send(m *lockv1.ConnectRequest) {
	b.s.t.Helper()
	if err := b.stream.Send(m); err != nil && err != io.EOF {
		b.s.t.Fatal(err)
	}
}

func (b *device) hello() *lockv1.ConnectRequest {
	return &lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Hello{Hello: &lockv1.Hello{
		ProtocolVersion: ProtocolVersion, BootId: b.boot, Software: "scripted", Capabilities: b.knows, Locks: b.locks, Clock: timestamppb.Now(),
	}}}
}

// connect opens a session and returns the welcome.
func (b *device) connect(address string) *lockv1.Welcome {
	b.s.t.Helper()
	b.open(address)
	b.send(b.hello())
	w := b.next().GetWelcome()
	if w == nil {
		b.s.t.Fatal("the first message is no Welcome")
	}
	b.epoch = w.Epoch
	return w
}

// next is the next message.
func (b *device) next() *lockv1.ConnectResponse {
	b.s.t.Helper()
	select {
	case m, ok := <-b.messages:
		if !ok {
			b.s.t.Fatalf("the stream ended: %v", <-b.ended)
		}
		return m
	case <-time.After(patience):
		b.s.t.Fatal("no message came")
	}
	return nil
}

// end waits for the stream to end and returns the cause of Goodbye, if there was one, and the stream's error.
func (b *device) end() (why string, err error) {
	b.s.t.Helper()
	late := time.After(patience)
	for {
		select {
		case m, ok := <-b.messages:
			if !ok {
				return why, <-b.ended
			}
			if g := m.GetGoodbye(); g != nil {
				why = g.Cause
			}
		case <-late:
			b.s.t.Fatal("the stream did not end")
		}
	}
}

func (b *device) say(m *lockv1.ConnectRequest) {
	b.s.t.Helper()
	m.Epoch = b.epoch
	b.send(m)
}

// report reports that slots hold what is desired, read back.
func (b *device) report(address string, slots ...*lockv1.DesiredSlot) {
	b.s.t.Helper()
	r := &lockv1.SlotReport{Address: address}
	for _, d := range slots {
		r.Slots = append(r.Slots, &lockv1.ObservedSlot{
			Slot: d.Slot, Generation: d.Generation, Present: d.Present, Evidence: "verified", Result: "ok", ObservedAt: timestamppb.Now(),
		})
	}
	b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_SlotReport{SlotReport: r}})
}

// lock is the service's row of one of the bridge's locks.
func (b *device) lock(address string) *ent.Lock {
	b.s.t.Helper()
	locks, _, err := lock.List(b.s.db.View(context.Background()), b.s.propertyID, lock.ListFilter{}, 0, 1000)
	b.s.must(err)
	for _, lk := range locks {
		if lk.BridgeID == b.id && lk.Address == address {
			return lk
		}
	}
	b.s.t.Fatalf("no lock %s", address)
	return nil
}

// row is the bridge's row.
func (b *device) row() *ent.Bridge {
	b.s.t.Helper()
	br, err := bridge.Get(b.s.db.View(context.Background()), b.s.propertyID, b.id)
	b.s.must(err)
	return br
}
