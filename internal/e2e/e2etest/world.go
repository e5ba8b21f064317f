// Package e2etest supports end-to-end tests. It starts a Latchkey server with a property for a test, and calls any RPC over any protocol
// with any credentials.
package e2etest

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
)

// Option changes the configuration of the World that Open starts.
type Option func(*sandbox.Config)

// Database makes the server use the database at a URL in place of a new SQLite file.
func Database(url string) Option { return func(c *sandbox.Config) { c.Server.Database = url } }

// Config returns the configuration of a test's server, which stores its data below dir. It has free ports, and rate limits that a test does
// not reach by accident.
func Config(dir string) config.Config {
	c := config.Default()
	c.KeepStays = 100 * 365 * 24 * time.Hour // tests use fixed dates in the past
	c.DataDir = filepath.Join(dir, "data")
	c.Listen = config.Listen{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Bridge: "127.0.0.1:0", Ops: "127.0.0.1:0"}
	c.Drain = 10 * time.Millisecond
	c.ConnectionsPerAddress = 1 << 20
	c.Rate = config.Rate{PerMinute: 10_000_000, Burst: 1_000_000, BatchPerMinute: 1_000_000, StaffPerMinute: 10_000_000, StaffBurst: 1_000_000}
	return c
}

// World is a running Latchkey server with one property. It stops when the test ends.
type World struct {
	*sandbox.World
	*API
	t   testing.TB
	dir string
}

// Open starts a World for a test.
func Open(t testing.TB, options ...Option) *World {
	t.Helper()
	dir := t.TempDir()
	c := sandbox.Config{Server: Config(dir), Dir: dir, Options: server.Options{Logger: Logger(t)}}
	for _, o := range options {
		o(&c)
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
	return &World{World: w, API: Dial(t, w.Server.HTTPAddr(), w.Server.GRPCAddr(), w.Server.SocketPath()), t: t, dir: dir}
}

// OpenProperty creates another property on the same server, with a World of its own.
func (w *World) OpenProperty() *World {
	w.t.Helper()
	dir := w.t.TempDir()
	n, err := w.World.AddProperty(w.t.Context(), sandbox.Config{Dir: dir})
	if err != nil {
		w.t.Fatal(err)
	}
	return &World{World: n, API: w.API, t: w.t, dir: dir}
}

// Await polls until holds returns true. An error of holds counts as false. It fails the test after 30 s, or if a part of the sandbox ends;
// what completes the message "waiting until ...".
func (w *World) Await(what string, holds func(ctx context.Context) (bool, error)) {
	w.t.Helper()
	if err := w.World.Await(w.t.Context(), what, holds); err != nil {
		w.t.Fatal(err)
	}
}

// Logger returns a logger that writes warnings and errors to the test's output.
func Logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// Partner returns a caller with the credentials of the property's PMS.
func (w *World) Partner() Caller {
	return Caller{Name: "partner", Headers: map[string]string{"client-token": w.ClientToken, "access-token": w.AccessToken}}
}

// Scripts returns a caller with the property's API key.
func (w *World) Scripts() Caller {
	return Caller{Name: "api-key", Headers: map[string]string{"api-key": w.APIKey}}
}

// Owner returns a caller with the staff token of the property's owner.
func (w *World) Owner() Caller { return Bearer("owner", w.StaffToken) }

// Operator returns a caller that uses the operators' Unix socket.
func Operator() Caller { return Caller{Name: "socket", Socket: true} }

// Bearer returns a caller with a bearer token in the Authorization header.
func Bearer(name, token string) Caller {
	return Caller{Name: name, Headers: map[string]string{"authorization": "Bearer " + token}}
}

// Anonymous returns a caller without a credential.
func Anonymous() Caller { return Caller{Name: "anonymous"} }

// Offset is the machine's clock, moved by an offset; its zero value is not moved. It is safe for concurrent use.
type Offset struct{ by atomic.Int64 }

// Now returns the machine's time plus the offset.
func (o *Offset) Now() time.Time { return clock.System.Now().Add(time.Duration(o.by.Load())) }

// Set moves the clock by an offset from the machine's.
func (o *Offset) Set(by time.Duration) { o.by.Store(int64(by)) }
