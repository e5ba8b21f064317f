// Package e2etest is what the tests of the whole share: a Latchkey that ends with the test, and one way to call any RPC
// over any protocol as anybody.
package e2etest

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
)

// Option changes what world is opened.
type Option func(*sandbox.Config)

// Database puts the server's data elsewhere than into a file of its own.
func Database(url string) Option { return func(c *sandbox.Config) { c.Server.Database = url } }

// Config returns the configuration of a test's server: every port a free one, limits that no test reaches by accident.
func Config(dir string) config.Config {
	c := config.Default()
	c.DataDir = filepath.Join(dir, "data")
	c.Listen = config.Listen{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Bridge: "127.0.0.1:0", Ops: "127.0.0.1:0"}
	c.Drain = 10 * time.Millisecond
	c.ConnectionsPerAddress = 1 << 20
	c.Rate = config.Rate{PerMinute: 10_000_000, Burst: 1_000_000, BatchPerMinute: 1_000_000, StaffPerMinute: 10_000_000, StaffBurst: 1_000_000}
	return c
}

// World is a running Latchkey with one property, until t ends.
type World struct {
	*sandbox.World
	*API
	t   testing.TB
	dir string
}

// Open starts a world.
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

// Next opens one more property on the same server.
func (w *World) Next() *World {
	w.t.Helper()
	dir := w.t.TempDir()
	n, err := w.World.AddProperty(w.t.Context(), sandbox.Config{Dir: dir})
	if err != nil {
		w.t.Fatal(err)
	}
	return &World{World: n, API: w.API, t: w.t, dir: dir}
}

// Await waits until holds returns true, and fails the test if it never does.
func (w *World) Await(what string, holds func(ctx context.Context) (bool, error)) {
	w.t.Helper()
	if err := w.World.Await(w.t.Context(), what, holds); err != nil {
		w.t.Fatal(err)
	}
}

// Logger writes warnings and worse to the test's own output, which is shown when it fails.
func Logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// Partner returns a caller that is the PMS of this world's property.
func (w *World) Partner() Caller {
	return Caller{Name: "partner", Headers: map[string]string{"client-token": w.ClientToken, "access-token": w.AccessToken}}
}

// Scripts returns a caller with the property's API key.
func (w *World) Scripts() Caller {
	return Caller{Name: "api-key", Headers: map[string]string{"api-key": w.APIKey}}
}

// Owner returns a caller that is the owner of this world's property.
func (w *World) Owner() Caller { return Bearer("owner", w.StaffToken) }

// Operator returns a caller that is an operator and uses the socket.
func Operator() Caller { return Caller{Name: "socket", Socket: true} }

// Bearer returns a caller with a bearer token in the Authorization header.
func Bearer(name, token string) Caller {
	return Caller{Name: name, Headers: map[string]string{"authorization": "Bearer " + token}}
}

// Anonymous returns a caller without a credential.
func Anonymous() Caller { return Caller{Name: "anonymous"} }
