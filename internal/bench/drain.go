package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/pgtemp"
)

// Drain measures the graceful stop of a server while many bridges are connected and unlock commands arrive. The bridges move to a second
// server on the same database.
type Drain struct {
	Bridges int
	Unlocks int // Unlocks is the number of unlock commands per second, at least 1
}

const (
	steadyTime = 5 * time.Second // how long to measure before the first server stops and after the last bridge has moved
	// loadBalancerDelay is how long a load balancer takes to notice that the first server is not ready.
	loadBalancerDelay = 2 * time.Second
)

// Run connects all bridges to one of two servers on a temporary PostgreSQL, and stops that server as SIGTERM does, with the default drain
// time. It sends unlock commands at a fixed rate to both servers, and only to the second once a load balancer would have noticed the stop.
// It does not retry commands.
func (b Drain) Run(ctx context.Context, l Launch) (_ *Result, err error) {
	if b.Bridges < 2 || b.Unlocks < 1 {
		return nil, errors.New("fleet --drain: want at least two bridges and one unlock a second")
	}
	if err := checkOpenFileLimit(b.Bridges); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "latchkey-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p := &serverPair{}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := p.start(ctx, l, dir); err != nil {
		return nil, err
	}
	o := &owner{}
	if err := o.setUpOn(ctx, p.at[0], b.Bridges); err != nil {
		return nil, err
	}
	return b.measure(ctx, p, o)
}

// measure runs the benchmark on two running servers: it connects the bridges to the first, stops that, and waits until all bridges are
// connected to the second. o has the credentials of the bridges and the locks.
func (b Drain) measure(ctx context.Context, p *serverPair, o *owner) (*Result, error) {
	riding, stop := context.WithCancel(ctx)
	m := &movingBridges{address: [2]string{p.at[0].Bridge, p.at[1].Bridge}, serverOf: make([]atomic.Int32, b.Bridges)}
	k := &unlockLoad{pair: p, owner: o, failed: map[string]int{}}
	defer m.all.Wait()
	defer k.all.Wait()
	defer stop()
	for n, t := range o.tickets {
		m.all.Go(func() { m.keepConnected(riding, n, t) })
	}
	if err := m.awaitAll(ctx, 0); err != nil {
		return nil, fmt.Errorf("before the drain: %w", err)
	}
	go k.awaitUnreadyFirst(riding)
	sending, enough := context.WithCancel(ctx)
	defer enough()
	k.all.Go(func() { k.sendSteadily(sending, time.Second/time.Duration(b.Unlocks)) })
	clock.Sleep(ctx, steadyTime)
	k.phase.Store(during)
	m.draining.Store(true)
	stopped := time.Now()
	var moved time.Duration
	all := make(chan error, 1)
	go func() {
		err := m.awaitAll(ctx, 1)
		moved = time.Since(stopped)
		all <- err
	}()
	err := p.part[0].call(ctx, "Stop", None{}, &None{})
	drained := time.Since(stopped)
	if err := errors.Join(err, <-all); err != nil {
		return nil, fmt.Errorf("the drain: %w", err)
	}
	k.phase.Store(after)
	clock.Sleep(ctx, steadyTime)
	enough()
	k.all.Wait()
	r := k.result()
	r.Value = drained.Seconds()
	r.note("bridges", float64(b.Bridges), "")
	r.note("every bridge in session with the other server, after the stop", moved.Seconds(), "s")
	r.atMost("until the stopping server has ended, s", r.Value, 30)
	return r.finish(), ctx.Err()
}

// serverPair is two servers on one database.
type serverPair struct {
	database *pgtemp.Cluster
	bus      *natsserver.Server
	part     [2]*part
	at       [2]Addresses
	front    [2]*grpc.ClientConn
}

// start starts PostgreSQL, a NATS server, and the two servers in directories below dir. The caller calls stop, also after an error.
func (p *serverPair) start(ctx context.Context, l Launch, dir string) (err error) {
	if p.database, err = pgtemp.Start(ctx); err != nil {
		return err
	}
	if err := p.database.Exec(ctx, "CREATE DATABASE latchkey"); err != nil {
		return err
	}
	url := p.database.URL("latchkey")
	if err := migrate(ctx, url); err != nil {
		return err
	}
	if p.bus, err = natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoLog: true, NoSigs: true}); err != nil {
		return err
	}
	p.bus.Start()
	if !p.bus.ReadyForConnections(10 * time.Second) {
		return errors.New("NATS did not start")
	}
	for i := range p.part {
		own := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(own, 0o700); err != nil {
			return err
		}
		if p.part[i], err = l.start(ctx, "server"); err != nil {
			return err
		}
		n := Node{Dir: own, Database: url, NATS: p.bus.ClientURL(), Key: filepath.Join(dir, "key"), Drain: config.Default().Drain}
		if err := p.part[i].call(ctx, "StartNode", n, &p.at[i]); err != nil {
			return err
		}
		if p.front[i], err = dial(p.at[i].GRPC); err != nil {
			return err
		}
	}
	return nil
}

