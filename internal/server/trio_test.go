package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	entevent "latchkey.dev/ent/event"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/bridgelink"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/bustest"
	"latchkey.dev/internal/test/dbtest"
)

// passage is the way to PostgreSQL, which a test can freeze: connections stay open and nothing passes.
type passage struct {
	l      net.Listener
	to     string
	mu     sync.Mutex
	free   chan struct{} // closed: things pass
	conns  map[net.Conn]bool
	closed bool
	all    sync.WaitGroup
}

// passageTo opens a way to a database of dbtest and returns the URL that leads through it.
func passageTo(t *testing.T, database string) (*passage, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	p := &passage{to: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"), conns: map[net.Conn]bool{}, free: make(chan struct{})}
	close(p.free)
	if p.l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		p.thaw()
		_ = p.l.Close()
		p.mu.Lock()
		p.closed = true
		for c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.all.Wait()
	})
	u.Host = p.l.Addr().String()
	query := u.Query()
	query.Del("host")
	u.RawQuery = query.Encode()
	return p, u.String()
}

func (p *passage) accept() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("unix", p.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		p.conns[in], p.conns[out] = true, true
		closed := p.closed
		p.mu.Unlock()
		if closed {
			_, _ = in.Close(), out.Close()
			return
		}
		p.all.Go(func() { p.pass(in, out) })
		p.all.Go(func() { p.pass(out, in) })
	}
}

func (p *passage) pass(from, to net.Conn) {
	_, _ = io.Copy(gated{p, to}, from)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = from.Close(), to.Close()
	delete(p.conns, from)
	delete(p.conns, to)
}

// gated writes once things pass.
type gated struct {
	p  *passage
	to net.Conn
}

func (g gated) Write(b []byte) (int, error) {
	g.p.mu.Lock()
	free := g.p.free
	g.p.mu.Unlock()
	<-free
	return g.to.Write(b)
}

func (p *passage) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = make(chan struct{})
}

func (p *passage) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.free:
	default:
		close(p.free)
	}
}

// trio is an installation of three nodes with a NATS server of its own process. The bridge is connected to B.
type trio struct {
	*sandbox.World // of node A
	b, c           *node
	nats           *bustest.Server
	ways           []*passage // of A, B, C to the database
	rows           *db.Tx
	direct         *db.DB
	lockIDs        map[string]string // by address
	start          func(t *testing.T, i int) (*testing.T, config.Config, server.Options)
}

// within is how long after a call doors may open in these tests.
const within = time.Second

func newTrio(t *testing.T, change func(i int, o *server.Options)) *trio {
	t.Helper()
	database, key := dbtest.URL(t, "postgres"), filepath.Join(t.TempDir(), "key")
	in := &trio{nats: bustest.Start(t), lockIDs: map[string]string{}}
	in.start = func(t *testing.T, i int) (*testing.T, config.Config, server.Options) {
		o := server.Options{Logger: slog.New(slog.DiscardHandler), ClockEvery: 50 * time.Millisecond, OpenWithin: within, BusPing: 100 * time.Millisecond,
			Bridges: bridgelink.Intervals{Heartbeat: 50 * time.Millisecond, Sweep: 20 * time.Millisecond, Outage: 300 * time.Millisecond, OutageGrace: 4 * time.Second, BusResync: 100 * time.Millisecond}}
		if change != nil {
			change(i, &o)
		}
		way, through := passageTo(t, database)
		in.ways = append(in.ways, way)
		c := settings(t, through)
		c.NATS.URL, c.KeyFile = in.nats.URL, key
		c.Partner.Allow = []string{"127.0.0.1"}
		return t, c, o
	}
	in.b = open(in.start(t, 1))
	bridges := balance(t, in.b.BridgeAddr())
	_, cfg, o := in.start(t, 0)
	in.World = world(t, sandbox.Config{Server: cfg, Options: o, RouteBridge: func(string) (string, error) { return bridges.address(), nil }})
	in.c = open(in.start(t, 2))
	var err error
	if in.direct, err = db.Open(t.Context(), db.Config{URL: database, MaxConns: 4}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.direct.Close(); err != nil {
			t.Error(err)
		}
	})
	in.rows = in.direct.View(t.Context())
	locks, err := in.rows.Lock.Query().All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, lk := range locks {
		in.lockIDs[lk.Address] = lk.ID
	}
	return in
}

// try opens a door through a node.
func (in *trio) try(t *testing.T, s *server.Server, address string) (result string, err error) {
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+in.StaffToken)
	a, err := propertyv1.NewLockServiceClient(connect(t, s.GRPCAddr())).UnlockLock(ctx, &propertyv1.UnlockLockRequest{Id: in.lockIDs[address]})
	return a.GetData().GetResult(), err
}

// opens waits until a node opens a door.
func (in *trio) opens(t *testing.T, s *server.Server, address string) {
	t.Helper()
	await(t, in.World, "the door opens", func(context.Context) (bool, error) {
		result, err := in.try(t, s, address)
		return err == nil && result == "opened", nil
	})
}

// says waits until /readyz of a node answers with a status and a text.
func (in *trio) says(t *testing.T, s *server.Server, code int, begin, has string) {
	t.Helper()
	await(t, in.World, fmt.Sprintf("/readyz says %d %s %s", code, begin, has), func(context.Context) (bool, error) {
		got, text := get(t, "http://"+s.OpsAddr()+"/readyz")
		return got == code && strings.HasPrefix(text, begin) && strings.Contains(text, has), nil
	})
}

