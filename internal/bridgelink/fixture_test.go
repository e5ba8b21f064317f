package bridgelink

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"latchkey.dev/ent"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
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
