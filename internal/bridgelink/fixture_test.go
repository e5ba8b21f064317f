package bridgelink

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/timestamppb"

	"latchkey.dev/ent"
	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/bustest"
	"latchkey.dev/internal/test/dbtest"
)

func TestMain(m *testing.M) {
	bustest.Main()
	goleak.VerifyTestMain(m)
}

const patience = 20 * time.Second // how long a test waits for what has to come

// site is everything a bridge connects to, with one node or more.
type site struct {
	t          testing.TB
	db         *db.DB
	bus        *bus.Bus
	keys       *keyring.Ring
	ca         *bridge.CA
	propertyID string
	pace       timings
	// opening bounds the sessions that a node opens at once; zero: the usual bounds.
	opening limits

	learned  chan lock.EvidenceChange
	unstored sync.Map // what a running change learned, by the key that it notifies of

	writing  sync.Mutex
	notified atomic.Pointer[Node] // is notified of changes of bridges; nil: the notification is lost
}

const learnedTopic db.Topic = "test.learned"

func newSite(t testing.TB, engine string) *site {
	t.Helper()
	s := &site{t: t, db: dbtest.Open(t, engine), propertyID: "prp_one", pace: defaultTimings, learned: make(chan lock.EvidenceChange, 100)}
	dbtest.Insert(t, s.db, "properties", dbtest.Values{"id": s.propertyID})
	s.keys = dbtest.Keys(t, s.db, s.propertyID)
	var err error
	s.bus, err = bus.Open(t.Context(), bus.Config{})
	s.must(err)
	t.Cleanup(func() { s.must(s.bus.Close()) })
	s.db.Subscribe(bridge.Changed, func(key string) {
		if n := s.notified.Load(); n != nil {
			n.Notify(key)
		}
	})
	s.db.Subscribe(learnedTopic, func(key string) {
		learned, _ := s.unstored.LoadAndDelete(key)
		for _, l := range learned.([]lock.EvidenceChange) {
			s.learned <- l
		}
	})
	s.change(func(tx *db.Tx) (err error) {
		s.ca, err = bridge.LoadOrCreateCA(tx, s.keys)
		return err
	})
	s.pace.slotSweep, s.pace.heartbeat = time.Hour, time.Hour
	return s
}

// onEach runs f on every database.
func onEach(t *testing.T, f func(t *testing.T, s *site)) {
	t.Helper()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) { f(t, newSite(t, engine)) })
	}
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) change(fn func(tx *db.Tx) error) {
	s.t.Helper()
	s.write(nil, fn)
}

// write makes a change of which a node is notified.
func (s *site) write(n *Node, fn func(tx *db.Tx) error) {
	s.t.Helper()
	s.writing.Lock()
	defer s.writing.Unlock()
	defer s.notified.Store(s.notified.Swap(n))
	s.must(s.db.Write(context.Background(), fn))
}

// node starts a node with its own listener. It stops when the test ends.
func (s *site) node(name string) (*Node, string) {
	s.t.Helper()
	return s.nodeOn(name, s.bus)
}

// nodeOn starts a node on a bus.
func (s *site) nodeOn(name string, on *bus.Bus) (*Node, string) {
	s.t.Helper()
	n := New(Config{
		DB: s.db, Keys: s.keys, CA: s.ca, Bus: on, Name: name, timings: s.pace, opening: s.opening, Logger: slog.New(slog.DiscardHandler),
		OnEvidence: func(tx *db.Tx, learned []lock.EvidenceChange) error {
			key := rand.Text()
			s.unstored.Store(key, learned)
			tx.Notify(learnedTopic, key)
			return nil
		},
	})
	s.notified.CompareAndSwap(nil, n)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	server := grpc.NewServer(ServerOptions(TLSConfig(s.ca, clock.System))...)
	n.Register(server)
	ctx, cancel := context.WithCancel(context.Background())
	ran, served := make(chan error, 1), make(chan error, 1)
	ready := make(chan struct{})
	n.ready = func() { close(ready) }
	go func() { ran <- n.Run(ctx) }()
	go func() { served <- server.Serve(listener) }()
	<-ready
	s.t.Cleanup(func() {
		server.Stop()
		cancel()
		s.must(<-ran)
		if err := <-served; !errors.Is(err, grpc.ErrServerStopped) { // a test may end before the server has begun
			s.must(err)
		}
	})
	return n, listener.Addr().String()
}

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
	ahead    time.Duration // of the clock by which the bridge looks at certificates
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

// put places a code, waking bridges through a node.
func (s *site) put(n *Node, lk *ent.Lock, grant, pin string) (row *ent.Slot) {
	s.t.Helper()
	s.write(n, func(tx *db.Tx) (err error) {
		row, err = lock.AssignSlot(tx, s.keys, lk, lock.DesiredCode{
			GrantID: grant, DoorID: "spc_1", PIN: pin, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour),
		})
		return err
	})
	return row
}

// learn waits for the next change of evidence.
func (s *site) learn() lock.EvidenceChange {
	s.t.Helper()
	select {
	case l := <-s.learned:
		return l
	case <-time.After(patience):
		s.t.Fatal("nothing was learned")
	}
	return lock.EvidenceChange{}
}

func (s *site) slotRow(c lock.EvidenceChange) *ent.Slot {
	s.t.Helper()
	row, err := s.db.View(s.t.Context()).Slot.Get(s.t.Context(), c.Slot.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return row
}

// until polls a condition that nothing announces.
func (s *site) until(what string, ok func() bool) {
	s.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			s.t.Fatalf("did not come about: %s", what)
		}
	}
}