// lost counts how often a bridge was said to be offline.
func (in *trio) lost(t *testing.T) int {
	t.Helper()
	n, err := in.rows.Event.Query().Where(entevent.Kind("bridge.offline")).Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The database hangs, as if for more than a minute. No node calls the bridge offline that it could not touch, and openings that piled up
// open no door afterwards.
func TestTrioDatabaseHangs(t *testing.T) {
	in := newTrio(t, nil)
	in.opens(t, in.Server, "Room 101")
	opened := in.Site.UnlockCount("Room 101")
	for _, w := range in.ways {
		w.freeze()
	}
	const many = 14
	answers := make(chan error, many)
	for range many {
		go func() {
			result, err := in.try(t, in.Server, "Room 101")
			if err == nil {
				err = fmt.Errorf("answered %s", result)
			}
			answers <- err
		}()
	}
	await(t, in.World, "calls wait for the database", func(context.Context) (bool, error) { return in.Server.Database().Pool().InUse > 0, nil })
	over, cancel := context.WithTimeout(t.Context(), within+within/2) // their deadlines, and not yet the end of connections that hang
	defer cancel()
	<-over.Done()
	// As after a minute: the bridge's node could not note that it hears it.
	err := in.direct.Write(t.Context(), func(tx *db.Tx) error {
		return tx.Bridge.Update().SetLastSeenAt(tx.Now().Add(-bridge.MaxSilence - time.Minute)).Exec(tx.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range in.ways {
		w.thaw()
	}
	for range many {
		if err := <-answers; status.Code(err).String() != "DeadlineExceeded" && status.Code(err).String() != "Unavailable" {
			t.Errorf("an opening that waited: %v", err)
		}
	}
	for _, s := range []*server.Server{in.Server, in.b.Server, in.c.Server} {
		in.says(t, s, http.StatusOK, "ready", "")
	}
	if n := in.Site.UnlockCount("Room 101"); n != opened {
		t.Errorf("%d doors opened that were asked for before", n-opened)
	}
	for _, s := range []*server.Server{in.c.Server, in.Server, in.b.Server} {
		in.opens(t, s, "Room 102")
	}
	if n := in.lost(t); n != 0 {
		t.Errorf("the bridge in session was called offline %d times", n)
	}
}

// The clock of one node is five minutes ahead: it turns unready, and harms no other node.
func TestTrioOneClockIsWrong(t *testing.T) {
	in := newTrio(t, func(i int, o *server.Options) {
		if i == 2 {
			o.Wall = clock.Ahead(clock.System, 5*time.Minute)
		}
	})
	in.says(t, in.c.Server, http.StatusServiceUnavailable, "unready: ", "5m0")
	in.says(t, in.Server, http.StatusOK, "ready", "")
	for _, s := range []*server.Server{in.c.Server, in.Server, in.b.Server} {
		in.opens(t, s, "Room 101")
	}
	if n := in.lost(t); n != 0 {
		t.Errorf("the bridge in session was called offline %d times", n)
	}
}

// Every node's clock differs from the database's: perhaps the database's is wrong. All nodes go on and say so.
func TestTrioEveryClockIsWrong(t *testing.T) {
	in := newTrio(t, func(i int, o *server.Options) {
		o.Wall = clock.Ahead(clock.System, time.Duration(i-4)*time.Minute)
	})
	for _, s := range []*server.Server{in.Server, in.b.Server, in.c.Server} {
		in.says(t, s, http.StatusOK, "degraded: ", "behind")
	}
	in.opens(t, in.Server, "Room 101")
}

// NATS hangs, dies and comes back. Meanwhile openings across nodes are refused with the reason, codes come by the database, and a
// node starts.
func TestTrioNATSIsAway(t *testing.T) {
	in := newTrio(t, nil)
	in.opens(t, in.Server, "Room 101")
	in.nats.Freeze()
	for _, s := range []*server.Server{in.Server, in.b.Server, in.c.Server} {
		in.says(t, s, http.StatusOK, "degraded: ", "NATS")
	}
	opened := in.Site.UnlockCount("Room 101")
	_, err := in.try(t, in.Server, "Room 101")
	if status.Code(err).String() != "Unavailable" || !strings.Contains(err.Error(), "another node") {
		t.Errorf("an opening across nodes: %v", err)
	}
	if result, err := in.try(t, in.b.Server, "Room 101"); err != nil || result != "opened" || in.Site.UnlockCount("Room 101") != opened+1 {
		t.Errorf("an opening by the bridge's own node: %s, %v", result, err)
	}
	in.nats.Kill()
	(&installation{World: in.World}).stay(t, "S1", "R101") // at A, for a bridge at B
	if err := in.c.stop(); err != nil {
		t.Fatal(err)
	}
	d := open(in.start(t, 2))
	in.says(t, d.Server, http.StatusOK, "degraded: ", "NATS")
	in.nats.Restart()
	for _, s := range []*server.Server{in.Server, in.b.Server, d.Server} {
		in.says(t, s, http.StatusOK, "ready", "")
	}
	in.opens(t, d.Server, "Room 102")
}
