package server_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/bustest"
)

func TestMain(m *testing.M) {
	bustest.Main()
	serveNode()
	goleak.VerifyTestMain(m)
}

// settings are those of a server with a database, on free ports.
func settings(t *testing.T, database string) config.Config {
	t.Helper()
	return settingsIn(t.TempDir(), database)
}

func settingsIn(dir, database string) config.Config {
	c := config.Default()
	c.KeepStays = 100 * 365 * 24 * time.Hour // tests name fixed days
	c.DataDir = filepath.Join(dir, "data")
	c.Database = database
	c.Listen = config.Listen{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Bridge: "127.0.0.1:0", Ops: "127.0.0.1:0"}
	c.Drain = 10 * time.Millisecond
	return c
}

func logger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// node is a running server.
type node struct {
	*server.Server
	ended <-chan struct{}
	stop  func() error // tells it to stop, waits, and returns what Run and Close did
}

// open starts a server that is stopped when the test ends, if not before.
func open(t *testing.T, c config.Config, o server.Options) *node {
	t.Helper()
	return run(t, build(t, c, o))
}

// build makes a server that is to run.
func build(t *testing.T, c config.Config, o server.Options) *server.Server {
	t.Helper()
	if o.Logger == nil {
		o.Logger = logger(t)
	}
	s, err := server.New(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a server that is stopped when the test ends, if not before.
func run(t *testing.T, s *server.Server) *node {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ran, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		ran <- s.Run(ctx)
	}()
	n := &node{Server: s, ended: ended, stop: sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-ran, s.Close())
	})}
	t.Cleanup(func() {
		if err := n.stop(); err != nil {
			t.Errorf("stop the server: %v", err)
		}
	})
	return n
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// world starts a server with a property, a PMS and a bridge with locks.
func world(t *testing.T, c sandbox.Config) *sandbox.World {
	t.Helper()
	c.Dir = t.TempDir()
	if c.Options.Logger == nil {
		c.Options.Logger = logger(t)
	}
	w, err := sandbox.Build(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("close the world: %v", err)
		}
	})
	return w
}

func await(t *testing.T, w *sandbox.World, what string, holds func(ctx context.Context) (bool, error)) {
	t.Helper()
	if err := w.Await(t.Context(), what, holds); err != nil {
		t.Fatal(err)
	}
}

// balancer passes TCP connections on to one of several nodes, as a load balancer or a name with several addresses does.
type balancer struct {
	l    net.Listener
	mu   sync.Mutex
	to   string
	open map[net.Conn]bool
	all  sync.WaitGroup
}

func balance(t *testing.T, to string) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{l: l, to: to, open: map[net.Conn]bool{}}
	b.all.Go(b.accept)
	t.Cleanup(func() {
		_ = l.Close()
		b.route("")
		b.all.Wait()
	})
	return b
}

func (b *balancer) accept() {
	for {
		in, err := b.l.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		to := b.to
		b.mu.Unlock()
		out, err := net.Dial("tcp", to)
		if err != nil {
			_ = in.Close()
			continue
		}
		b.mu.Lock()
		gone := b.to != to
		b.open[in], b.open[out] = true, true
		b.mu.Unlock()
		if gone {
			b.drop(in, out)
			continue
		}
		b.all.Go(func() { b.pass(in, out) })
		b.all.Go(func() { b.pass(out, in) })
	}
}

func (b *balancer) pass(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	b.drop(from, to)
}

func (b *balancer) drop(all ...net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
		delete(b.open, c)
	}
}

// route cuts every connection and sends new ones elsewhere.
func (b *balancer) route(to string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = to
	for c := range b.open {
		_ = c.Close()
	}
	clear(b.open)
}

func (b *balancer) address() string { return b.l.Addr().String() }