// migrate creates the schema in an empty database.
func migrate(ctx context.Context, url string) error {
	d, err := db.Open(ctx, db.Config{URL: url})
	if err != nil {
		return err
	}
	_, err = d.Migrate(ctx)
	return errors.Join(err, d.Close())
}

// stop stops everything that start has started, also after an error of start.
func (p *serverPair) stop() (err error) {
	for i := range p.part {
		if p.front[i] != nil {
			err = errors.Join(err, p.front[i].Close())
		}
		err = errors.Join(err, p.part[i].stop())
	}
	if p.bus != nil {
		p.bus.Shutdown()
		p.bus.WaitForShutdown()
	}
	if p.database != nil {
		err = errors.Join(err, p.database.Stop())
	}
	return err
}

// movingBridges are simulated bridges that move to the second server when the first one stops.
type movingBridges struct {
	address  [2]string
	draining atomic.Bool    // the first server is stopping
	serverOf []atomic.Int32 // for each bridge the server of its session, from 1; 0: no session
	all      sync.WaitGroup
}

// pickServer returns the index of the server to which a bridge connects next. Before the stop it is the first. Then it is a random one,
// because the DNS name of the bridges has both addresses. If that one does not listen, it is the other, as with gRPC.
func (m *movingBridges) pickServer(ctx context.Context) int {
	if !m.draining.Load() {
		return 0
	}
	at := rand.IntN(len(m.address))
	d := net.Dialer{Timeout: time.Second}
	if c, err := d.DialContext(ctx, "tcp", m.address[at]); err == nil {
		_ = c.Close()
		return at
	}
	return 1 - at
}

// keepConnected keeps bridge n connected until ctx ends, and records its server in serverOf; t has its credentials. After the end of a
// session it waits half a second to a second, as a stopping server requests. After a failure it backs off like the product's bridges.
func (m *movingBridges) keepConnected(ctx context.Context, n int, t ticket) {
	for most := firstRetry; ctx.Err() == nil; {
		at := m.pickServer(ctx)
		t.Address = m.address[at]
		trying, cancel := context.WithTimeout(ctx, 15*time.Second)
		r, err := connectBridge(trying, t)
		cancel()
		pause := clock.FullJitter(most)
		most = min(2*most, maxRetry)
		if err == nil {
			m.serverOf[n].Store(int32(at) + 1)
			keepAlive(ctx, r)
			m.serverOf[n].Store(0)
			most, pause = firstRetry, clock.Jitter(time.Second)
		}
		clock.Sleep(ctx, pause)
	}
}

// awaitAll waits until all bridges are connected to the server with an index, 0 or 1. It fails after returnTimeout (two minutes).
func (m *movingBridges) awaitAll(ctx context.Context, server int) error {
	ctx, cancel := context.WithTimeout(ctx, returnTimeout)
	defer cancel()
	for {
		away := 0
		for i := range m.serverOf {
			if m.serverOf[i].Load() != int32(server)+1 {
				away++
			}
		}
		if away == 0 {
			return nil
		}
		clock.Sleep(ctx, 50*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("%d of %d bridges are not in session: %w", away, len(m.serverOf), ctx.Err())
		}
	}
}

// awaitUnreadyFirst waits until the first server is not ready and a load balancer would have noticed. It then sets skipFirst, so that the
// first server gets no more commands. A failed watch counts as not ready. If ctx ends, it sets skipFirst at once.
func (k *unlockLoad) awaitUnreadyFirst(ctx context.Context) {
	watching, enough := context.WithCancel(ctx)
	defer enough()
	s, err := healthv1.NewHealthClient(k.pair.front[0]).Watch(watching, &healthv1.HealthCheckRequest{})
	for err == nil {
		var m *healthv1.HealthCheckResponse
		if m, err = s.Recv(); err == nil && m.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			break
		}
	}
	enough()
	clock.Sleep(ctx, loadBalancerDelay)
	k.skipFirst.Store(true)
}
